/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices can do, through their backends. Of each backend: what the host takes to put a pair
 * of timestamps into a queue (launch), and until it knows that they have passed (synchronise). Of
 * each device that kernels can be made for: a sweep of its own, of kernels timed by such pairs. One
 * that cannot be used is missing with its reason. The null device is nobody's machine.
 */
#include "analysis/machine/sweep_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock_ns.h"
#include "brick/device.h"
#include "brick/error.h"

enum {
	PAIRS = 64,
	WARM_UPS = 3,
	MAX_DEVICES = 16,
	QUICK_BYTES = 128 << 20, /* of memory */
};

struct probe {
	const struct brick_backend *backend;
	const struct device_kind *kind; /* NULL: the backend's own queue */
	struct device_queue own;
	struct brick_backend_device *device;
	uint64_t ticket;
	uint64_t ns; /* of the pair that came last; 0: none, or it failed */
};

static void take_completion(void *context, const struct brick_completion *completion)
{
	struct probe *p = context;

	if (completion->ticket == p->ticket && !completion->error)
		p->ns = completion->end_ns - completion->begin_ns;
}

static void take_loss(void *context, uint64_t count)
{
}

static void take_note(void *context, const char *key, const char *value)
{
}

/* One pair, around a kernel if there is one, waited for; adds up what the two halves took. */
static int time_pair(
	struct probe *p, const struct device_run *run, double *launch_ns, double *all_ns)
{
	int rc = p->kind ? p->kind->prepare(&p->own) : 0;
	uint64_t begin_ns = monotonic_ns();

	p->ns = 0;
	if (!rc)
		rc = p->backend->begin(p->device, p->own.queue, ++p->ticket);
	if (!rc && run)
		rc = p->kind->run(&p->own, run);
	if (!rc)
		rc = p->backend->end(p->device, p->own.queue, p->ticket);
	uint64_t launched_ns = monotonic_ns();
	if (!rc)
		rc = p->backend->synchronise(p->device, p->own.queue);
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
		rc = time_pair(p, NULL, launch_ns, all_ns);
	*launch_ns /= pairs;
	*all_ns /= pairs;
	return rc;
}

static int measure_latency(struct sweep *s, struct probe *p)
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

static uint64_t run_on_device(struct sweep *s, const struct sweep_slot *slot, uint64_t rounds)
{
	struct probe *p = s->context;
	struct device_run run = slot->device;
	double ignored[2] = {0, 0};

	run.rounds = rounds < UINT32_MAX ? (uint32_t)rounds : UINT32_MAX;
	return time_pair(p, &run, &ignored[0], &ignored[1]) ? 0 : p->ns;
}

/* Kernels as the other machine's have them: by these one is known from another. */
static const struct machine_compute arithmetic = {.isa = "kernel", .type = "f32"};
static const struct machine_stream reading = {.isa = "kernel", .kind = STREAM_READ};

static int add_compute(struct sweep *s, enum device_job job, uint32_t group)
{
	struct sweep_slot slot = {.compute = &arithmetic,
		.device = {job, DEVICE_GROUPS, group, 0, DEVICE_MIN_SHARE, 1},
		.threads = 1,
		.work = (double)DEVICE_GROUPS * group * DEVICE_FLOPS};

	return array_push(&s->slots, slot);
}

static int add_read(struct sweep *s, uint64_t bytes, uint32_t group)
{
	uint64_t set = bytes / DEVICE_ELEMENT, share = set / DEVICE_GROUPS;
	struct sweep_slot slot = {.stream = &reading,
		.device = {DEVICE_READ, DEVICE_GROUPS, group, 0, 0, (uint32_t)set},
		.threads = 1,
		.bytes = bytes};

	share = share > DEVICE_MIN_SHARE ? share : DEVICE_MIN_SHARE;
	slot.device.share = (uint32_t)share;
	slot.work = (double)DEVICE_GROUPS * (double)share * DEVICE_ELEMENT;
	return array_push(&s->slots, slot);
}

/* Groups of one item suit devices that are CPUs. */
static int plan(struct sweep *s, uint64_t most_bytes)
{
	static const uint32_t groups[] = {1, 64, 256};
	static const struct ceilings_level levels[] = {{"cache", 0, 1}, {"memory", 0, 1}};
	struct ceilings *c = s->ceilings;
	int rc = 0;

	c->levels = malloc(sizeof(levels));
	if (!c->levels)
		return -ENOMEM;
	memcpy(c->levels, levels, sizeof(levels));
	c->level_count = 2;
	for (int i = 0; i < 3 && !rc; i++) {
		rc = add_compute(s, DEVICE_FMA, groups[i]) |
		     add_compute(s, DEVICE_MUL_ADD, groups[i]) | add_read(s, most_bytes, groups[i]);
		for (uint64_t bytes = 32 << 10; bytes < most_bytes && !rc; bytes *= 4)
			rc = add_read(s, bytes, groups[i]);
	}
	return rc ? -ENOMEM : 0;
}

/* What a kernel of one group takes that does nothing. */
static int add_floor(struct sweep *s)
{
	struct sweep_slot slot = {.device = {DEVICE_FMA, 1, 64, 0, DEVICE_MIN_SHARE, 1}};
	double values[SWEEP_REPETITIONS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->repetitions; i++) {
		uint64_t ns = run_on_device(s, &slot, 0);
		if (ns)
			values[count++] = (double)ns;
	}
	return count ? sweep_add_latency(s, "kernel", "kernel", 1, values, count) : 0;
}

/* The same device may be had twice: drivers in turn, layers. */
static int measure_device(struct sweep *s, struct probe *p)
{
	struct ceilings *c = s->ceilings;
	struct sweep_options options = *s->options;
	struct sweep own = {.options = &options,
		.repetitions = s->repetitions,
		.run = run_on_device,
		.context = p,
		.budget_ns = ceilings_device_budget_ns(options.quick)};
	const struct ceilings_device *twin = ceilings_device_of(c, p->backend->name, p->own.name);

	if (twin && !strcmp(twin->backend, p->backend->name))
		return 0;
	struct ceilings_device *devices =
		realloc(c->devices, (c->device_count + 1) * sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	c->devices = devices;
	struct ceilings_device *device = &devices[c->device_count++];
	*device = (struct ceilings_device){0};
	snprintf(device->backend, sizeof(device->backend), "%s", p->backend->name);
	snprintf(device->name, sizeof(device->name), "%s", p->own.name);
	options.progress = NULL;
	own.ceilings = &device->can;
	own.begin_ns = sweep_now_ns(&own);
	uint64_t most = options.quick ? QUICK_BYTES : UINT64_MAX;
	int rc = plan(&own, p->own.bytes < most ? p->own.bytes : most);
	if (!rc)
		rc = sweep_figures(&own);
	if (!rc)
		rc = add_floor(&own);
	array_fini(&own.slots);
	return rc;
}

static int open_backend(struct probe *p)
{
	const struct brick_backend_host host = {
		sizeof(host), p, take_completion, take_loss, take_note};
	struct brick_backend_options options = {.size = sizeof(options)};

	memcpy(options.native, p->own.native, sizeof(options.native));
	return p->backend->open(&p->device, &host, &options);
}

/* Its backend's latency is that of its first device. -ENODEV: there is no such device. */
static int measure_one(struct sweep *s, struct probe *p, unsigned index)
{
	int rc = 0;

	if (p->kind)
		rc = p->kind->open ? p->kind->open(&p->own, index) : -ENOTSUP;
	if (rc)
		return rc;
	rc = open_backend(p);
	if (!rc) {
		rc = index ? 0 : measure_latency(s, p);
		if (!rc && p->kind)
			rc = measure_device(s, p);
		p->backend->close(p->device);
	}
	if (p->kind)
		p->kind->close(&p->own);
	return rc;
}

static const struct device_kind *kind_of(const struct brick_backend *backend)
{
	static const struct device_kind *const kinds[] = {&device_opencl, &device_vulkan};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i]->backend, backend->name))
			return kinds[i];
	return NULL;
}

static int measure_backend(struct sweep *s, const struct brick_backend *backend)
{
	char reason[160] = "";
	int rc = backend->probe(reason, sizeof(reason));

	if (rc)
		return sweep_add_missing(s, backend->name, reason[0] ? reason : brick_strerror(rc));
	for (unsigned i = 0; i < MAX_DEVICES; i++) {
		struct probe p = {.backend = backend, .kind = kind_of(backend)};
		rc = measure_one(s, &p, i);
		if (rc == -ENOMEM)
			return rc;
		if ((rc == -ENODEV && i) || (!p.kind && !rc))
			break;
		if (rc)
			rc = sweep_add_missing(s, backend->name,
				rc == -EINVAL || rc == BRICK_ESTATE
					? "its latency needs a queue or context of a program's own"
					: brick_strerror(rc));
		if (rc || !p.kind)
			return rc;
	}
	return 0;
}

int sweep_devices(struct sweep *s)
{
	const struct brick_backend *backend;
	int rc = 0;

	for (uint32_t i = 0; !rc && (backend = brick_backend_at(i)); i++)
		if (strcmp(backend->name, "null") && strcmp(backend->name, "cpu"))
			rc = measure_backend(s, backend);
	return rc;
}
