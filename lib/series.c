/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of sites (series.h). All but their times is made up beforehand: what they add to the
 * statistics, as sums, and what a record of each says. Recording a series reads 36 bytes a site,
 * one behind the other, where timings and sites' counts are 64, and between two graphs all of that
 * has left the caches. Part of a series, and whatever is out of the ordinary, goes the way of
 * timings.
 */
#include "lib/series.h"

#include <stdlib.h>
#include "lib/ring.h"
#include "lib/timings.h"

enum {
	MAX_SLOTS = 64, /* bricks of a series; with more it goes the way of timings */
	CHUNK = 64,
	AHEAD = 16,
};

/* The second half of a site's record, as it stands there. */
struct place {
	uint64_t kind;
	uint32_t site, inner;
};

/* What all executions of one brick add to its statistics, and which they are. */
struct slot {
	uint32_t brick, first, count; /* of `by_slot` */
	uint64_t elements, bytes, flops;
};

struct brick__series {
	uint32_t count, slot_count;
	struct slot slots[MAX_SLOTS];
	struct place *places;
	uint32_t *by_slot; /* places, those of one slot after those of the other */
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
	s->places[s->count++] = (struct place){timing_kind(site->brick, site->layer), index, 0};
	if (slot == MAX_SLOTS)
		return 1;
	s->slots[slot].count++;
	s->slots[slot].elements += site->elements;
	s->slots[slot].bytes += site->bytes;
	s->slots[slot].flops += site->flops;
	return 1;
}

static void sort_by_slot(struct brick__series *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->slot_count; i++) {
		s->slots[i].first = n;
		for (uint32_t k = 0; k < s->count; k++)
			if (brick__site_brief(s->places[k].site)->brick == s->slots[i].brick)
				s->by_slot[n++] = k;
	}
}

struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count)
{
	struct brick__series *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->places = calloc((size_t)count + 1, sizeof *s->places);
	s->by_slot = calloc((size_t)count + 1, sizeof *s->by_slot);
	int whole = s->places && s->by_slot;
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
	free(s->places);
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
		timings[n++] = (struct brick_timing){
			begin, t->ticks, 0, 0, s->places[run->first + i].site, 0};
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

static uint64_t count_slot(struct brick_stat *stat, const struct slot *slot,
	const uint32_t *restrict places, const struct brick__series_timing *restrict timings)
{
	uint32_t min = UINT32_MAX, max = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < slot->count; i++) {
		uint32_t ticks = timings[places[i]].ticks;
		sum += ticks;
		min = ticks < min ? ticks : min;
		max = ticks > max ? ticks : max;
	}
	stat->count += slot->count;
	stat->total += sum;
	stat->self += sum;
	stat->min = min < stat->min ? min : stat->min;
	stat->max = max > stat->max ? max : stat->max;
	stat->elements += slot->elements;
	stat->bytes += slot->bytes;
	stat->flops += slot->flops;
	return sum;
}

static uint64_t count(struct brick_lane *lane, const struct brick__series *s,
	const struct brick__series_timing *timings)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->slot_count; i++)
		sum += count_slot(&lane->stats[s->slots[i].brick], &s->slots[i],
			s->by_slot + s->slots[i].first, timings);
	if (lane->depth)
		lane->frames[lane->depth - 1].child += sum;
	return sum;
}

/* The sites from `first` up to `end`; what they are in is held in registers. */
static uint64_t store(const struct brick__thread *self, uint64_t head,
	const struct brick__series *s, const struct brick__series_run *run, uint32_t first,
	uint32_t end)
{
	const struct brick__series_timing *restrict timings = run->timings;
	const struct place *restrict places = s->places;
	struct brick_record *restrict ring = self->ring;
	const uint64_t mask = self->mask, begin = run->begin;

	for (uint32_t i = first; i < end; i++, head++) {
		struct brick_record *record = &ring[head & mask];
		uint64_t ticks = timings[i].ticks; /* and no wait */
		__builtin_prefetch(&ring[(head + AHEAD) & mask], 1);
		record->begin = begin + (timings[i].begin - (uint32_t)begin);
		memcpy(&record->ticks, &ticks, sizeof ticks);
		memcpy(&record->kind, &places[i], sizeof places[i]);
	}
	return head;
}

static uint64_t record_whole(struct brick__thread *self, const struct brick__series *s,
	const struct brick__series_run *run)
{
	uint64_t head = self->lane->head;
	uint32_t done = 0;

	for (uint32_t i = 0; i < AHEAD; i += 2)
		__builtin_prefetch(&self->ring[(head + i) & self->mask], 1);
	uint64_t sum = count(self->lane, s, run->timings);
	for (uint32_t i = 0; i < run->work_count; i++) {
		const struct brick_timing_work *work = &run->works[i];
		head = store(self, head, s, run, done, work->timing + 1);
		done = work->timing + 1;
		head += timing_store_work(
			self, head, brick__site_brief(s->places[work->timing].site), work);
	}
	head = store(self, head, s, run, done, s->count);
	__atomic_store_n(&self->lane->head, head, __ATOMIC_RELEASE);
	return sum;
}

static int is_any_open(const struct brick_lane *lane, const struct brick__series *s)
{
	uint64_t open = timing_open_bits(lane);

	for (uint32_t i = 0; i < s->slot_count; i++)
		if ((open >> s->slots[i].brick % 64 & 1) && timing_is_open(lane, s->slots[i].brick))
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

uint64_t brick__series_record(const struct brick__series *s, const struct brick__series_run *run)
{
	struct brick__thread *self = &brick__thread;

	if (run->first || run->count != s->count || (run->last - run->begin) >> 32 ||
		s->slot_count == MAX_SLOTS || !is_ordinary(self, s, run))
		return record_as_timings(s, run);
	return record_whole(self, s, run);
}
