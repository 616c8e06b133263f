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

#include "analysis/machine/sweep_device.h"
#include "analysis/machine/sweep_slots.h"
#include "base/clock_ns.h"
#include "base/memory_left.h"

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

static void plan_threads(struct sweep *s)
{
	unsigned usable = s->cpu.usable ? s->cpu.usable : 1;
	unsigned most = s->options->threads ? s->options->threads : usable;

	s->most_threads = most < CPU_MAX ? most : CPU_MAX;
	for (unsigned n = 1; n <= s->most_threads; n = n < EACH_UP_TO ? n + 1 : n * 2)
		if (s->thread_count_count < SWEEP_THREAD_COUNTS - 1)
			s->thread_counts[s->thread_count_count++] = n;
	if (s->thread_counts[s->thread_count_count - 1] != s->most_threads)
		s->thread_counts[s->thread_count_count++] = s->most_threads;
}

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

static struct sweep_slot *add_slot(struct sweep *s)
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
			struct sweep_slot *slot = add_slot(s);
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
	struct sweep_slot *slot = add_slot(s);
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

/* Of the widths of registers the widest: a narrower one is never faster. */
static bool is_outdone(const struct machine_stream *k)
{
	for (const struct machine_stream *other = k + 1; other->run; other++)
		if (other->kind == k->kind && other->available())
			return true;
	return false;
}

static int plan(struct sweep *s)
{
	int rc = plan_levels(s);

	plan_threads(s);
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

/* What the members of a run are given. */
struct job {
	struct sweep *sweep;
	const struct sweep_slot *slot;
	uint64_t rounds;
};

/* Results go here, so that nobody can say that they are not needed. */
static volatile double sink;

static void compute(void *context, unsigned member)
{
	const struct job *job = context;

	sink = job->slot->compute->run(job->rounds);
}

static void move(void *context, unsigned member)
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

	return team_run(s->team, slot->threads, slot->compute ? compute : move, &job);
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

static void warm_up(struct sweep *s)
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

static void describe(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	memcpy(c->host, s->cpu.host, sizeof(c->host));
	memcpy(c->cpu, s->cpu.model, sizeof(c->cpu));
	memcpy(c->microcode, s->cpu.microcode, sizeof(c->microcode));
	c->cpus = s->cpu.online;
	c->quick = s->options->quick;
	c->unix_ns = real_ns();
}

/* What it takes threads to meet, whatever the work. */
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
	int rc = plan(s);

	s->ceilings->most_threads = s->most_threads;
	if (!rc)
		rc = team_create(&s->team, s->most_threads,
			s->most_threads <= s->cpu.usable ? s->cpu.cpus : NULL);
	if (!rc)
		rc = create_arenas(s);
	if (rc)
		return rc;
	warm_up(s);
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
	describe(&s);
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
