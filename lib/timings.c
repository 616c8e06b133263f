/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many samples at once, for interposers that collect while the engine computes and record when it
 * has done. What they touch has gone cold by then, so it is all asked for before it is used. Does
 * what brick_record_sample() does, and leaves to it whatever is out of the ordinary.
 */
#include <string.h>
#include "brick/attach.h"
#include "lib/registry.h"
#include "lib/thread.h"

enum {
	BATCH = 128,
	AHEAD = 16, /* timings between asking for what one touches, and touching it */
};

/* What is still to be recorded. */
struct rest {
	const struct brick_timing *timings;
	uint32_t count, first; /* how many, and which of all the first one is */
	const struct brick_timing_work *works;
	uint32_t work_count;
};

static void record_one(struct rest *r)
{
	const struct brick_timing *t = r->timings;
	const struct brick_sample sample = {
		.begin = t->begin,
		.end = t->begin + t->ticks,
		.wait = t->wait,
		.inner = t->inner,
		.site = t->site,
		.source = BRICK_SOURCE_TSC,
	};

	if (r->work_count && r->works->timing == r->first) {
		brick_record_sample_work(&sample, r->works->bytes, r->works->flops);
		r->works++;
		r->work_count--;
	} else {
		brick_record_sample(&sample);
	}
	r->timings++;
	r->first++;
	r->count--;
}

/* Has the thread a lane with room for so many records, and are its open bricks in the ring? */
static int is_ordinary(const struct brick__thread *self, uint64_t count)
{
	const struct brick_lane *lane = self->lane;

	return brick_enabled() && self->serial == __atomic_load_n(&brick__on, __ATOMIC_RELAXED) &&
	       lane->head + count <= lane->limit &&
	       (!lane->depth || (lane->frames[lane->depth - 1].flags & BRICK_FRAME_OPENED));
}

/* A bit for each open brick; others may have the same one. */
static uint64_t open_bits(const struct brick_lane *lane)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < lane->depth; i++)
		bits |= UINT64_C(1) << lane->frames[i].brick % 64;
	return bits;
}

static int is_open(const struct brick_lane *lane, uint32_t brick)
{
	for (uint32_t i = 0; i < lane->depth; i++)
		if (lane->frames[i].brick == brick)
			return 1;
	return 0;
}

static inline void count_length(struct brick_stat *stat, uint64_t ticks, uint64_t self_ticks)
{
	stat->count++;
	stat->total += ticks;
	stat->self += self_ticks;
	stat->min = ticks < stat->min ? ticks : stat->min;
	stat->max = ticks > stat->max ? ticks : stat->max;
}

static inline void count_timing(
	struct brick_lane *lane, const struct brick__site_brief *site, const struct brick_timing *t)
{
	struct brick_stat *stat = &lane->stats[site->brick];

	count_length(stat, t->ticks, t->ticks - t->inner);
	stat->wait += (uint64_t)t->wait + t->inner;
	stat->elements += site->elements;
	stat->bytes += site->bytes;
	stat->flops += site->flops;
	if (t->wait)
		count_length(&lane->stats[BRICK_BARRIER_WAIT], t->wait, t->wait);
	if (t->inner)
		count_length(&lane->stats[BRICK_BARRIER_WAIT], t->inner, t->inner);
}

static inline void store_timing(struct brick_record *record, const struct brick__site_brief *site,
	const struct brick_timing *t)
{
	uint64_t kind = BRICK_RECORD_SAMPLE | (uint64_t)BRICK_SOURCE_TSC << 8 |
			(uint64_t)site->brick << 16 | (uint64_t)(uint16_t)site->layer << 32 |
			(uint64_t)BRICK_FLAG_SITE << 48;

	record->begin = t->begin;
	record->ticks = t->ticks;
	record->wait = t->wait;
	memcpy(&record->kind, &kind, sizeof kind);
	record->site = t->site;
	record->inner = t->inner;
}

/* The one before did other work than its site says. Returns how many records that takes. */
static uint32_t store_work(struct brick__thread *self, uint64_t head,
	const struct brick__site_brief *site, const struct brick_timing_work *work)
{
	struct brick_stat *stat = &self->lane->stats[site->brick];

	if (!(work->bytes | work->flops))
		return 0;
	stat->bytes += work->bytes - site->bytes;
	stat->flops += work->flops - site->flops;
	self->ring[head & self->mask] = (struct brick_record){
		.begin = work->bytes, .kind = BRICK_RECORD_WORK, .elements = work->flops};
	return 1;
}

static inline void expect(const struct brick__thread *self, uint64_t head, uint32_t site)
{
	__builtin_prefetch(brick__site_brief(site));
	__builtin_prefetch(&self->ring[head & self->mask], 1);
}

/* So many of them, or those before the first one that is out of the ordinary. */
static void record_batch(struct brick__thread *self, struct rest *r, uint32_t count)
{
	struct brick_lane *lane = self->lane;
	uint64_t head = lane->head, child = 0, open = open_bits(lane);

	for (uint32_t i = 0; i < r->count && i < AHEAD; i++)
		expect(self, head + i, r->timings[i].site);
	for (; count; count--, r->timings++, r->first++, r->count--) {
		const struct brick_timing *t = r->timings;
		const struct brick__site_brief *site = brick__site_brief(t->site);
		if (!site || t->inner > t->ticks ||
			((open >> site->brick % 64 & 1) && is_open(lane, site->brick)))
			break;
		if (r->count > AHEAD)
			expect(self, head + AHEAD, t[AHEAD].site);
		count_timing(lane, site, t);
		store_timing(&self->ring[head++ & self->mask], site, t);
		if (r->work_count && r->works->timing == r->first) {
			head += store_work(self, head, site, r->works++);
			r->work_count--;
		}
		child += (uint64_t)t->ticks + t->wait;
	}
	if (lane->depth)
		lane->frames[lane->depth - 1].child += child;
	__atomic_store_n(&lane->head, head, __ATOMIC_RELEASE);
}

void brick_record_timings_work(const struct brick_timing *timings, uint32_t count,
	const struct brick_timing_work *works, uint32_t work_count)
{
	struct rest rest = {timings, count, 0, works, work_count};

	while (rest.count) {
		uint32_t batch = rest.count < BATCH ? rest.count : BATCH, before = rest.count;
		uint32_t with_work = work_count < batch ? work_count : batch;

		if (is_ordinary(&brick__thread, (uint64_t)batch + with_work))
			record_batch(&brick__thread, &rest, batch);
		if (rest.count + batch != before)
			record_one(&rest);
	}
}

void brick_record_timings(const struct brick_timing *timings, uint32_t count)
{
	brick_record_timings_work(timings, count, NULL, 0);
}
