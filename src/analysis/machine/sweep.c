/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs what sweep_plan.c has planned, round after round, and makes ceilings of it. Called by `brick
 * ceilings`.
 */
#include "analysis/machine/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/clock_ns.h"
#include "analysis/machine/sweep_state.h"

enum {
	WARM_UP_MS = 100,
	ARRAY_GAP = 320, /* between arrays, so that they do not fall on the same lines of a page */
};

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

/* Rounds that take about one slot's time. */
static void calibrate(struct sweep *s, struct sweep_slot *slot)
{
	uint64_t rounds = slot->compute && !slot->device.set ? 1024 : 1;
	uint64_t ns = s->run(s, slot, rounds);

	while (ns && ns < s->slot_ns / 4 && rounds < UINT32_MAX / 2) {
		rounds *= 2;
		ns = s->run(s, slot, rounds);
	}
	/* That was one already, and a long one. */
	if (slot->stream && rounds == 1 && ns >= s->slot_ns)
		slot->values[slot->count++] = slot->work / (double)ns;
	double wanted = (double)rounds * (double)s->slot_ns / (double)(ns ? ns : 1);
	slot->rounds = wanted < 1 ? 1 : (uint64_t)wanted;
}

static void measure(struct sweep *s, struct sweep_slot *slot)
{
	if (!slot->rounds) {
		calibrate(s, slot);
		if (slot->count)
			return;
	} else if (slot->stream && slot->rounds > 1) {
		s->run(s, slot, 1); /* into the caches */
	}
	uint64_t ns = s->run(s, slot, slot->rounds);
	if (ns)
		slot->values[slot->count++] = slot->work * (double)slot->rounds / (double)ns;
}

static void touch(void *context, unsigned member)
{
	struct sweep *s = context;
	struct sweep_arena *arena = &s->arenas[member];

	memset(arena->memory, 0x3f, arena->bytes); /* as f32 0.75 */
}

static int create_arenas(struct sweep *s)
{
	s->arenas = calloc(s->most_threads, sizeof *s->arenas);
	if (!s->arenas)
		return -ENOMEM;
	for (unsigned i = 0; i < s->most_threads; i++) {
		struct sweep_arena *arena = &s->arenas[i];
		size_t bytes = sweep_arena_bytes(s, i) + STREAM_ARRAYS * ARRAY_GAP;
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

static void keep_compute(struct ceilings *c, struct sweep_slot *slot)
{
	struct ceilings_compute *row = &c->compute[c->compute_count++];

	slot->row = c->compute_count - 1;
	snprintf(row->isa, sizeof row->isa, "%s", slot->compute->isa);
	snprintf(row->type, sizeof row->type, "%s", slot->compute->type);
	row->threads = slot->threads;
	row->rate = ceilings_figure_of(slot->values, slot->count, 0);
}

static void keep_stream(struct ceilings *c, struct sweep_slot *slot)
{
	struct ceilings_bandwidth *row = &c->bandwidth[c->bandwidth_count++];

	slot->row = c->bandwidth_count - 1;
	snprintf(row->level, sizeof row->level, "%s", c->levels[slot->level].name);
	snprintf(row->kernel, sizeof row->kernel, "%s", machine_stream_name(slot->stream->kind));
	snprintf(row->isa, sizeof row->isa, "%s", slot->stream->isa);
	row->threads = slot->threads;
	row->bytes = slot->device.set ? slot->bytes : (uint64_t)slot->work;
	row->rate = ceilings_figure_of(slot->values, slot->count, 0);
}

static int keep_all(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	c->compute = calloc(s->slots.count + 1, sizeof *c->compute);
	c->bandwidth = calloc(s->slots.count + 1, sizeof *c->bandwidth);
	if (!c->compute || !c->bandwidth)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots.count; i++) {
		if (!s->slots.items[i].count)
			continue;
		if (s->slots.items[i].compute)
			keep_compute(c, &s->slots.items[i]);
		else
			keep_stream(c, &s->slots.items[i]);
	}
	return 0;
}

int sweep_figures(struct sweep *s)
{
	sweep_measure_all(s, measure);
	int rc = keep_all(s);
	if (!rc)
		sweep_measure_again(s, measure);
	return rc;
}

/* A level without any figure has a reason. */
static int note_missing_levels(struct sweep *s)
{
	const struct ceilings *c = s->ceilings;

	for (size_t i = 0; i < c->level_count; i++) {
		size_t rows = 0;
		for (size_t k = 0; k < c->bandwidth_count; k++)
			rows += !strcmp(c->bandwidth[k].level, c->levels[i].name);
		if (!rows && sweep_add_missing(s, c->levels[i].name,
				     "no working set lies well above the cache before it and "
				     "fits into what there is"))
			return -ENOMEM;
	}
	return 0;
}

static void describe(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	memcpy(c->host, s->cpu.host, sizeof c->host);
	memcpy(c->cpu, s->cpu.model, sizeof c->cpu);
	memcpy(c->microcode, s->cpu.microcode, sizeof c->microcode);
	c->cpus = s->cpu.online;
	c->quick = s->options->quick;
	c->unix_ns = real_ns();
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
	warm_up(s);
	rc = sweep_figures(s);
	if (!rc)
		rc = note_missing_levels(s);
	if (!rc)
		rc = sweep_latency_threads(s);
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
	s.ceilings = calloc(1, sizeof *s.ceilings);
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
