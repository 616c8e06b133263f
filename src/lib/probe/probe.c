/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: begin and end of a brick. The fast half reads the clock, keeps the thread's stack
 * of open bricks, updates one statistics entry and stores one record; every other case (no lane
 * yet, ring full, unbalanced ends, long or recursive bricks) goes to a slow half that is out of
 * line. Invariants: records of a lane are in begin order; a CLOSE always finds room, because
 * ordinary records leave 2 x BRICK_MAX_DEPTH entries of the ring free for them.
 */
#include "brick/probe.h"

#include <stdbool.h>
#include <string.h>
#include "lib/session/session_lanes.h"
#include "lib/probe/probe_frames.h"
#include "lib/probe/registry_tables.h"
#include "lib/probe/ring.h"
#include "lib/sys/ticks.h"

void (*brick__step_ended)(void);

/* What an end says of the execution. */
struct work {
	uint64_t elements, bytes, flops;
	uint32_t site;
	uint16_t flags;
};

/* The eight bytes of a frame from `kind` on, composed in a register. */
static inline uint64_t frame_word(uint32_t brick, uint32_t layer)
{
	return (uint64_t)BRICK_RECORD_SAMPLE | (uint64_t)BRICK_SOURCE_TSC << 8 |
	       (uint64_t)brick << 16 | (uint64_t)(layer & 0xffff) << 32;
}

static inline __attribute__((always_inline)) brick_span push(
	struct brick__thread *self, uint32_t brick, uint32_t layer)
{
	struct brick_lane *lane = self->lane;
	uint32_t depth = lane->depth;
	struct brick_frame *frame = &lane->frames[depth];
	uint64_t word = frame_word(brick, layer);

	memcpy(&frame->kind, &word, sizeof(word));
	frame->child = 0;
	lane->depth = depth + 1;
	frame->begin = brick__now();
	return self->tag | (depth + 1);
}

/* The first brick of a thread, one in another that is not in the ring yet, or one too many. */
static SLOW brick_span begin_slow(uint32_t brick, int32_t layer, int given)
{
	struct brick__thread *self = thread_here();

	if (!self)
		return 0;
	struct brick_lane *lane = self->lane;
	if (brick >= BRICK_MAX_BRICKS) {
		lane->ledger.unmatched++;
		return 0;
	}
	if (lane->depth >= BRICK_MAX_DEPTH) {
		lane->ledger.too_deep++;
		return 0;
	}
	open_parents(self);
	return push(self, brick, given ? (uint32_t)layer : lane->default_layer - 1);
}

static inline __attribute__((always_inline)) brick_span begin(
	uint32_t brick, int32_t layer, int given)
{
	struct brick__thread *self = &brick__thread;

	if (BRICK_UNLIKELY(!lane_is_current(self) || brick >= BRICK_MAX_BRICKS))
		return begin_slow(brick, layer, given);
	struct brick_lane *lane = self->lane;
	uint32_t depth = lane->depth;
	if (depth && BRICK_UNLIKELY(depth >= BRICK_MAX_DEPTH ||
				    !(lane->frames[depth - 1].flags & BRICK_FRAME_OPENED)))
		return begin_slow(brick, layer, given);
	return push(self, brick, given ? (uint32_t)layer : lane->default_layer - 1);
}

brick_span brick__begin(uint32_t brick)
{
	return begin(brick, 0, 0);
}

brick_span brick__begin_layer(uint32_t brick, int layer)
{
	return begin(brick, layer, 1);
}

static SLOW void write_work(struct brick__thread *self, const struct work *work)
{
	struct brick_record *record = ring_at(self, self->lane->head);
	const uint64_t word = BRICK_RECORD_WORK;

	record->begin = work->bytes;
	record->ticks = 0;
	record->wait = 0;
	memcpy(&record->kind, &word, sizeof(word)); /* no source, brick, layer or flags */
	record->elements = work->flops;
	ring_publish(self->lane, 1);
}

/* The end of a brick whose OPEN is out. */
static SLOW void write_close(struct brick__thread *self, struct brick_frame *frame, uint64_t end,
	const struct work *work, uint16_t flags)
{
	struct brick_lane *lane = self->lane;
	uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);

	if ((frame->flags & BRICK_FRAME_DROPPED) || lane->head - tail + 2 > lane->capacity) {
		brick__ring_drop(lane, frame->brick, end - frame->begin);
		return;
	}
	struct brick_record *record = ring_at(self, lane->head);
	record->begin = end;
	record->ticks = 0;
	record->wait = 0;
	memcpy(&record->kind, &frame->kind, sizeof(uint64_t)); /* source, brick and layer stay */
	record->kind = BRICK_RECORD_CLOSE;
	record->flags = flags | work->flags;
	record->elements = work->site ? work->site : work->elements;
	ring_publish(lane, 1);
	if (work->bytes | work->flops)
		write_work(self, work);
	if (frame->flags & BRICK_FRAME_WAITED)
		brick__ring_waited(self, frame, end);
}

/* A brick without others inside becomes one record. The caller has made sure of room. */
static inline __attribute__((always_inline)) void store_sample(struct brick__thread *self,
	const struct brick_frame *frame, uint64_t ticks, const struct work *work, uint16_t flags)
{
	uint64_t head = self->lane->head, word;
	struct brick_record *record = ring_at(self, head);

	memcpy(&word, &frame->kind, sizeof(word));
	word |= (uint64_t)(flags | work->flags) << 48;
	record->begin = frame->begin;
	memcpy(&record->ticks, &ticks, sizeof(ticks)); /* below 2^32: `wait` is 0 */
	memcpy(&record->kind, &word, sizeof(word));
	record->elements = work->site ? work->site : work->elements; /* `inner` is 0 */
	__atomic_store_n(&self->lane->head, head + 1, __ATOMIC_RELEASE);
}

static inline bool has_work(const struct work *work)
{
	return (work->bytes | work->flops) != 0;
}

/* The same where the ring looks full, or more than one record is due. */
static SLOW void write_sample(struct brick__thread *self, const struct brick_frame *frame,
	uint64_t ticks, const struct work *work, uint16_t flags)
{
	if (!ring_has(self->lane, 1 + (uint64_t)has_work(work))) {
		brick__ring_drop(self->lane, frame->brick, ticks);
		return;
	}
	store_sample(self, frame, ticks, work, flags);
	if (has_work(work))
		write_work(self, work);
}

static inline __attribute__((always_inline)) void count_work(
	struct brick_stat *stat, const struct work *work)
{
	if (work->flags & BRICK_FLAG_ELEMENTS) {
		stat->elements += work->elements;
		stat->bytes += work->bytes;
		stat->flops += work->flops;
	}
}

/* Statistics of the frame at `depth`, which leaves the stack. */
static inline __attribute__((always_inline)) void pop(
	struct brick_lane *lane, uint32_t depth, uint64_t ticks, const struct work *work)
{
	const struct brick_frame *frame = &lane->frames[depth];
	struct brick_stat *stat = &lane->stats[frame->brick];
	uint64_t child = frame->child;

	count_one(stat, ticks, child < ticks ? ticks - child : 0,
		is_recursive(lane, depth, frame->brick));
	count_work(stat, work);
	lane->depth = depth;
	if (depth)
		lane->frames[depth - 1].child += ticks;
}

/* Take the innermost frame off the stack, whatever it is. */
static SLOW void close_top(
	struct brick__thread *self, uint64_t end, const struct work *work, uint16_t flags)
{
	struct brick_lane *lane = self->lane;
	uint32_t depth = lane->depth - 1;
	struct brick_frame *frame = &lane->frames[depth];
	uint64_t ticks = end - frame->begin;

	if ((int64_t)ticks < 0) {
		lane->ledger.clamped++;
		flags |= BRICK_FLAG_CLAMPED;
		end = frame->begin;
		ticks = 0;
	}
	if (ticks >> 32)
		brick__ring_open(self); /* while it is still on the stack */
	pop(lane, depth, ticks, work);
	if (frame->flags & BRICK_FRAME_OPENED)
		write_close(self, frame, end, work, flags);
	else
		write_sample(self, frame, ticks, work, flags);
	if (BRICK_UNLIKELY(frame->flags & BRICK_FRAME_COUNTED))
		brick__step_ended();
}

/* An end that is not of the innermost open brick: what is inside of it is closed with it. */
static SLOW void unwind(
	struct brick__thread *self, brick_span span, uint64_t end, const struct work *work)
{
	static const struct work nothing;
	struct brick_lane *lane = self->lane;
	uint32_t depth = span & 0xff;

	if (!lane || self->tag != (span & ~0xffu) || depth > lane->depth) {
		brick__end_unmatched(self);
		return;
	}
	while (lane->depth > depth) {
		lane->ledger.unmatched++;
		close_top(self, end, &nothing, BRICK_FLAG_UNWOUND);
	}
	close_top(self, end, work, 0);
}

static inline __attribute__((always_inline)) void end_at(
	brick_span span, uint64_t now, const struct work *work)
{
	struct brick__thread *self = &brick__thread;
	struct brick_lane *lane = self->lane;

	if (BRICK_UNLIKELY(!lane || (self->tag | lane->depth) != span)) {
		unwind(self, span, now, work);
		return;
	}
	uint32_t depth = lane->depth - 1;
	struct brick_frame *frame = &lane->frames[depth];
	uint64_t ticks = now - frame->begin;
	if (BRICK_UNLIKELY((frame->flags & BRICK_FRAME_OPENED) || ticks >> 32)) {
		close_top(self, now, work, 0);
		return;
	}
	pop(lane, depth, ticks, work);
	if (BRICK_LIKELY(lane->head < lane->limit && !has_work(work)))
		store_sample(self, frame, ticks, work, 0);
	else
		write_sample(self, frame, ticks, work, 0);
}

void brick__end_at(brick_span span, uint64_t now)
{
	static const struct work nothing;
	end_at(span, now, &nothing);
}

static inline __attribute__((always_inline)) void end(brick_span span, const struct work *work)
{
	end_at(span, brick__now(), work);
}

void brick__end(brick_span span)
{
	static const struct work nothing;
	end(span, &nothing);
}

void brick__end_elements(brick_span span, uint64_t elements)
{
	const struct work work = {.elements = elements, .flags = BRICK_FLAG_ELEMENTS};
	end(span, &work);
}

void brick__end_work(brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	const struct work work = {
		.elements = elements, .bytes = bytes, .flops = flops, .flags = BRICK_FLAG_ELEMENTS};
	end(span, &work);
}

/* The record has the bytes of both directions, the statistics each of them. */
void brick__end_traffic(
	brick_span span, uint64_t elements, uint64_t bytes_in, uint64_t bytes_out, uint64_t flops)
{
	struct brick__thread *self = &brick__thread;
	uint32_t depth = span & 0xff;
	struct brick_stat *stat = NULL;

	if (self->lane && self->tag == (span & ~0xffu) && depth && depth <= self->lane->depth)
		stat = &self->lane->stats[self->lane->frames[depth - 1].brick];
	brick__end_work(span, elements, bytes_in + bytes_out, flops);
	if (stat) {
		stat->bytes_out += bytes_out;
		stat->bytes -= bytes_out;
	}
}

/* Work counts of a site, once per execution; a site that is not registered counts nothing. */
static inline void count_site(struct brick_stat *stat, uint32_t index)
{
	const struct brick_session_site *site = brick__site(index);

	if (site) {
		stat->elements += site->elements;
		stat->bytes += site->bytes;
		stat->flops += site->flops;
	}
}

static inline __attribute__((always_inline)) void count_site_of(brick_span span, uint32_t site)
{
	struct brick__thread *self = &brick__thread;
	uint32_t depth = span & 0xff;

	if (self->lane && self->tag == (span & ~0xffu) && depth && depth <= self->lane->depth)
		count_site(&self->lane->stats[self->lane->frames[depth - 1].brick], site);
}

void brick__end_site(brick_span span, uint32_t site)
{
	const struct work work = {.site = site, .flags = BRICK_FLAG_SITE};

	count_site_of(span, site);
	end(span, &work);
}

/* Where end and begin meet, and something is unusual with one of them. */
static SLOW brick_span lap_slow(
	brick_span span, uint64_t now, uint32_t next, const struct work *work)
{
	struct brick__thread *self = &brick__thread;
	uint32_t tag = self->tag;

	if (span)
		end_at(span, now, work);
	brick_span begun = brick_enabled() ? begin(next, 0, 0) : 0;
	if (begun && tag == (span & ~0xffu) && tag == self->tag)
		self->lane->frames[(begun & 0xff) - 1].begin = now;
	return begun;
}

/* The next brick takes the place of the one that ends: depth, parent and span stay. */
static inline __attribute__((always_inline)) brick_span lap(
	brick_span span, uint32_t next, const struct work *work)
{
	struct brick__thread *self = &brick__thread;
	struct brick_lane *lane = self->lane;
	uint64_t now = brick__now();

	if (BRICK_UNLIKELY(!lane || (self->tag | lane->depth) != span || !lane_is_current(self) ||
			   next >= BRICK_MAX_BRICKS))
		return lap_slow(span, now, next, work);
	uint32_t depth = lane->depth - 1;
	struct brick_frame *frame = &lane->frames[depth];
	uint64_t ticks = now - frame->begin, word = frame_word(next, lane->default_layer - 1);
	if (BRICK_UNLIKELY((frame->flags & BRICK_FRAME_OPENED) || ticks >> 32))
		return lap_slow(span, now, next, work);
	pop(lane, depth, ticks, work);
	if (BRICK_LIKELY(lane->head < lane->limit && !has_work(work)))
		store_sample(self, frame, ticks, work, 0);
	else
		write_sample(self, frame, ticks, work, 0);
	memcpy(&frame->kind, &word, sizeof(word));
	frame->child = 0;
	frame->begin = now;
	lane->depth = depth + 1;
	return span;
}

brick_span brick__lap(brick_span span, uint32_t next)
{
	static const struct work nothing;
	return lap(span, next, &nothing);
}

brick_span brick__lap_work(
	brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops, uint32_t next)
{
	const struct work work = {
		.elements = elements, .bytes = bytes, .flops = flops, .flags = BRICK_FLAG_ELEMENTS};
	return lap(span, next, &work);
}

brick_span brick__lap_site(brick_span span, uint32_t site, uint32_t next)
{
	const struct work work = {.site = site, .flags = BRICK_FLAG_SITE};

	count_site_of(span, site);
	return lap(span, next, &work);
}
