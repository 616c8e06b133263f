/* SPDX-License-Identifier: Apache-2.0 */
/* What batches of samples have in common (timings.c, series.c). Owner of the lane. */
#pragma once

#include <string.h>
#include "brick/attach.h"
#include "lib/probe/registry_tables.h"
#include "lib/session/thread.h"

/* Has the thread a lane with room for so many records, and are its open bricks in the ring? */
static inline int timing_is_ordinary(const struct brick__thread *self, uint64_t count)
{
	const struct brick_lane *lane = self->lane;

	return brick_enabled() && self->serial == __atomic_load_n(&brick__on, __ATOMIC_RELAXED) &&
	       lane->head + count <= lane->limit &&
	       (!lane->depth || (lane->frames[lane->depth - 1].flags & BRICK_FRAME_OPENED));
}

/* A bit for each open brick; others may have the same one. */
static inline uint64_t timing_open_bits(const struct brick_lane *lane)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < lane->depth; i++)
		bits |= UINT64_C(1) << lane->frames[i].brick % 64;
	return bits;
}

static inline int timing_is_open(const struct brick_lane *lane, uint32_t brick)
{
	for (uint32_t i = 0; i < lane->depth; i++)
		if (lane->frames[i].brick == brick)
			return 1;
	return 0;
}

static inline void timing_count(struct brick_stat *stat, uint64_t ticks, uint64_t self_ticks)
{
	stat->count++;
	stat->total += ticks;
	stat->self += self_ticks;
	stat->min = ticks < stat->min ? ticks : stat->min;
	stat->max = ticks > stat->max ? ticks : stat->max;
}

/* The eight bytes of a sample's record from `kind` on. */
static inline uint64_t timing_kind(uint16_t brick, int16_t layer)
{
	return BRICK_RECORD_SAMPLE | (uint64_t)BRICK_SOURCE_TSC << 8 | (uint64_t)brick << 16 |
	       (uint64_t)(uint16_t)layer << 32 | (uint64_t)BRICK_FLAG_SITE << 48;
}

static inline void timing_store(struct brick_record *record, uint64_t kind, uint64_t begin,
	uint32_t ticks, uint32_t wait, uint32_t site, uint32_t inner)
{
	record->begin = begin;
	record->ticks = ticks;
	record->wait = wait;
	memcpy(&record->kind, &kind, sizeof kind);
	record->site = site;
	record->inner = inner;
}

static inline int timing_has_work(const struct brick_timing_work *work)
{
	return (work->bytes | work->flops) != 0;
}

/* The one before did other work than its site says. */
static inline void timing_count_work(struct brick_stat *stat, const struct brick__site_brief *site,
	const struct brick_timing_work *work)
{
	stat->bytes += work->bytes - site->bytes;
	stat->flops += work->flops - site->flops;
}

static inline void timing_write_work(
	struct brick_record *record, const struct brick_timing_work *work)
{
	*record = (struct brick_record){
		.begin = work->bytes, .kind = BRICK_RECORD_WORK, .elements = work->flops};
}

/* Of those whose bits are set of the samples that are stored next. */
static inline void timing_write_work_ahead(
	struct brick_record *record, const struct brick_timing_work *work, uint64_t samples)
{
	*record = (struct brick_record){.begin = work->bytes,
		.ticks = (uint32_t)samples,
		.wait = (uint32_t)(samples >> 32),
		.kind = BRICK_RECORD_WORK_AHEAD,
		.elements = work->flops};
}

/* Both. Returns how many records that takes. */
static inline uint32_t timing_store_work(struct brick__thread *self, uint64_t head,
	const struct brick__site_brief *site, const struct brick_timing_work *work)
{
	if (!timing_has_work(work))
		return 0;
	timing_count_work(&self->lane->stats[site->brick], site, work);
	timing_write_work(&self->ring[head & self->mask], work);
	return 1;
}
