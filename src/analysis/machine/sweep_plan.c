/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sweep measures: levels of memory, numbers of threads, and a slot for each kernel. A
 * working set of a cache is well above the cache before it and fits easily, also when
 * as many threads share it as run; where there is no such size, that figure is missing.
 */
#include "analysis/machine/sweep_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EACH_UP_TO = 4,	   /* numbers of threads that are all measured; then powers of 2 */
	MEMORY_TIMES = 16, /* the last cache, so that next to nothing is found in it */
	QUICK_MEMORY_TIMES = 8,
	MIN_MEMORY = 128 << 20,
	MIN_ARRAY = 4 * STREAM_STEP,
};

static int has_cpus_for(const struct sweep *s, unsigned threads)
{
	return threads <= s->most_threads;
}

static void plan_threads(struct sweep *s)
{
	unsigned usable = s->cpu.usable ? s->cpu.usable : 1;
	unsigned most = s->options->threads ? s->options->threads : usable;

	s->most_threads = most < CPU_MAX ? most : CPU_MAX;
	for (unsigned n = 1; has_cpus_for(s, n); n = n < EACH_UP_TO ? n + 1 : n * 2)
		if (s->thread_count_count < SWEEP_THREAD_COUNTS - 1)
			s->thread_counts[s->thread_count_count++] = n;
	if (s->thread_counts[s->thread_count_count - 1] != s->most_threads)
		s->thread_counts[s->thread_count_count++] = s->most_threads;
}

static int plan_levels(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	c->levels = calloc(CPU_LEVELS + 1, sizeof *c->levels);
	if (!c->levels)
		return -ENOMEM;
	for (int i = 0; i < CPU_LEVELS; i++) {
		struct ceilings_level *level = &c->levels[c->level_count];
		if (!s->cpu.data[i].bytes)
			continue;
		snprintf(level->name, sizeof level->name, "L%d", i + 1);
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

/* Of one cache, what a thread may take when `threads` run, of which as many share it as can. */
static uint64_t bytes_per_thread(const struct ceilings_level *level, unsigned threads)
{
	unsigned sharing = threads < level->shared ? threads : level->shared;

	return level->bytes / (sharing ? sharing : 1);
}

static uint64_t memory_bytes(const struct sweep *s, unsigned threads)
{
	const struct ceilings *c = s->ceilings;
	uint64_t bytes = MIN_MEMORY;

	if (c->level_count > 1) {
		const struct ceilings_level *last = &c->levels[c->level_count - 2];
		uint64_t used = (threads + last->shared - 1) / last->shared;
		uint64_t times = s->options->quick ? QUICK_MEMORY_TIMES : MEMORY_TIMES;
		uint64_t wanted = times * last->bytes * used;
		bytes = wanted > bytes ? wanted : bytes;
	}
	uint64_t most = s->cpu.available_bytes / 4;
	return most && bytes > most ? most : bytes;
}

/* A thread's working set of a level: part/4 of what it may take; 0: there is no good size. */
static uint64_t working_set(const struct sweep *s, size_t level, unsigned threads, unsigned part)
{
	const struct ceilings *c = s->ceilings;
	const struct ceilings_level *before = level ? &c->levels[level - 1] : NULL;
	uint64_t bytes;

	if (level + 1 == c->level_count)
		bytes = memory_bytes(s, threads) / threads;
	else
		bytes = bytes_per_thread(&c->levels[level], threads) / 4 * part;
	if (before && bytes < 2 * bytes_per_thread(before, threads))
		return 0;
	return bytes;
}

static int plan_stream(struct sweep *s, const struct machine_stream *k, size_t level,
	unsigned threads, unsigned part)
{
	unsigned arrays = machine_stream_arrays(k->kind);
	uint64_t bytes = working_set(s, level, threads, part) / arrays;

	bytes -= bytes % STREAM_STEP;
	if (bytes < MIN_ARRAY)
		return 0;
	struct sweep_slot *slot = add_slot(s);
	if (!slot)
		return -ENOMEM;
	slot->stream = k;
	slot->threads = threads;
	slot->level = level;
	slot->bytes = bytes;
	slot->work = (double)bytes * arrays * threads;
	return 0;
}

static int plan_level(struct sweep *s, const struct machine_stream *k, size_t level)
{
	int memory = level + 1 == s->ceilings->level_count, rc = 0;
	unsigned first = s->options->quick || memory ? 2 : 1;
	unsigned last = s->options->quick || memory ? 2 : 3;

	for (size_t i = 0; i < s->thread_count_count; i++)
		for (unsigned part = first; part <= last && !rc; part++)
			rc = plan_stream(s, k, level, s->thread_counts[i], part);
	return rc;
}

/* Of the widths of registers the two widest: a narrower one is never faster. */
static int is_outdone(const struct machine_stream *k)
{
	unsigned wider = 0;

	for (const struct machine_stream *other = k + 1; other->run; other++)
		wider += other->kind == k->kind && other->available();
	return wider > 1;
}

int sweep_plan(struct sweep *s)
{
	int rc = plan_levels(s);

	plan_threads(s);
	if (!rc)
		rc = plan_compute(s);
	for (const struct machine_stream *k = machine_streams; k->run && !rc; k++)
		for (size_t level = 0; level < s->ceilings->level_count && !rc; level++)
			if (k->available() && !is_outdone(k))
				rc = plan_level(s, k, level);
	return rc;
}

size_t sweep_arena_bytes(const struct sweep *s, unsigned member)
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
