/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated device itself: its clock, the time line of its queues, and its memory of what
 * happened. A queue is nothing but the time at which it will have done all that is in it.
 */
#include "lib/backends/null/null_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "base/scope.h"
#include "lib/sys/ticks.h"

enum { SPIN_NS = 80000 /* what a sleep may be late by */ };

int brick_null_create(struct brick_null **out, const struct brick_null_config *config)
{
	const struct brick_null_config plain = BRICK_NULL_CONFIG_INIT;

	if (config && config->size != sizeof *config)
		return -EINVAL;
	struct brick_null *sim = calloc(1, sizeof *sim);
	if (!sim)
		return -ENOMEM;
	sim->config = config ? *config : plain;
	sim->kernels = calloc(BRICK_NULL_HISTORY, sizeof *sim->kernels);
	sim->pairs = calloc(BRICK_NULL_HISTORY, sizeof *sim->pairs);
	if (!sim->kernels || !sim->pairs) {
		free(sim->kernels);
		free(sim->pairs);
		free(sim);
		return -ENOMEM;
	}
	if (!sim->config.resolution_ns)
		sim->config.resolution_ns = 1;
	pthread_mutex_init(&sim->lock, NULL);
	sim->start_ns = sim->manual_ns = brick__monotonic_ns();
	*out = sim;
	return 0;
}

void brick_null_destroy(struct brick_null *sim)
{
	if (!sim)
		return;
	pthread_mutex_destroy(&sim->lock);
	free(sim->kernels);
	free(sim->pairs);
	free(sim);
}

uint64_t sim_now(const struct brick_null *sim)
{
	return sim->config.manual ? sim->manual_ns : brick__monotonic_ns();
}

uint64_t sim_device_ns(const struct brick_null *sim, uint64_t host_ns)
{
	const struct brick_null_config *c = &sim->config;
	__int128 t = (__int128)host_ns - sim->start_ns;
	__int128 faster = t * c->rate_ppb / 1000000000;
	/* half of drift x t^2, with drift in 10^-9 per second */
	__int128 drift = t * t / 1000000000 * c->drift_ppb_s / 2000000000;
	uint64_t ns = (uint64_t)((__int128)c->offset_ns + t + faster + drift);

	return ns - ns % c->resolution_ns;
}

int sim_queue(const void *handle)
{
	uintptr_t n = (uintptr_t)handle;
	return n < BRICK_NULL_QUEUES ? (int)n : -EINVAL;
}

uint64_t sim_reach(struct brick_null *sim, uint32_t queue)
{
	uint64_t at = sim_now(sim) + sim->config.latency_ns;

	sim->used |= 1u << queue;
	if (at > sim->free_at[queue])
		sim->free_at[queue] = at;
	return sim->free_at[queue];
}

/* Sleep for most of it: what waits for a device seldom sleeps to the point. */
static void wait_until(uint64_t ns)
{
	uint64_t now = brick__monotonic_ns();

	if (ns > now + SPIN_NS) {
		uint64_t wake = ns - SPIN_NS;
		const struct timespec at = {(time_t)(wake / 1000000000), (long)(wake % 1000000000)};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
	}
	while (brick__monotonic_ns() < ns)
		;
}

void sim_wait(struct brick_null *sim, uint64_t until_ns)
{
	if (!sim->config.manual) {
		wait_until(until_ns);
		return;
	}
	HOLD(&sim->lock);
	if (sim->manual_ns < until_ns)
		sim->manual_ns = until_ns;
}

int64_t brick_null_submit(struct brick_null *sim, void *queue, uint64_t ns)
{
	int q = sim_queue(queue);

	if (q < 0)
		return q;
	pthread_mutex_lock(&sim->lock);
	uint64_t begin = sim_reach(sim, (uint32_t)q), end = begin + ns;
	sim->free_at[q] = end;
	uint64_t n = sim->kernel_count++;
	sim->kernels[n % BRICK_NULL_HISTORY] = (struct brick_null_times){
		begin, end, sim_device_ns(sim, begin), sim_device_ns(sim, end)};
	pthread_mutex_unlock(&sim->lock);
	return (int64_t)n;
}

uint64_t brick_null_now(struct brick_null *sim)
{
	HOLD(&sim->lock);
	return sim_now(sim);
}

void brick_null_advance(struct brick_null *sim, uint64_t ns)
{
	HOLD(&sim->lock);
	sim->manual_ns += ns;
}

static int recall(struct brick_null *sim, const struct brick_null_times *history,
	const uint64_t *count, uint64_t n, struct brick_null_times *times)
{
	int error = -ENOENT;

	HOLD(&sim->lock);
	if (n < *count && *count - n <= BRICK_NULL_HISTORY &&
		history[n % BRICK_NULL_HISTORY].end_ns) {
		*times = history[n % BRICK_NULL_HISTORY];
		error = 0;
	}
	return error;
}

int brick_null_kernel(struct brick_null *sim, uint64_t n, struct brick_null_times *times)
{
	return recall(sim, sim->kernels, &sim->kernel_count, n, times);
}

int brick_null_pair(struct brick_null *sim, uint64_t n, struct brick_null_times *times)
{
	return recall(sim, sim->pairs, &sim->pair_count, n, times);
}

uint64_t brick_null_pairs(struct brick_null *sim)
{
	HOLD(&sim->lock);
	return sim->pair_count;
}
