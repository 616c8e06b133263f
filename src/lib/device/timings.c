/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many samples at once, for interposers that collect while the engine computes and record when it
 * has done. What they touch has gone cold by then, so it is all asked for before it is used. Does
 * what brick_record_sample() does, and leaves to it whatever is out of the ordinary.
 */
#include "lib/device/timings.h"

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

static inline void count_timing(
	struct brick_lane *lane, const struct brick__site_brief *site, const struct brick_timing *t)
{
	struct brick_stat *stat = &lane->stats[site->brick];

	timing_count(stat, t->ticks, t->ticks - t->inner);
	stat->wait += (uint64_t)t->wait + t->inner;
	stat->elements += site->elements;
	stat->bytes += site->bytes;
	stat->flops += site->flops;
	if (t->wait)
		timing_count(&lane->stats[BRICK_BARRIER_WAIT], t->wait, t->wait);
	if (t->inner)
		timing_count(&lane->stats[BRICK_BARRIER_WAIT], t->inner, t->inner);
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
	uint64_t head = lane->head, child = 0, open = timing_open_bits(lane);

	for (uint32_t i = 0; i < r->count && i < AHEAD; i++)
		expect(self, head + i, r->timings[i].site);
	for (; count; count--, r->timings++, r->first++, r->count--) {
		const struct brick_timing *t = r->timings;
		const struct brick__site_brief *site = brick__site_brief(t->site);
		if (!site || t->inner > t->ticks ||
			((open >> site->brick % 64 & 1) && timing_is_open(lane, site->brick)))
			break;
		if (r->count > AHEAD)
			expect(self, head + AHEAD, t[AHEAD].site);
		count_timing(lane, site, t);
		timing_store(&self->ring[head++ & self->mask],
			timing_kind(site->brick, site->layer), t->begin, t->ticks, t->wait, t->site,
			t->inner);
		if (r->work_count && r->works->timing == r->first) {
			head += timing_store_work(self, head, site, r->works++);
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

		if (timing_is_ordinary(&brick__thread, (uint64_t)batch + with_work))
			record_batch(&brick__thread, &rest, batch);
		if (rest.count + batch != before)
			record_one(&rest);
	}
}

void brick_record_timings(const struct brick_timing *timings, uint32_t count)
{
	brick_record_timings_work(timings, count, NULL, 0);
}
