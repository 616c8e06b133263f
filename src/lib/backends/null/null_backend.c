/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend "null" on a simulated device (null_device.h): timestamps are commands like all
 * others, and their values can be had when the device has passed them and the news has travelled
 * to the host. A queue is nothing but the time at which it will have done all that is in it. The
 * backend hands out, loses and spoils times as the device was told to. All of a device is under its
 * lock.
 */
#include "lib/backends/null/null_device.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include "base/scope.h"
#include "brick/abi/session.h"
#include "brick/error.h"
#include "lib/backends/backend_load.h"
#include "lib/sys/ticks.h"

enum { DEFAULT_PAIRS = 4096, BATCH = 64 };

enum { SPIN_NS = 80000 /* what a sleep may be late by */ };

struct brick_null {
	pthread_mutex_t lock;
	struct brick_null_config config;
	uint64_t start_ns;  /* CLOCK_MONOTONIC when it was made */
	uint64_t manual_ns; /* its time, when that is moved by hand */
	uint64_t free_at[BRICK_NULL_QUEUES];
	uint32_t used; /* bit per queue */
	uint64_t kernel_count, pair_count, ended_count;
	struct brick_null_times *kernels, *pairs; /* [BRICK_NULL_HISTORY]; end 0: not ended */
};

enum fate { FATE_GOOD, FATE_LOST, FATE_FAILED };

struct pair {
	uint64_t ticket, number;
	uint64_t queued_ns; /* host: when null_backend_begin() was called */
	uint64_t begin_ns, end_ns;
	uint64_t known_ns; /* when the host may know; 0: not ended */
	uint32_t queue;
	uint32_t fate; /* enum fate */
};

struct brick_backend_device {
	struct brick_backend_host host;
	struct brick_null *sim;
	bool owns_sim;
	uint32_t count, capacity;
	struct pair pairs[]; /* in flight, in the order of their begins */
};

/* The device: its clock, the time line of its queues, and its memory. */

int brick_null_create(struct brick_null **out, const struct brick_null_config *config)
{
	const struct brick_null_config plain = BRICK_NULL_CONFIG_INIT;

	if (config && config->size != sizeof(*config))
		return -EINVAL;
	struct brick_null *sim = calloc(1, sizeof(*sim));
	if (!sim)
		return -ENOMEM;
	sim->config = config ? *config : plain;
	sim->kernels = calloc(BRICK_NULL_HISTORY, sizeof(*sim->kernels));
	sim->pairs = calloc(BRICK_NULL_HISTORY, sizeof(*sim->pairs));
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

static uint64_t sim_now(const struct brick_null *sim)
{
	return sim->config.manual ? sim->manual_ns : brick__monotonic_ns();
}

/* The device's clock at a time of the host. */
static uint64_t sim_device_ns(const struct brick_null *sim, uint64_t host_ns)
{
	const struct brick_null_config *c = &sim->config;
	__int128 t = (__int128)host_ns - sim->start_ns;
	__int128 faster = t * c->rate_ppb / 1000000000;
	/* half of drift x t^2, with drift in 10^-9 per second */
	__int128 drift = t * t / 1000000000 * c->drift_ppb_s / 2000000000;
	uint64_t ns = (uint64_t)((__int128)c->offset_ns + t + faster + drift);

	return ns - ns % c->resolution_ns;
}

/* The number of a queue's handle, or -EINVAL. */
static int sim_queue(const void *handle)
{
	uintptr_t n = (uintptr_t)handle;
	return n < BRICK_NULL_QUEUES ? (int)n : -EINVAL;
}

/* When a command that is submitted now begins, with everything before it in the queue done. */
static uint64_t sim_reach(struct brick_null *sim, uint32_t queue)
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

/* Wait, or move the time, until then. Takes the lock itself. */
static void sim_wait(struct brick_null *sim, uint64_t until_ns)
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

static int null_backend_recall(struct brick_null *sim, const struct brick_null_times *history,
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
	return null_backend_recall(sim, sim->kernels, &sim->kernel_count, n, times);
}

int brick_null_pair(struct brick_null *sim, uint64_t n, struct brick_null_times *times)
{
	return null_backend_recall(sim, sim->pairs, &sim->pair_count, n, times);
}

uint64_t brick_null_pairs(struct brick_null *sim)
{
	HOLD(&sim->lock);
	return sim->pair_count;
}

/* The backend on it. */

static int null_backend_probe(char *reason, size_t bytes)
{
	return 0;
}

static int null_backend_open_device(struct brick_backend_device **out,
	const struct brick_backend_host *host, const struct brick_backend_options *options)
{
	uint32_t capacity = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	struct brick_backend_device *d =
		calloc(1, sizeof(*d) + (size_t)capacity * sizeof(struct pair));

	if (!d)
		return -ENOMEM;
	d->host = *host;
	d->capacity = capacity;
	d->sim = options ? options->native[0] : NULL;
	d->owns_sim = !d->sim;
	int error = d->owns_sim ? brick_null_create(&d->sim, NULL) : 0;
	if (error) {
		free(d);
		return error;
	}
	host->note(host->context, "device", "simulated");
	*out = d;
	return 0;
}

/* Under the lock. */
static bool null_backend_has_failed(const struct brick_null *sim)
{
	return sim->config.fail_after && sim->pair_count >= sim->config.fail_after;
}

static int null_backend_begin(struct brick_backend_device *d, void *handle, uint64_t ticket)
{
	struct brick_null *sim = d->sim;
	int queue = sim_queue(handle);

	if (queue < 0)
		return queue;
	HOLD(&sim->lock);
	if (null_backend_has_failed(sim))
		return BRICK_EDEVICE;
	if (d->count == d->capacity)
		return -EAGAIN;
	struct pair *p = &d->pairs[d->count++];
	*p = (struct pair){.ticket = ticket,
		.number = sim->pair_count++,
		.queued_ns = sim_now(sim),
		.begin_ns = sim_reach(sim, (uint32_t)queue),
		.queue = (uint32_t)queue};
	sim->pairs[p->number % BRICK_NULL_HISTORY] = (struct brick_null_times){
		.begin_ns = p->begin_ns, .device_begin_ns = sim_device_ns(sim, p->begin_ns)};
	return 0;
}

static struct pair *find_open(struct brick_backend_device *d, uint64_t ticket)
{
	for (uint32_t i = d->count; i > 0; i--)
		if (d->pairs[i - 1].ticket == ticket && !d->pairs[i - 1].known_ns)
			return &d->pairs[i - 1];
	return NULL;
}

static uint32_t fate_of(struct brick_null *sim)
{
	uint64_t n = ++sim->ended_count;

	if (sim->config.lose_every && n % sim->config.lose_every == 0)
		return FATE_LOST;
	if (sim->config.fail_every && n % sim->config.fail_every == 0)
		return FATE_FAILED;
	return FATE_GOOD;
}

static int null_backend_end(struct brick_backend_device *d, void *handle, uint64_t ticket)
{
	struct brick_null *sim = d->sim;
	int queue = sim_queue(handle);

	if (queue < 0)
		return queue;
	HOLD(&sim->lock);
	struct pair *p = find_open(d, ticket);
	if (!p || p->queue != (uint32_t)queue)
		return -EINVAL;
	if (null_backend_has_failed(sim) && p->number >= sim->config.fail_after)
		return BRICK_EDEVICE;
	p->end_ns = sim_reach(sim, p->queue);
	p->known_ns = p->end_ns + sim->config.completion_ns;
	p->fate = fate_of(sim);
	struct brick_null_times *t = &sim->pairs[p->number % BRICK_NULL_HISTORY];
	t->end_ns = p->end_ns;
	t->device_end_ns = sim_device_ns(sim, p->end_ns);
	return 0;
}

static struct brick_completion completion_of(const struct brick_null *sim, const struct pair *p)
{
	if (p->fate == FATE_FAILED)
		return (struct brick_completion){.ticket = p->ticket, .error = BRICK_EDEVICE};
	return (struct brick_completion){
		.ticket = p->ticket,
		.begin_ns = sim_device_ns(sim, p->begin_ns),
		.end_ns = sim_device_ns(sim, p->end_ns),
		.queued_ns = sim_device_ns(sim, p->queued_ns),
		.submitted_ns = sim_device_ns(sim, p->queued_ns + sim->config.latency_ns),
	};
}

/* Take what the host may know by now off the list, at most BATCH. */
static uint32_t null_backend_collect(
	struct brick_backend_device *d, struct brick_completion *out, uint64_t now, uint32_t *lost)
{
	uint32_t kept = 0, count = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct pair p = d->pairs[i];
		if (!p.known_ns || p.known_ns > now || count == BATCH)
			d->pairs[kept++] = p;
		else if (p.fate == FATE_LOST)
			*lost += !d->sim->config.silent;
		else
			out[count++] = completion_of(d->sim, &p);
	}
	d->count = kept;
	return count;
}

static int null_backend_drain(struct brick_backend_device *d)
{
	struct brick_completion batch[BATCH];
	uint32_t count, total = 0, lost = 0;

	pthread_mutex_lock(&d->sim->lock);
	uint64_t now = sim_now(d->sim);
	bool failed = null_backend_has_failed(d->sim);
	int reversed = d->sim->config.reversed;
	pthread_mutex_unlock(&d->sim->lock);
	do {
		pthread_mutex_lock(&d->sim->lock);
		count = null_backend_collect(d, batch, now, &lost);
		pthread_mutex_unlock(&d->sim->lock);
		for (uint32_t i = 0; i < count; i++)
			d->host.complete(d->host.context, &batch[reversed ? count - 1 - i : i]);
		total += count;
	} while (count == BATCH);
	if (lost)
		d->host.lost(d->host.context, lost);
	return failed ? BRICK_EDEVICE : (int)total;
}

static int null_backend_synchronise(struct brick_backend_device *d, void *queue)
{
	struct brick_null *sim = d->sim;
	uint64_t until = 0;
	int q = sim_queue(queue);

	if (q < 0)
		return q;
	pthread_mutex_lock(&sim->lock);
	for (uint32_t i = 0; i < BRICK_NULL_QUEUES; i++)
		if ((!queue || i == (uint32_t)q) && sim->free_at[i] > until)
			until = sim->free_at[i];
	bool failed = null_backend_has_failed(sim);
	pthread_mutex_unlock(&sim->lock);
	if (failed)
		return BRICK_EDEVICE;
	if (until)
		sim_wait(sim, until + sim->config.completion_ns);
	return 0;
}

static int null_backend_correlate(struct brick_backend_device *d, struct brick_reading *reading)
{
	struct brick_null *sim = d->sim;

	if (sim->config.no_clock)
		return -ENOTSUP;
	HOLD(&sim->lock);
	reading->before_ns = sim_now(sim);
	reading->device_ns = sim_device_ns(sim, sim_now(sim));
	reading->after_ns = sim_now(sim);
	return 0;
}

static void null_backend_close_device(struct brick_backend_device *d)
{
	if (!d)
		return;
	if (d->count)
		d->host.lost(d->host.context, d->count);
	if (d->owns_sim)
		brick_null_destroy(d->sim);
	free(d);
}

const struct brick_backend brick__backend_null = {
	.size = sizeof(struct brick_backend),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT,
	.name = "null",
	.probe = null_backend_probe,
	.open = null_backend_open_device,
	.begin = null_backend_begin,
	.end = null_backend_end,
	.drain = null_backend_drain,
	.synchronise = null_backend_synchronise,
	.correlate = null_backend_correlate,
	.close = null_backend_close_device,
};
