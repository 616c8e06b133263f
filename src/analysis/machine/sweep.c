/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans slots for the CPUs (numbers of threads, a slot for each kernel and working set), runs them
 * on a team of threads, and makes ceilings of them. Working sets grow by thirds and halves from the
 * nearest cache to memory: where bandwidth falls, a cache ends, whatever the CPU tells of its size.
 */
#include "analysis/machine/sweep.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/clock_ns.h"
#include "base/memory_left.h"
#include "brick/device.h"
#include "brick/error.h"

/*
 * Repetitions go round all slots. A first run finds how many rounds take a slot's share of the
 * time; on a busy machine there are fewer repetitions.
 */

enum {
	REST_MS = 300, /* of it, for latencies */
	MIN_SLOT_US = 500,
	MAX_SLOT_US = 20000,
};

static uint64_t sweep_now_ns(const struct sweep *s)
{
	return s->options->now_ns ? s->options->now_ns() : monotonic_ns();
}

/* A slot's share of the time is also that of finding its rounds and of warming its caches. */
static void plan_time(struct sweep *s)
{
	uint64_t runs = s->slots.count * (s->repetitions + 1), now_ns = sweep_now_ns(s);

	s->end_ns = s->begin_ns + s->budget_ns - REST_MS * 1000000ull;
	uint64_t left_us = now_ns < s->end_ns ? (s->end_ns - now_ns) / 1000 : 0;
	uint64_t slot_us = left_us / (runs ? runs : 1);
	slot_us = slot_us < MIN_SLOT_US ? MIN_SLOT_US : slot_us;
	s->slot_ns = (slot_us > MAX_SLOT_US ? MAX_SLOT_US : slot_us) * 1000;
}

/* Tells progress by slots or by time, whichever is further. */
static void tell_progress(const struct sweep *s, uint64_t done)
{
	double runs = (double)s->slots.count * s->repetitions;
	double time = (double)(sweep_now_ns(s) - s->begin_ns) / (double)(s->end_ns - s->begin_ns);
	double share = (double)done / runs;

	share = time > share && done >= s->slots.count ? time : share;
	if (s->options->progress)
		s->options->progress(s->options->context, share > 1 ? 1 : share);
}

void sweep_measure_all(struct sweep *s, void (*measure)(struct sweep *s, struct sweep_slot *slot))
{
	plan_time(s);
	for (uint32_t i = 0; i < s->repetitions; i++)
		for (size_t k = 0; k < s->slots.count; k++) {
			/* On a busy machine fewer repetitions, rather than minutes. */
			if (i && sweep_now_ns(s) >= s->end_ns)
				return;
			measure(s, &s->slots.items[k]);
			if (k % 8 == 0)
				tell_progress(s, i * s->slots.count + k);
		}
}

/* Rounds that take about one slot's time. */
static void sweep_calibrate(struct sweep *s, struct sweep_slot *slot)
{
	uint64_t rounds = slot->compute && !slot->device.set ? 1024 : 1;
	uint64_t ns = s->run(s, slot, rounds);

	while (ns && ns < s->slot_ns / 4 && rounds < UINT32_MAX / 2) {
		rounds *= 2;
		ns = s->run(s, slot, rounds);
	}
	/* One round was long enough to be a value itself. */
	if (slot->stream && rounds == 1 && ns >= s->slot_ns)
		slot->values[slot->count++] = slot->work / (double)ns;
	double wanted = (double)rounds * (double)s->slot_ns / (double)(ns ? ns : 1);
	slot->rounds = wanted < 1 ? 1 : (uint64_t)wanted;
}

static void sweep_measure(struct sweep *s, struct sweep_slot *slot)
{
	if (!slot->rounds) {
		sweep_calibrate(s, slot);
		if (slot->count)
			return;
	} else if (slot->stream && slot->rounds > 1) {
		s->run(s, slot, 1); /* into the caches */
	}
	uint64_t ns = s->run(s, slot, slot->rounds);
	if (ns)
		slot->values[slot->count++] = slot->work * (double)slot->rounds / (double)ns;
}

static int keep_all(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	c->compute = calloc(s->slots.count + 1, sizeof(*c->compute));
	c->bandwidth = calloc(s->slots.count + 1, sizeof(*c->bandwidth));
	if (!c->compute || !c->bandwidth)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots.count; i++) {
		struct sweep_slot *slot = &s->slots.items[i];
		if (!slot->count)
			continue;
		if (slot->compute) {
			struct ceilings_compute *row = &c->compute[c->compute_count++];
			snprintf(row->isa, sizeof(row->isa), "%s", slot->compute->isa);
			snprintf(row->type, sizeof(row->type), "%s", slot->compute->type);
			row->threads = slot->threads;
			row->rate = ceilings_figure_of(slot->values, slot->count, false);
		} else {
			struct ceilings_bandwidth *row = &c->bandwidth[c->bandwidth_count++];
			snprintf(row->kernel, sizeof(row->kernel), "%s",
				machine_stream_name(slot->stream->kind));
			snprintf(row->isa, sizeof(row->isa), "%s", slot->stream->isa);
			row->threads = slot->threads;
			row->bytes = slot->device.set ? slot->bytes : (uint64_t)slot->work;
			row->rate = ceilings_figure_of(slot->values, slot->count, false);
		}
	}
	return 0;
}

/* Measure the slots and make rows of them. -ENOMEM. */
static int sweep_figures(struct sweep *s)
{
	sweep_measure_all(s, sweep_measure);
	int rc = keep_all(s);
	return rc ? rc : ceilings_find_levels(s->ceilings);
}

/* Append to ceilings->latency. -ENOMEM. */
static int sweep_add_latency(struct sweep *s, const char *backend, const char *what,
	uint32_t threads, double *values, uint32_t count)
{
	struct ceilings *c = s->ceilings;
	struct ceilings_latency *rows =
		array_grow(c->latency, &s->latency_capacity, c->latency_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	c->latency = rows;
	struct ceilings_latency *row = &rows[c->latency_count++];
	*row = (struct ceilings_latency){.threads = threads};
	snprintf(row->backend, sizeof(row->backend), "%s", backend);
	snprintf(row->what, sizeof(row->what), "%s", what);
	row->ns = ceilings_figure_of(values, count, true);
	return 0;
}

/* Append to ceilings->missing. -ENOMEM. */
static int sweep_add_missing(struct sweep *s, const char *what, const char *reason)
{
	struct ceilings *c = s->ceilings;
	struct ceilings_missing *rows =
		array_grow(c->missing, &s->missing_capacity, c->missing_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	c->missing = rows;
	struct ceilings_missing *row = &rows[c->missing_count++];
	snprintf(row->what, sizeof(row->what), "%s", what);
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
	return 0;
}

/*
 * Measures devices that kernels can be made for: a sweep of its own for each, of kernels timed by
 * pairs of timestamps of the device's backend. A device that cannot be used is missing with its
 * reason.
 */

enum {
	MAX_DEVICES = 16,
	QUICK_BYTES = 128 << 20, /* of memory */
};

struct probe {
	const struct brick_backend *backend;
	const struct device_kind *kind;
	struct device_queue own;
	struct brick_backend_device *device;
	uint64_t ticket;
	uint64_t ns; /* of the pair that came last; 0: none, or it failed */
};

static void sweep_take_completion(void *context, const struct brick_completion *completion)
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

/* Times a kernel by a pair around it, and waits for it. */
static uint64_t run_on_device(struct sweep *s, const struct sweep_slot *slot, uint64_t rounds)
{
	struct probe *p = s->context;
	struct device_run run = slot->device;
	int rc = p->kind->prepare(&p->own);

	run.rounds = rounds < UINT32_MAX ? (uint32_t)rounds : UINT32_MAX;
	p->ns = 0;
	if (!rc)
		rc = p->backend->begin(p->device, p->own.queue, ++p->ticket);
	if (!rc)
		rc = p->kind->run(&p->own, &run);
	if (!rc)
		rc = p->backend->end(p->device, p->own.queue, p->ticket);
	if (!rc)
		rc = p->backend->synchronise(p->device, p->own.queue);
	p->backend->drain(p->device);
	return rc ? 0 : p->ns;
}

/* Kernels as the other machine's have them: by these one is known from another. */
static const struct machine_compute arithmetic = {.isa = "kernel", .type = "f32"};
static const struct machine_stream reading = {.isa = "kernel", .kind = STREAM_READ};

static int sweep_add_compute(struct sweep *s, enum device_job job, uint32_t group)
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
static int plan_device(struct sweep *s, uint64_t most_bytes)
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
		rc = sweep_add_compute(s, DEVICE_FMA, groups[i]) |
		     sweep_add_compute(s, DEVICE_MUL_ADD, groups[i]) |
		     add_read(s, most_bytes, groups[i]);
		for (uint64_t bytes = 32 << 10; bytes < most_bytes && !rc; bytes *= 4)
			rc = add_read(s, bytes, groups[i]);
	}
	return rc ? -ENOMEM : 0;
}

/* Measures a kernel of one group that does nothing. */
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
	int rc = plan_device(&own, p->own.bytes < most ? p->own.bytes : most);
	if (!rc)
		rc = sweep_figures(&own);
	if (!rc)
		rc = add_floor(&own);
	array_fini(&own.slots);
	return rc;
}

/* -ENODEV: there is no such device. */
static int measure_one(struct sweep *s, struct probe *p, unsigned index)
{
	int rc = p->kind->open ? p->kind->open(&p->own, index) : -ENOTSUP;

	if (rc)
		return rc;
	const struct brick_backend_host host = {
		sizeof(host), p, sweep_take_completion, take_loss, take_note};
	struct brick_backend_options options = {.size = sizeof(options)};
	memcpy(options.native, p->own.native, sizeof(options.native));
	rc = p->backend->open(&p->device, &host, &options);
	if (!rc) {
		rc = measure_device(s, p);
		p->backend->close(p->device);
	}
	p->kind->close(&p->own);
	return rc;
}

static int measure_kind(
	struct sweep *s, const struct brick_backend *backend, const struct device_kind *kind)
{
	char reason[160] = "";
	int rc = backend->probe(reason, sizeof(reason));

	if (rc)
		return sweep_add_missing(s, backend->name, reason[0] ? reason : brick_strerror(rc));
	for (unsigned i = 0; i < MAX_DEVICES; i++) {
		struct probe p = {.backend = backend, .kind = kind};
		rc = measure_one(s, &p, i);
		if (rc == -ENOMEM)
			return rc;
		if (rc == -ENODEV && i)
			break;
		if (rc)
			return sweep_add_missing(s, backend->name, brick_strerror(rc));
	}
	return 0;
}

static int sweep_devices(struct sweep *s)
{
	static const struct device_kind *const kinds[] = {&device_opencl, &device_vulkan};
	const struct brick_backend *backend;
	int rc = 0;

	for (uint32_t i = 0; !rc && (backend = brick_backend_at(i)); i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds) && !rc; k++)
			if (!strcmp(kinds[k]->backend, backend->name))
				rc = measure_kind(s, backend, kinds[k]);
	return rc;
}

enum {
	WARM_UP_MS = 100,
	BARRIERS = 500,
	EACH_UP_TO = 4,	  /* numbers of threads that are all measured; then powers of 2 */
	MEMORY_TIMES = 4, /* the last cache, so that next to nothing is found in it */
	QUICK_MEMORY_TIMES = 2,
	MEMORY_PART = 10, /* of the memory that is left */
	MIN_MEMORY = 128 << 20,
	COARSE = 2, /* one of so many working sets, for what also writes */
	MIN_ARRAY = 4 * STREAM_STEP,
	ARRAY_GAP = 320, /* between arrays, so that they do not fall on the same lines of a page */
};

/* The plan. */

static int plan_levels(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	c->levels = calloc(CPU_LEVELS + 1, sizeof(*c->levels));
	if (!c->levels)
		return -ENOMEM;
	for (int i = 0; i < CPU_LEVELS; i++) {
		struct ceilings_level *level = &c->levels[c->level_count];
		if (!s->cpu.data[i].bytes)
			continue;
		snprintf(level->name, sizeof(level->name), "L%d", i + 1);
		level->bytes = s->cpu.data[i].bytes;
		level->shared = s->cpu.data[i].shared;
		c->level_count++;
	}
	if (!c->level_count &&
		sweep_add_missing(s, "caches", "the kernel does not tell their sizes"))
		return -ENOMEM;
	strcpy(c->levels[c->level_count].name, "memory");
	c->levels[c->level_count++].shared = s->cpu.online;
	return 0;
}

static struct sweep_slot *sweep_add_slot(struct sweep *s)
{
	if (array_push(&s->slots, (struct sweep_slot){0}))
		return NULL;
	return &s->slots.items[s->slots.count - 1];
}

static int plan_compute(struct sweep *s)
{
	for (const struct machine_compute *k = machine_computes; k->run; k++) {
		if (!k->available())
			continue;
		for (size_t i = 0; i < s->thread_count_count; i++) {
			struct sweep_slot *slot = sweep_add_slot(s);
			if (!slot)
				return -ENOMEM;
			slot->compute = k;
			slot->threads = s->thread_counts[i];
			slot->work = (double)k->ops_per_round * slot->threads;
		}
	}
	return 0;
}

/* The largest working set: well above the last cache, if there is memory for it. */
static uint64_t most_bytes(const struct sweep *s)
{
	const struct ceilings *c = s->ceilings;
	uint64_t most = memory_left_bytes("") / MEMORY_PART, wanted = MIN_MEMORY;

	if (c->level_count > 1) {
		const struct ceilings_level *last = &c->levels[c->level_count - 2];
		uint64_t times = s->options->quick ? QUICK_MEMORY_TIMES : MEMORY_TIMES;
		uint64_t all = times * ceilings_told_bytes(last, s->most_threads);
		wanted = all > wanted ? all : wanted;
	}
	return wanted < most ? wanted : most;
}

static int plan_stream(
	struct sweep *s, const struct machine_stream *k, unsigned threads, uint64_t set)
{
	unsigned arrays = machine_stream_arrays(k->kind);
	uint64_t bytes = set / threads / arrays;

	bytes -= bytes % STREAM_STEP;
	if (bytes < MIN_ARRAY)
		return 0;
	struct sweep_slot *slot = sweep_add_slot(s);
	if (!slot)
		return -ENOMEM;
	slot->stream = k;
	slot->threads = threads;
	slot->bytes = bytes;
	slot->work = (double)bytes * arrays * threads;
	return 0;
}

/* Powers of two, and one and a half of them. */
static int plan_sets(struct sweep *s, const struct machine_stream *k, unsigned threads)
{
	bool coarse = k->kind != STREAM_READ;
	uint64_t most = most_bytes(s);
	int rc = 0;

	for (unsigned i = 0; !rc; i++) {
		uint64_t set = (uint64_t)(i % 2 ? 3 * MIN_ARRAY / 2 : MIN_ARRAY) << i / 2;
		if (set > most)
			break;
		if (!coarse || i % COARSE == 0)
			rc = plan_stream(s, k, threads, set);
	}
	return rc;
}

/* True if wider registers are there: a narrower kernel is never faster. */
static bool is_outdone(const struct machine_stream *k)
{
	for (const struct machine_stream *other = k + 1; other->run; other++)
		if (other->kind == k->kind && other->available())
			return true;
	return false;
}

static int sweep_plan(struct sweep *s)
{
	int rc = plan_levels(s);

	unsigned usable = s->cpu.usable ? s->cpu.usable : 1;
	unsigned most = s->options->threads ? s->options->threads : usable;
	s->most_threads = most < CPU_MAX ? most : CPU_MAX;
	for (unsigned n = 1; n <= s->most_threads; n = n < EACH_UP_TO ? n + 1 : n * 2)
		if (s->thread_count_count < SWEEP_THREAD_COUNTS - 1)
			s->thread_counts[s->thread_count_count++] = n;
	if (s->thread_counts[s->thread_count_count - 1] != s->most_threads)
		s->thread_counts[s->thread_count_count++] = s->most_threads;
	if (!rc)
		rc = plan_compute(s);
	for (const struct machine_stream *k = machine_streams; k->run && !rc; k++)
		for (size_t i = 0; i < s->thread_count_count && !rc; i++)
			if (k->available() && !is_outdone(k))
				rc = plan_sets(s, k, s->thread_counts[i]);
	return rc;
}

/* The most that a member's arrays take in any slot. */
static size_t arena_bytes(const struct sweep *s, unsigned member)
{
	size_t most = 0;

	for (size_t i = 0; i < s->slots.count; i++) {
		const struct sweep_slot *slot = &s->slots.items[i];
		if (!slot->stream || slot->threads <= member)
			continue;
		size_t bytes = slot->bytes * machine_stream_arrays(slot->stream->kind);
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Running it. */

/* The argument of the members of a run. */
struct job {
	struct sweep *sweep;
	const struct sweep_slot *slot;
	uint64_t rounds;
};

/* Results go here, so that nobody can say that they are not needed. */
static volatile double sweep_sink;

static void sweep_compute(void *context, unsigned member)
{
	const struct job *job = context;

	sweep_sink = job->slot->compute->run(job->rounds);
}

static void sweep_move(void *context, unsigned member)
{
	const struct job *job = context;
	const struct sweep_slot *slot = job->slot;
	float *arrays[STREAM_ARRAYS];

	for (unsigned i = 0; i < STREAM_ARRAYS; i++) {
		unsigned used = i < machine_stream_arrays(slot->stream->kind) ? i : 0;
		arrays[i] = (float *)(job->sweep->arenas[member].memory +
				      used * (slot->bytes + ARRAY_GAP));
	}
	slot->stream->run(arrays, slot->bytes, job->rounds);
}

static uint64_t run_on_team(struct sweep *s, const struct sweep_slot *slot, uint64_t rounds)
{
	struct job job = {s, slot, rounds};

	return team_run(s->team, slot->threads, slot->compute ? sweep_compute : sweep_move, &job);
}

static void touch(void *context, unsigned member)
{
	struct sweep *s = context;
	struct sweep_arena *arena = &s->arenas[member];

	memset(arena->memory, 0x3f, arena->bytes); /* as f32 0.75 */
}

static int create_arenas(struct sweep *s)
{
	s->arenas = calloc(s->most_threads, sizeof(*s->arenas));
	if (!s->arenas)
		return -ENOMEM;
	for (unsigned i = 0; i < s->most_threads; i++) {
		struct sweep_arena *arena = &s->arenas[i];
		size_t bytes = arena_bytes(s, i) + STREAM_ARRAYS * ARRAY_GAP;
		void *memory = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return -ENOMEM;
		madvise(memory, bytes, MADV_HUGEPAGE);
		*arena = (struct sweep_arena){memory, bytes};
	}
	team_run(s->team, s->most_threads, touch, s);
	return 0;
}

static void destroy_arenas(struct sweep *s)
{
	for (unsigned i = 0; s->arenas && i < s->most_threads; i++)
		if (s->arenas[i].memory)
			munmap(s->arenas[i].memory, s->arenas[i].bytes);
	free(s->arenas);
	s->arenas = NULL;
}

static void sweep_warm_up(struct sweep *s)
{
	struct sweep_slot *slot = &s->slots.items[0];
	uint64_t end_ns = monotonic_ns() + WARM_UP_MS * 1000000ull;
	struct sweep_slot all = *slot;

	all.threads = s->most_threads;
	while (slot->compute && monotonic_ns() < end_ns)
		s->run(s, &all, 100000);
}

/* A level without any figure has a reason. */
static int note_missing_levels(struct sweep *s)
{
	const struct ceilings *c = s->ceilings;

	for (size_t i = 0; i < c->level_count; i++) {
		size_t rows = 0;
		for (size_t k = 0; k < c->bandwidth_count; k++)
			rows += !strcmp(c->bandwidth[k].level, c->levels[i].name);
		if (rows)
			continue;
		const char *why = i + 1 == c->level_count
					  ? "a tenth of the memory that is left is too little to "
					    "get out of the caches"
					  : "no faster than what comes behind it";
		if (sweep_add_missing(s, c->levels[i].name, why))
			return -ENOMEM;
	}
	return 0;
}

/* Measures the time that threads take to meet, whatever the work. */
static int add_barriers(struct sweep *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->thread_count_count && !rc; i++) {
		unsigned threads = s->thread_counts[i];
		double values[SWEEP_REPETITIONS];
		if (threads < 2)
			continue;
		for (uint32_t k = 0; k < s->repetitions; k++)
			values[k] = (double)team_barrier_ns(s->team, threads, BARRIERS) / BARRIERS;
		rc = sweep_add_latency(s, "threads", "barrier", threads, values, s->repetitions);
	}
	return rc;
}

static int sweep_all(struct sweep *s)
{
	int rc = sweep_plan(s);

	s->ceilings->most_threads = s->most_threads;
	if (!rc)
		rc = team_create(&s->team, s->most_threads,
			s->most_threads <= s->cpu.usable ? s->cpu.cpus : NULL);
	if (!rc)
		rc = create_arenas(s);
	if (rc)
		return rc;
	sweep_warm_up(s);
	rc = sweep_figures(s);
	if (!rc)
		rc = note_missing_levels(s);
	if (!rc)
		rc = add_barriers(s);
	destroy_arenas(s); /* devices take as much */
	if (!rc)
		rc = sweep_devices(s);
	return rc;
}

int sweep_run(struct ceilings **out, const struct sweep_options *options)
{
	struct sweep s = {.options = options, .run = run_on_team};
	s.begin_ns = sweep_now_ns(&s);
	s.budget_ns = ceilings_budget_ns(options->quick);
	s.repetitions = options->quick ? SWEEP_QUICK_REPETITIONS : SWEEP_REPETITIONS;
	s.ceilings = calloc(1, sizeof(*s.ceilings));
	if (!s.ceilings)
		return -ENOMEM;
	cpu_info_read(&s.cpu);
	struct ceilings *c = s.ceilings;
	memcpy(c->host, s.cpu.host, sizeof(c->host));
	memcpy(c->cpu, s.cpu.model, sizeof(c->cpu));
	memcpy(c->microcode, s.cpu.microcode, sizeof(c->microcode));
	c->cpus = s.cpu.online;
	c->quick = options->quick;
	c->unix_ns = real_ns();
	int rc = sweep_all(&s);
	s.ceilings->took_ns = sweep_now_ns(&s) - s.begin_ns;
	team_destroy(s.team);
	destroy_arenas(&s);
	array_fini(&s.slots);
	if (rc)
		ceilings_destroy(s.ceilings);
	else
		*out = s.ceilings;
	return rc;
}
