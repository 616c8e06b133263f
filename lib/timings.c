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

enum { BATCH = 128 };

static void record_one(const struct brick_timing *t)
{
	const struct brick_sample sample = {
		.begin = t->begin,
		.end = t->begin + t->ticks,
		.wait = t->wait,
		.inner = t->inner,
		.site = t->site,
		.source = BRICK_SOURCE_TSC,
	};

	brick_record_sample(&sample);
}

/* Has the thread a lane with room for so many records, and are its open bricks in the ring? */
static int is_ordinary(const struct brick__thread *self, uint32_t count)
{
	const struct brick_lane *lane = self->lane;

	return brick_enabled() && self->serial == __atomic_load_n(&brick__on, __ATOMIC_RELAXED) &&
	       lane->head + count <= lane->limit &&
	       (!lane->depth || (lane->frames[lane->depth - 1].flags & BRICK_FRAME_OPENED));
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

static inline void count_timing(struct brick_lane *lane, const struct brick_session_site *site,
	const struct brick_timing *t)
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

static inline void store_timing(struct brick_record *record, const struct brick_session_site *site,
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

/* At most BATCH of them. Returns how many there were before one that is out of the ordinary. */
static uint32_t record_batch(
	struct brick__thread *self, const struct brick_timing *timings, uint32_t count)
{
	const struct brick_session_site *sites[BATCH];
	struct brick_lane *lane = self->lane;
	uint64_t head = lane->head, child = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		sites[i] = brick__site(timings[i].site);
		if (sites[i])
			__builtin_prefetch(sites[i]);
		__builtin_prefetch(&self->ring[(head + i) & self->mask], 1);
	}
	for (i = 0; i < count; i++) {
		const struct brick_timing *t = &timings[i];
		if (!sites[i] || t->inner > t->ticks || is_open(lane, sites[i]->brick))
			break;
		count_timing(lane, sites[i], t);
		store_timing(&self->ring[(head + i) & self->mask], sites[i], t);
		child += (uint64_t)t->ticks + t->wait;
	}
	if (lane->depth)
		lane->frames[lane->depth - 1].child += child;
	__atomic_store_n(&lane->head, head + i, __ATOMIC_RELEASE);
	return i;
}

void brick_record_timings(const struct brick_timing *timings, uint32_t count)
{
	struct brick__thread *self = &brick__thread;

	for (uint32_t done = 0; done < count;) {
		uint32_t batch = count - done < BATCH ? count - done : BATCH;
		uint32_t recorded = 0;

		if (is_ordinary(self, batch))
			recorded = record_batch(self, timings + done, batch);
		done += recorded;
		if (recorded < batch)
			record_one(&timings[done++]);
	}
}
