/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of sites (series.h). All but their times is made up beforehand: what they add to the
 * statistics, as sums. Recording a series reads 16 bytes a site, one behind the other, where
 * timings and sites' counts are 64, and writes 11 of a ring, three samples a record, where a sample
 * of its own is 32: between two graphs all of that has left the caches, and the ring's lines are
 * those that the consumer has read. Part of a series, and whatever is out of the ordinary, goes the
 * way of timings.
 */
#include "lib/series.h"

#include <stdlib.h>
#include "lib/ring.h"
#include "lib/timings.h"

enum {
	MAX_SLOTS = 64,		/* bricks of a series; with more it goes the way of timings */
	MAX_COUNT = UINT16_MAX, /* of sites; likewise */
	CHUNK = 64,
	AHEAD = 16,
	AT_ONCE = 3 * CHUNK, /* sites whose records become visible together: drain/peek.c */
};

_Static_assert(BRICK_MAX_SITES <= UINT16_MAX + 1, "sites of struct brick_samples");

/* What all executions of one brick add to its statistics, and which they are. */
struct slot {
	uint32_t brick, first, count; /* of `by_slot` */
	uint64_t elements, bytes, flops;
};

struct brick__series {
	uint32_t count, slot_count;
	struct slot slots[MAX_SLOTS];
	uint16_t *sites;   /* and as many 0s behind them as are read with the last one */
	uint16_t *by_slot; /* places, those of one slot after those of the other */
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
			if (brick__site_brief(s->sites[k])->brick == s->slots[i].brick)
				s->by_slot[n++] = (uint16_t)k;
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

static uint64_t count_slot(struct brick_stat *stat, const struct slot *slot,
	const uint16_t *restrict places, const struct brick__series_timing *restrict timings)
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

/* The record of `count` of them; words, one by one: what is put together elsewhere is loaded late.
 */
static inline __attribute__((always_inline)) void store_samples(struct brick_record *record,
	uint64_t begin, const struct brick__series_timing *t, const uint16_t *sites, uint32_t count)
{
	uint64_t three, gap1 = count > 1 ? t[1].begin - t[0].begin - t[0].ticks : 0,
			gap2 = count > 2 ? t[2].begin - t[1].begin - t[1].ticks : 0;

	memcpy(&three, sites, sizeof three);
	const uint64_t of_sites = three << 16 & UINT64_MAX >> (3 - count) * 16;
	const uint64_t words[] = {begin, t[0].ticks | (count > 1 ? (uint64_t)t[1].ticks << 32 : 0),
		of_sites | BRICK_SOURCE_TSC << 8 | BRICK_RECORD_SAMPLES,
		(count > 2 ? t[2].ticks : 0) | gap1 << 32 | gap2 << 48};
	for (uint32_t i = 0; i < 4; i++)
		__atomic_store_n((uint64_t *)record + i, words[i], __ATOMIC_RELAXED);
}

/* Does the second of them begin soon enough for one record? */
static inline int is_near(const struct brick__series_timing *t)
{
	return t[1].begin - t[0].begin - t[0].ticks <= UINT16_MAX;
}

/* The sites from `first` up to `end`; what they are in is held in registers. */
static uint64_t store(const struct brick__thread *self, uint64_t head,
	const struct brick__series *s, const struct brick__series_run *run, uint32_t first,
	uint32_t end)
{
	const struct brick__series_timing *restrict timings = run->timings;
	const uint16_t *restrict sites = s->sites;
	struct brick_record *restrict ring = self->ring;
	const uint64_t mask = self->mask, begin = run->begin;

	for (uint32_t i = first; i < end; head++) {
		const struct brick__series_timing *t = &timings[i];
		struct brick_record *record = &ring[head & mask];
		uint64_t now = begin + (t->begin - (uint32_t)begin);
		__builtin_prefetch(&ring[(head + AHEAD) & mask], 1);
		if (BRICK_LIKELY(i + 2 < end && is_near(t) && is_near(t + 1))) {
			store_samples(record, now, t, sites + i, 3);
			i += 3;
		} else if (i + 1 < end && is_near(t)) {
			store_samples(record, now, t, sites + i, 2);
			i += 2;
		} else {
			store_samples(record, now, t, sites + i, 1);
			i++;
		}
	}
	return head;
}

/* What is stored is complete before it is covered by the head. */
static void publish(struct brick_lane *lane, uint64_t head)
{
	__atomic_store_n(&lane->head, head, __ATOMIC_RELEASE);
}

/* What count_slot() touches. */
static inline void expect_stat(const struct brick_stat *stat)
{
	__builtin_prefetch(stat, 1);
	__builtin_prefetch(&stat->flops, 1);
}

static uint64_t record_whole(struct brick__thread *self, const struct brick__series *s,
	const struct brick__series_run *run)
{
	const struct brick_timing_work *work = run->works, *works_end = work + run->work_count;
	uint64_t head = self->lane->head;

	for (uint32_t i = 0; i < AHEAD; i += 2)
		__builtin_prefetch(&self->ring[(head + i) & self->mask], 1);
	for (uint32_t i = 0; i < s->slot_count; i++)
		expect_stat(&self->lane->stats[s->slots[i].brick]);
	for (uint32_t i = 0; i < run->work_count; i++)
		__builtin_prefetch(brick__site_brief(s->sites[run->works[i].timing]));
	uint64_t sum = count(self->lane, s, run->timings);
	for (uint32_t done = 0, end; done < s->count; done = end) {
		end = s->count - done < AT_ONCE ? s->count : done + AT_ONCE;
		if (work < works_end && work->timing < end)
			end = work->timing + 1;
		head = store(self, head, s, run, done, end);
		if (work < works_end && work->timing + 1 == end) {
			head += timing_store_work(
				self, head, brick__site_brief(s->sites[end - 1]), work);
			work++;
		}
		publish(self->lane, head);
	}
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

	if (run->first || run->count != s->count || run->count > MAX_COUNT ||
		(run->last - run->begin) >> 32 || s->slot_count == MAX_SLOTS ||
		!is_ordinary(self, s, run))
		return record_as_timings(s, run);
	return record_whole(self, s, run);
}
