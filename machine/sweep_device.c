/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latencies of devices, through their backends: what the host takes to put a pair of timestamps
 * into a queue (launch), and until it knows that they have passed (synchronise). A backend that
 * works but needs a queue of the program's own, and none can be made here, is missing with its
 * reason. The null device is nobody's machine. Called by the sweep after its kernels.
 */
#include "machine/sweep_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/clock_ns.h"
#include "brick/device.h"
#include "brick/error.h"
#include "machine/device_queue.h"

enum { PAIRS = 64, WARM_UPS = 3 };

static void take_completion(void *context, const struct brick_completion *completion)
{
	(void)context;
	(void)completion;
}

static void take_loss(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

static void take_note(void *context, const char *key, const char *value)
{
	(void)context;
	(void)key;
	(void)value;
}

struct probe {
	const struct brick_backend *backend;
	struct brick_backend_device *device;
	void *queue;
	uint64_t ticket;
};

/* One pair, waited for; adds up what the two halves took. */
static int time_pair(struct probe *p, double *launch_ns, double *all_ns)
{
	uint64_t begin_ns = monotonic_ns();
	int rc = p->backend->begin(p->device, p->queue, ++p->ticket);

	if (!rc)
		rc = p->backend->end(p->device, p->queue, p->ticket);
	uint64_t launched_ns = monotonic_ns();
	if (!rc)
		rc = p->backend->synchronise(p->device, p->queue);
	uint64_t end_ns = monotonic_ns();
	p->backend->drain(p->device);
	*launch_ns += (double)(launched_ns - begin_ns);
	*all_ns += (double)(end_ns - begin_ns);
	return rc;
}

static int time_pairs(struct probe *p, unsigned pairs, double *launch_ns, double *all_ns)
{
	int rc = 0;

	*launch_ns = *all_ns = 0;
	for (unsigned i = 0; i < pairs && !rc; i++)
		rc = time_pair(p, launch_ns, all_ns);
	*launch_ns /= pairs;
	*all_ns /= pairs;
	return rc;
}

static int measure(struct sweep *s, struct probe *p)
{
	double launch[SWEEP_REPETITIONS], all[SWEEP_REPETITIONS], ignored[2];
	int rc = time_pairs(p, WARM_UPS, &ignored[0], &ignored[1]);

	for (uint32_t i = 0; i < s->repetitions && !rc; i++)
		rc = time_pairs(p, PAIRS, &launch[i], &all[i]);
	if (rc)
		return rc;
	/* A clock's step may hide a launch: then there is nothing to tell. */
	for (uint32_t i = 0; i < s->repetitions; i++)
		if (!(launch[i] > 0) || !(all[i] > 0))
			return -ERANGE;
	rc = sweep_add_latency(s, p->backend->name, "launch", 1, launch, s->repetitions);
	return rc ? rc
		  : sweep_add_latency(s, p->backend->name, "synchronise", 1, all, s->repetitions);
}

static int measure_backend(struct sweep *s, const struct brick_backend *backend)
{
	const struct brick_backend_host host = {
		sizeof host, NULL, take_completion, take_loss, take_note};
	struct probe p = {.backend = backend};
	struct brick_backend_options options = {.size = sizeof options};
	struct device_queue own = {0};
	char reason[160] = "";
	int rc = backend->probe(reason, sizeof reason);

	if (rc)
		return sweep_add_missing(s, backend->name, reason[0] ? reason : brick_strerror(rc));
	if (!strcmp(backend->name, "opencl") && device_queue_opencl(&own)) {
		options.native[0] = own.context;
		options.native[1] = own.device;
		p.queue = own.queue;
	}
	rc = backend->open(&p.device, &host, &options);
	if (!rc) {
		rc = measure(s, &p);
		backend->close(p.device);
	}
	device_queue_close(&own);
	if (!rc || rc == -ENOMEM)
		return rc;
	snprintf(reason, sizeof reason, "%s",
		rc == -EINVAL ? "its latency needs a queue of a program's own"
			      : brick_strerror(rc));
	return sweep_add_missing(s, backend->name, reason);
}

int sweep_latency_devices(struct sweep *s)
{
	const struct brick_backend *backend;
	int rc = 0;

	for (uint32_t i = 0; !rc && (backend = brick_backend_at(i)); i++)
		if (strcmp(backend->name, "null") && strcmp(backend->name, "cpu"))
			rc = measure_backend(s, backend);
	return rc;
}
