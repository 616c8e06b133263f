/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of sites (series.h). All but their times is made up beforehand: what they add to the
 * statistics, as sums. Recording a series reads 18 bytes a site, one behind the other, where
 * timings and sites' counts are 64, and writes 11 of a ring, three samples a record, where a sample
 * of its own is 32: between two graphs all of that has left the caches, and the ring's lines are
 * those that the consumer has read. Part of a series, and whatever is out of the ordinary, goes the
 * way of timings.
 */
#include "lib/probe/series.h"

#include <stddef.h>
#include <stdlib.h>
#include "lib/probe/ring.h"
#include "lib/probe/series_store.h"
#include "lib/device/timings.h"

enum {
	MAX_SLOTS = 64,		/* bricks of a series; with more it goes the way of timings */
	MAX_COUNT = UINT16_MAX, /* of sites; likewise */
	MAX_WORKS = 256,	/* in a run; with more, sites are looked at one by one */
	CHUNK = 64,
};

_Static_assert(BRICK_MAX_SITES <= UINT16_MAX + 1, "sites of struct brick_samples");

/* What all executions of one brick add to its statistics, and which they are. */
struct slot {
	uint32_t brick, first, count; /* of `by_slot` */
	uint64_t elements, bytes, flops;
};

/*
 * Executions that did other work than their sites say, and what those say together: they are the
 * same ones each time, and their sites, each in a line of cache of its own, are looked at once.
 */
struct known_works {
	uint32_t count, brick; /* BRICK_MAX_BRICKS: of several */
	uint64_t bytes, flops;
	uint16_t at[MAX_WORKS];
};

struct brick__series {
	uint32_t count, slot_count;
	uint64_t brick_bits; /* as timing_open_bits() has them */
	struct slot slots[MAX_SLOTS];
	struct known_works works; /* of the last run */
	uint16_t *sites;	  /* and as many 0s behind them as are read with the last one */
	uint32_t *by_slot; /* where the ticks are, those of one slot after those of the other */
};

/* The slot of a brick; MAX_SLOTS: there are too many. */
static uint32_t slot_of(struct brick__series *s, uint32_t brick)
{
	uint32_t i = 0;

	while (i < s->slot_count && s->slots[i].brick != brick)
		i++;
	if (i == s->slot_count && i < MAX_SLOTS)
		s->slots[s->slot_count++].brick = brick;
	return i;
}

static int add_site(struct brick__series *s, uint32_t index)
{
	const struct brick__site_brief *site = brick__site_brief(index);

	if (!site)
		return 0;
	uint32_t slot = slot_of(s, site->brick);
	s->sites[s->count++] = (uint16_t)index;
	s->brick_bits |= UINT64_C(1) << site->brick % 64;
	if (slot == MAX_SLOTS)
		return 1;
	s->slots[slot].count++;
	s->slots[slot].elements += site->elements;
	s->slots[slot].bytes += site->bytes;
	s->slots[slot].flops += site->flops;
	return 1;
}

/* Where the ticks of the site at a place are among the words of a run's timings. */
static uint32_t ticks_word(uint32_t place)
{
	return (uint32_t)((place * sizeof(struct brick__series_timing) +
				  offsetof(struct brick__series_timing, ticks)) /
			  sizeof(uint32_t));
}

static void sort_by_slot(struct brick__series *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->slot_count; i++) {
		s->slots[i].first = n;
		for (uint32_t k = 0; k < s->count; k++)
			if (brick__site_brief(s->sites[k])->brick == s->slots[i].brick)
				s->by_slot[n++] = ticks_word(k);
	}
}

struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count)
{
	struct brick__series *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->sites = calloc((size_t)count + sizeof(uint64_t), sizeof *s->sites);
	s->by_slot = calloc((size_t)count + 1, sizeof *s->by_slot);
	int whole = s->sites && s->by_slot;
	while (whole && s->count < count)
		whole = add_site(s, sites[s->count]);
	if (whole) {
		sort_by_slot(s);
		return s;
	}
	brick__series_free(s);
	return NULL;
}

void brick__series_free(struct brick__series *s)
{
	if (!s)
		return;
	free(s->sites);
	free(s->by_slot);
	free(s);
}

/* ---- as timings ---- */

static void record_chunk(const struct brick_timing *timings, uint32_t count, uint32_t before,
	const struct brick_timing_work *given, uint32_t work_count)
{
	struct brick_timing_work works[CHUNK];

	for (uint32_t i = 0; i < work_count; i++) {
		works[i] = given[i];
		works[i].timing -= before;
	}
	brick_record_timings_work(timings, count, works, work_count);
}

/* A node ends less than 2^32 ticks behind its begin, and the next begins as soon behind that. */
static uint64_t record_as_timings(
	const struct brick__series *s, const struct brick__series_run *run)
{
	struct brick_timing timings[CHUNK];
	uint64_t begin = run->begin, sum = 0;
	uint32_t n = 0, work = 0;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct brick__series_timing *t = &run->timings[i];
		begin += t->begin - (uint32_t)begin;
		timings[n++] =
			(struct brick_timing){begin, t->ticks, 0, 0, s->sites[run->first + i], 0};
		begin += t->ticks;
		sum += t->ticks;
		if (n < CHUNK && i + 1 < run->count)
			continue;
		uint32_t from = work;
		while (work < run->work_count && run->works[work].timing <= i)
			work++;
		record_chunk(timings, n, i + 1 - n, run->works + from, work - from);
		n = 0;
	}
	return sum;
}

/* ---- a whole one ---- */

/*
 * Hardly any is shorter or longer than all before: a branch that is foretold, where choosing the
 * lesser of two would wait for the last choice.
 */
static uint64_t count_slot(struct brick_stat *stat, const struct slot *slot,
	const uint32_t *restrict places, const uint32_t *restrict words)
{
	uint64_t min = stat->count ? stat->min : words[places[0]];
	uint64_t span = stat->count ? stat->max - min : 0, sum = 0, less = 0 - min;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < slot->count; i++) {
		uint64_t ticks = words[places[i]];
		sum += ticks;
		if (BRICK_UNLIKELY(ticks + less > span)) {
			uint64_t max = ticks < min ? min + span : ticks;
			min = ticks < min ? ticks : min;
			span = max - min;
			less = 0 - min;
		}
	}
	stat->count += slot->count;
	stat->total += sum;
	stat->self += sum;
	stat->min = min;
	stat->max = min + span;
	stat->elements += slot->elements;
	stat->bytes += slot->bytes;
	stat->flops += slot->flops;
	return sum;
}

static uint64_t count(struct brick_lane *lane, const struct brick__series *s,
	const struct brick__series_timing *timings)
{
	const uint32_t *words = (const uint32_t *)timings;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->slot_count; i++)
		sum += count_slot(&lane->stats[s->slots[i].brick], &s->slots[i],
			s->by_slot + s->slots[i].first, words);
	if (lane->depth)
		lane->frames[lane->depth - 1].child += sum;
	return sum;
}

/* What count_slot() touches. */
static inline void expect_stat(const struct brick_stat *stat)
{
	__builtin_prefetch(stat, 1);
	__builtin_prefetch(&stat->flops, 1);
}

static const struct brick__site_brief *site_of(
	const struct brick__series *s, const struct brick_timing_work *work)
{
	return brick__site_brief(s->sites[work->timing]);
}

static void learn_works(struct brick__series *s, const struct brick__series_run *run)
{
	struct known_works *known = &s->works;

	*known = (struct known_works){.count = run->work_count,
		.brick = run->work_count > MAX_WORKS ? BRICK_MAX_BRICKS
						     : site_of(s, run->works)->brick};
	for (uint32_t i = 0; i < run->work_count && known->brick != BRICK_MAX_BRICKS; i++) {
		const struct brick__site_brief *site = site_of(s, &run->works[i]);
		known->at[i] = (uint16_t)run->works[i].timing;
		known->bytes += site->bytes;
		known->flops += site->flops;
		if (site->brick != known->brick)
			known->brick = BRICK_MAX_BRICKS;
	}
}

/* Their sum is what all sites of the last run are to be left out for. */
static int sum_works(const struct known_works *known, const struct brick__series_run *run,
	struct brick_timing_work *sum)
{
	int same = known->count == run->work_count && known->brick != BRICK_MAX_BRICKS;

	for (uint32_t i = 0; i < run->work_count && same; i++) {
		const struct brick_timing_work *work = &run->works[i];
		same = known->at[i] == work->timing && timing_has_work(work);
		sum->bytes += work->bytes;
		sum->flops += work->flops;
	}
	return same;
}

static void count_works(
	struct brick_lane *lane, struct brick__series *s, const struct brick__series_run *run)
{
	const struct brick__site_brief all = {.bytes = s->works.bytes, .flops = s->works.flops};
	struct brick_timing_work sum = {0};

	if (sum_works(&s->works, run, &sum)) {
		timing_count_work(&lane->stats[s->works.brick], &all, &sum);
		return;
	}
	for (uint32_t i = 0; i < run->work_count; i++) {
		const struct brick__site_brief *site = site_of(s, &run->works[i]);
		if (timing_has_work(&run->works[i]))
			timing_count_work(&lane->stats[site->brick], site, &run->works[i]);
	}
	learn_works(s, run);
}

static uint64_t record_whole(
	struct brick__thread *self, struct brick__series *s, const struct brick__series_run *run)
{
	brick__series_store_expect(self);
	for (uint32_t i = 0; i < s->slot_count; i++)
		expect_stat(&self->lane->stats[s->slots[i].brick]);
	uint64_t sum = count(self->lane, s, run->timings);
	if (run->work_count)
		count_works(self->lane, s, run);
	brick__series_store(self, run, s->sites);
	return sum;
}

static int is_any_open(const struct brick_lane *lane, const struct brick__series *s)
{
	uint32_t slots = timing_open_bits(lane) & s->brick_bits ? s->slot_count : 0;

	for (uint32_t i = 0; i < slots; i++)
		if (timing_is_open(lane, s->slots[i].brick))
			return 1;
	return 0;
}

/* Has the thread a lane with room for all of it, and is none of its bricks recursive? */
static int is_ordinary(struct brick__thread *self, const struct brick__series *s,
	const struct brick__series_run *run)
{
	if (!brick_enabled() || !lane_is_current(self) ||
		!ring_has(self->lane, (uint64_t)BRICK_MAX_DEPTH + run->count + run->work_count))
		return 0;
	open_parents(self);
	return !is_any_open(self->lane, s);
}

uint64_t brick__series_record(struct brick__series *s, const struct brick__series_run *run)
{
	struct brick__thread *self = &brick__thread;

	if (run->first || run->count != s->count || run->count > MAX_COUNT ||
		(run->last - run->begin) >> 32 || s->slot_count == MAX_SLOTS ||
		!is_ordinary(self, s, run))
		return record_as_timings(s, run);
	return record_whole(self, s, run);
}
