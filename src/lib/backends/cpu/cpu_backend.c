/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend "cpu": its device is the host, its queue the calling thread, which is always done
 * with what came before. A timestamp is a reading of the process's clock, so there is nothing to
 * wait for and no other clock to be placed on ours. Queue handles are not looked at; any number of
 * threads may use one device (through a lock).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/scope.h"
#include "brick/clock.h"
#include "brick/abi/session.h"
#include "lib/backends/backend_load.h"
#include "lib/sys/ticks.h"

enum { DEFAULT_PAIRS = 4096 };

struct pair {
	uint64_t ticket, begin_ns, end_ns; /* end 0: open */
};

struct brick_backend_device {
	struct brick_backend_host host;
	pthread_mutex_t lock;
	uint32_t count, capacity;
	struct pair pairs[];
};

static uint64_t now_ns(void)
{
	return brick_clock_ns(brick_clock_get(), brick_ticks());
}

static int cpu_backend_probe(char *reason, size_t bytes)
{
	return 0;
}

static int cpu_backend_open_device(struct brick_backend_device **out,
	const struct brick_backend_host *host, const struct brick_backend_options *options)
{
	uint32_t capacity = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	struct brick_backend_device *d =
		calloc(1, sizeof(*d) + (size_t)capacity * sizeof(struct pair));

	if (!d)
		return -ENOMEM;
	d->host = *host;
	d->capacity = capacity;
	pthread_mutex_init(&d->lock, NULL);
	host->note(host->context, "clock", brick_clock_source_name(brick_clock_get()->source));
	*out = d;
	return 0;
}

static int cpu_backend_begin(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	int error = 0;

	HOLD(&d->lock);
	if (d->count == d->capacity)
		error = -EAGAIN;
	else
		d->pairs[d->count++] = (struct pair){ticket, now_ns(), 0};
	return error;
}

static int cpu_backend_end(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	uint64_t now = now_ns();
	int error = -EINVAL;

	HOLD(&d->lock);
	for (uint32_t i = d->count; i > 0 && error; i--)
		if (d->pairs[i - 1].ticket == ticket && !d->pairs[i - 1].end_ns) {
			d->pairs[i - 1].end_ns = now;
			error = 0;
		}
	return error;
}

static int cpu_backend_drain(struct brick_backend_device *d)
{
	uint32_t kept = 0, done = 0;

	HOLD(&d->lock);
	for (uint32_t i = 0; i < d->count; i++) {
		const struct pair *p = &d->pairs[i];
		if (!p->end_ns) {
			d->pairs[kept++] = *p;
			continue;
		}
		const struct brick_completion completion = {
			.ticket = p->ticket, .begin_ns = p->begin_ns, .end_ns = p->end_ns};
		d->host.complete(d->host.context, &completion);
		done++;
	}
	d->count = kept;
	return (int)done;
}

static int cpu_backend_synchronise(struct brick_backend_device *d, void *queue)
{
	return 0;
}

/* The process's clock was calibrated once, and goes its own way from there, if only a little. */
static int cpu_backend_correlate(struct brick_backend_device *d, struct brick_reading *reading)
{
	reading->before_ns = brick__monotonic_ns();
	reading->device_ns = now_ns();
	reading->after_ns = brick__monotonic_ns();
	return 0;
}

static void cpu_backend_close_device(struct brick_backend_device *d)
{
	if (!d)
		return;
	pthread_mutex_destroy(&d->lock);
	free(d);
}

const struct brick_backend brick__backend_cpu = {
	.size = sizeof(struct brick_backend),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_TSC,
	.name = "cpu",
	.probe = cpu_backend_probe,
	.open = cpu_backend_open_device,
	.begin = cpu_backend_begin,
	.end = cpu_backend_end,
	.drain = cpu_backend_drain,
	.synchronise = cpu_backend_synchronise,
	.correlate = cpu_backend_correlate,
	.close = cpu_backend_close_device,
};
