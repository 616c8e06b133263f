/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: begin and end of a brick. The fast half (include/brick/abi/thread.h) keeps the
 * brick in the thread's next frame, and at its end stores one record, which whoever drains it
 * counts. Every other case is the slow half's: no lane yet, ring full or none, another brick
 * inside, unbalanced ends, long bricks. What the slow half ends without others inside it counts
 * itself. Invariants: records of a lane are in begin order; a CLOSE always finds room, because
 * ordinary records leave 2 x BRICK_MAX_DEPTH entries of the ring free for them; at most the
 * innermost open brick is not OPENED.
 */
#include "brick/probe.h"

#include <stdbool.h>
#include <string.h>
#include "brick/abi/thread.h"
#include "brick/attach.h"
#include "lib/session/session_lanes.h"
#include "lib/probe/emit.h"
#include "lib/probe/probe_frames.h"
#include "lib/session/registry_tables.h"
#include "lib/probe/ring.h"
#include "lib/sys/ticks.h"
#include "lib/sys/usdt.h"

#define APART __attribute__((noinline))

void (*brick__step_ended)(void);

/* What an end says of the execution. */
struct work {
	uint64_t elements, bytes, flops;
	uint32_t site;
	uint16_t flags;
};

static const struct work probe_nothing;

static inline uint64_t flags_word(uint32_t flags)
{
	return (uint64_t)flags << 48;
}

/* The thread's word for a frame, of another layer. */
static inline uint64_t word_in_layer(uint64_t word, int32_t layer)
{
	return (word & ~(UINT64_C(0xffff) << 32)) | (uint64_t)(uint16_t)layer << 32;
}

static inline bool emits(void)
{
	return BRICK_UNLIKELY(__atomic_load_n(&brick__emitting, __ATOMIC_RELAXED));
}

/* Begin. */

/* It is a range, too: but not where pairs are timed, at a session's start. */
static SLOW brick_span begin_range(struct brick__thread *self, struct brick_frame *frame)
{
	struct brick_lane *lane = self->lane;

	if (__atomic_load_n(&lane->state, __ATOMIC_RELAXED) == BRICK_LANE_LIVE)
		brick__emit_begin(lane->depth, frame->brick, frame->layer);
	frame->begin = brick__now();
	return self->tag | (lane->depth + 1);
}

/* The first brick of a thread, one in another that is not in the ring yet, or one too many. */
static SLOW brick_span begin_slow(uint32_t brick, int32_t layer, int given)
{
	struct brick__thread *self = thread_here();

	if (!self)
		return 0;
	struct brick_lane *lane = self->lane;
	if (!brick__lane_counts(lane, brick))
		return 0;
	if (brick_lane_open(lane) >= BRICK_MAX_DEPTH) {
		lane->ledger.too_deep++;
		return 0;
	}
	open_parents(self);
	struct brick_frame *frame = &lane->frames[lane->depth];
	uint64_t word = given ? word_in_layer(self->word, layer) : self->word;
	brick__store(&frame->kind, word | brick << 16);
	USDT_1(begin, brick);
	if (emits())
		return begin_range(self, frame);
	frame->begin = brick__now();
	return self->tag | (lane->depth + 1);
}

static inline __attribute__((always_inline)) brick_span probe_begin_at(struct brick__thread *self,
	struct brick_frame *frame, uint32_t brick, int32_t layer, int given)
{
	uint64_t word = given ? word_in_layer(self->word, layer) : self->word;

	brick__store(&frame->kind, word | brick << 16);
	USDT_1(begin, brick);
	brick__store(&frame->begin, brick__counter());
	return self->span;
}

/* A brick beyond the first ones: the lane may have no rows for it yet. */
static APART brick_span begin_late(uint32_t brick, int32_t layer, int given)
{
	struct brick__thread *self = &brick__thread;
	struct brick_frame *frame = brick__place(self, brick__serial_here(), 0);

	if (BRICK_UNLIKELY(!frame || !brick_lane_has_rows(self->lane, brick)))
		return begin_slow(brick, layer, given);
	return probe_begin_at(self, frame, brick, layer, given);
}

static inline __attribute__((always_inline)) brick_span probe_begin(
	uint32_t brick, int32_t layer, int given)
{
	struct brick__thread *self = &brick__thread;

	if (BRICK_UNLIKELY(brick >= BRICK_FIRST_ROWS))
		return begin_late(brick, layer, given);
	struct brick_frame *frame = brick__place(self, brick__serial_here(), brick);
	if (BRICK_UNLIKELY(!frame))
		return begin_slow(brick, layer, given);
	return probe_begin_at(self, frame, brick, layer, given);
}

brick_span brick__begin(uint32_t brick)
{
	return probe_begin(brick, 0, 0);
}

brick_span brick__begin_layer(uint32_t brick, int layer)
{
	return probe_begin(brick, layer, 1);
}

/* The slow half of an end. */

static void write_work(struct brick__thread *self, const struct work *work)
{
	*ring_at(self, self->lane->head) = (struct brick_record){
		.begin = work->bytes, .kind = BRICK_RECORD_WORK, .elements = work->flops};
	ring_publish(self->lane, 1);
}

static inline bool probe_has_work(const struct work *work)
{
	return (work->bytes | work->flops) != 0;
}

static inline uint64_t payload(const struct work *work)
{
	return work->site ? work->site : work->elements; /* a site's `inner` is 0 */
}

/* The end of a brick whose OPEN is out. */
static SLOW void write_close(struct brick__thread *self, struct brick_frame *frame, uint64_t end,
	const struct work *work, uint16_t flags)
{
	struct brick_lane *lane = self->lane;
	uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);

	if ((frame->flags & BRICK_FRAME_DROPPED) || lane->head - tail + 2 > lane->capacity ||
		!brick__lane_backs(lane, 2)) {
		brick__ring_drop(lane, frame->brick, end - frame->begin);
		return;
	}
	*ring_at(self, lane->head) = (struct brick_record){.begin = end,
		.kind = BRICK_RECORD_CLOSE,
		.source = frame->source,
		.brick = frame->brick,
		.layer = frame->layer,
		.flags = flags | work->flags,
		.elements = payload(work)};
	ring_publish(lane, 1);
	if (probe_has_work(work))
		write_work(self, work);
	if (frame->flags & BRICK_FRAME_WAITED)
		brick__ring_waited(self, frame, end);
}

/* Into the statistics of its brick, what it lies in, and nowhere else. */
static inline __attribute__((always_inline)) void probe_count(struct brick_lane *lane,
	uint32_t depth, const struct brick_frame *frame, uint64_t ticks, uint64_t child,
	const struct work *work)
{
	struct brick_stat *stat = &lane->stats[frame->brick];

	count_one(stat, ticks, child < ticks ? ticks - child : 0,
		is_recursive(lane, depth, frame->brick));
	if (work->flags & BRICK_FLAG_ELEMENTS) {
		stat->elements += work->elements;
		stat->bytes += work->bytes;
		stat->flops += work->flops;
	}
	if (depth)
		lane->frames[depth - 1].child += ticks;
}

/* A brick without others inside ends: it is counted, and becomes one record where there is room. */
static APART void end_leaf(struct brick__thread *self, struct brick_frame *frame, uint64_t ticks,
	const struct work *work, uint16_t flags)
{
	struct brick_lane *lane = self->lane;
	uint64_t word = brick__load(&frame->kind) & ~flags_word(0xffff);

	USDT_1(end, frame->brick);

	probe_count(lane, lane->depth, frame, ticks, 0, work);
	brick__store(&frame->kind, 0);
	if (!lane->capacity || !ring_has(lane, 1 + (uint64_t)probe_has_work(work))) {
		brick__ring_drop(lane, (uint16_t)(word >> 16), ticks);
		return;
	}
	struct brick_record *record = ring_at(self, lane->head);
	brick__store(&record->begin, frame->begin);
	brick__store(&record->ticks, ticks); /* below 2^32: `wait` is 0 */
	brick__store(&record->kind, word | flags_word(flags | work->flags));
	brick__store(&record->elements, payload(work));
	ring_publish(lane, 1);
	if (probe_has_work(work))
		write_work(self, work);
}

static SLOW void end_opened(struct brick__thread *self, uint64_t end, uint64_t ticks,
	const struct work *work, uint16_t flags)
{
	struct brick_lane *lane = self->lane;
	uint32_t depth = lane->depth - 1;
	struct brick_frame *frame = &lane->frames[depth];

	USDT_1(end, frame->brick);
	probe_count(lane, depth, frame, ticks, frame->child, work);
	lane->depth = depth;
	write_close(self, frame, end, work, flags);
	bool counted = frame->flags & BRICK_FRAME_COUNTED;
	brick__store(&frame->kind, 0);
	brick__thread_aim(self);
	if (counted)
		brick__step_ended();
}

/* Take the innermost brick off the stack, whatever it is. */
static SLOW void probe_close_top(
	struct brick__thread *self, uint64_t end, const struct work *work, uint16_t flags)
{
	struct brick_lane *lane = self->lane;
	struct brick_frame *leaf = brick_lane_leaf(lane);
	uint64_t begin = leaf ? leaf->begin : lane->frames[lane->depth - 1].begin;
	uint64_t ticks = end - begin;

	if ((int64_t)ticks < 0) {
		lane->ledger.clamped++;
		flags |= BRICK_FLAG_CLAMPED;
		end = begin;
		ticks = 0;
	}
	if (leaf && !(ticks >> 32)) {
		end_leaf(self, leaf, ticks, work, flags);
		return;
	}
	open_parents(self); /* it is too long for one record */
	end_opened(self, end, ticks, work, flags);
}

/* What is inside of the brick that ends is closed with it. */
static SLOW void end_slow(brick_span span, uint64_t now, const struct work *work)
{
	struct brick__thread *self = &brick__thread;
	struct brick_lane *lane = self->lane;
	uint32_t depth = span & 0xff;

	if (!lane || !depth || self->tag != (span & ~0xffu) || depth > brick_lane_open(lane)) {
		brick__end_unmatched(self);
		return;
	}
	while (brick_lane_open(lane) > depth) {
		lane->ledger.unmatched++;
		probe_close_top(self, now, &probe_nothing, BRICK_FLAG_UNWOUND);
	}
	probe_close_top(self, now, work, 0);
	if (emits())
		brick__emit_end(depth - 1);
}

/* The fast half. */

/* True: it is in the ring, and the frame may be used anew. */
static inline __attribute__((always_inline)) bool probe_store(struct brick__thread *self,
	struct brick_frame *frame, uint64_t now, const struct work *work)
{
	return BRICK_LIKELY(!probe_has_work(work)) &&
	       brick__sample(self, frame, frame->begin, 0, now, work->flags, payload(work));
}

/* No room, or more than a sample. */
static APART void end_counted(struct brick__thread *self, struct brick_frame *frame, uint64_t now,
	const struct work *work)
{
	uint64_t ticks = now - frame->begin;

	if (BRICK_LIKELY(!(ticks >> 32)))
		end_leaf(self, frame, ticks, work, 0);
	else
		probe_close_top(self, now, work, 0);
}

static inline __attribute__((always_inline)) void end_fast(struct brick__thread *self,
	struct brick_frame *frame, uint64_t now, const struct work *work)
{
	if (BRICK_LIKELY(probe_store(self, frame, now, work))) {
		USDT_1(end, frame->brick);
		brick__store(&frame->kind, 0);
	} else {
		end_counted(self, frame, now, work);
	}
}

/* A reading of the counter as a time: the fast half begins nothing where the counter is no use. */
static inline uint64_t probe_checked(uint64_t counter)
{
	return BRICK_LIKELY(brick__counter_used) ? counter : brick__monotonic_slow();
}

static inline __attribute__((always_inline)) void probe_end(
	brick_span span, const struct work *work)
{
	uint64_t now = brick__counter();
	struct brick__thread *self = &brick__thread;
	struct brick_frame *frame = brick__leaf(self, span);

	if (BRICK_UNLIKELY(!frame))
		end_slow(span, probe_checked(now), work);
	else
		end_fast(self, frame, now, work);
}

void brick__end_read(brick_span span, uint64_t counter)
{
	end_slow(span, probe_checked(counter), &probe_nothing);
}

static void probe_end_at(brick_span span, uint64_t now, const struct work *work)
{
	struct brick_frame *frame = brick__leaf(&brick__thread, span);

	if (BRICK_UNLIKELY(!frame))
		end_slow(span, now, work);
	else
		end_fast(&brick__thread, frame, now, work);
}

void brick__end_at(brick_span span, uint64_t now)
{
	probe_end_at(span, now, &probe_nothing);
}

void brick__end(brick_span span)
{
	probe_end(span, &probe_nothing);
}

void brick__end_elements(brick_span span, uint64_t elements)
{
	const struct work work = {.elements = elements, .flags = BRICK_FLAG_ELEMENTS};
	probe_end(span, &work);
}

void brick__end_work(brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	const struct work work = {
		.elements = elements, .bytes = bytes, .flops = flops, .flags = BRICK_FLAG_ELEMENTS};
	probe_end(span, &work);
}

static inline bool probe_is_open(const struct brick__thread *self, brick_span span)
{
	uint32_t depth = span & 0xff;

	return self->lane && self->tag == (span & ~0xffu) && depth &&
	       depth <= brick_lane_open(self->lane);
}

/* The record has the bytes of both directions, the statistics each of them. */
void brick__end_traffic(
	brick_span span, uint64_t elements, uint64_t bytes_in, uint64_t bytes_out, uint64_t flops)
{
	struct brick__thread *self = &brick__thread;
	uint32_t depth = span & 0xff;
	struct brick_stat *stat = NULL;

	if (probe_is_open(self, span))
		stat = &self->lane->stats[self->lane->frames[depth - 1].brick];
	brick__end_work(span, elements, bytes_in + bytes_out, flops);
	if (stat) {
		stat->bytes_out += bytes_out;
		stat->bytes -= bytes_out;
	}
}

uint64_t brick_elapsed_ns(brick_span span)
{
	struct brick__thread *self = &brick__thread;

	if (!probe_is_open(self, span))
		return 0;
	uint64_t begin = self->lane->frames[(span & 0xff) - 1].begin, now = brick__now();
	return now > begin ? brick_clock_duration_ns(brick_clock_get(), now - begin) : 0;
}

uint64_t brick_end_ns(brick_span span, uint64_t elements)
{
	struct brick__thread *self = &brick__thread;
	uint64_t now = brick__now(), begin = now;

	if (probe_is_open(self, span))
		begin = self->lane->frames[(span & 0xff) - 1].begin;
	const struct work work = {
		.elements = elements, .flags = elements ? BRICK_FLAG_ELEMENTS : 0};
	if (span)
		probe_end_at(span, now, &work);
	return now > begin ? brick_clock_duration_ns(brick_clock_get(), now - begin) : 0;
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

	if (probe_is_open(self, span))
		count_site(&self->lane->stats[self->lane->frames[depth - 1].brick], site);
}

void brick__end_site(brick_span span, uint32_t site)
{
	const struct work work = {.site = site, .flags = BRICK_FLAG_SITE};

	count_site_of(span, site);
	probe_end(span, &work);
}

void brick_end_site_work(brick_span span, uint32_t site, uint64_t bytes, uint64_t flops)
{
	const struct work work = {
		.site = site, .bytes = bytes, .flops = flops, .flags = BRICK_FLAG_SITE};
	struct brick__thread *self = &brick__thread;
	uint32_t depth = span & 0xff;

	if (!span)
		return;
	if (!probe_has_work(&work)) {
		count_site_of(span, site);
	} else if (probe_is_open(self, span)) {
		struct brick_stat *stat = &self->lane->stats[self->lane->frames[depth - 1].brick];
		stat->bytes += bytes;
		stat->flops += flops;
	}
	probe_end(span, &work);
}

/* Where end and begin meet, and something is unusual with one of them. */
static SLOW brick_span lap_slow(
	brick_span span, uint64_t now, uint32_t next, const struct work *work)
{
	struct brick__thread *self = &brick__thread;
	uint32_t tag = self->tag;

	now = probe_checked(now);
	if (span)
		end_slow(span, now, work);
	brick_span begun = brick_enabled() ? probe_begin(next, 0, 0) : 0;
	if (begun && tag == (span & ~0xffu) && tag == self->tag)
		self->lane->frames[(begun & 0xff) - 1].begin = now;
	return begun;
}

/* The next brick takes the place of the one that ends: frame, parent and span stay. */
static inline __attribute__((always_inline)) void lap_begin(
	struct brick__thread *self, struct brick_frame *frame, uint64_t now, uint32_t next)
{
	brick__store(&frame->kind, self->word | next << 16);
	USDT_1(begin, next);
	brick__store(&frame->begin, now);
}

static APART brick_span lap_counted(struct brick_frame *frame, uint64_t now, brick_span span,
	uint32_t next, const struct work *work)
{
	end_counted(&brick__thread, frame, now, work);
	lap_begin(&brick__thread, frame, now, next);
	return span;
}

static inline __attribute__((always_inline)) brick_span lap(
	brick_span span, uint32_t next, const struct work *work)
{
	uint64_t now = brick__counter();
	struct brick__thread *self = &brick__thread;
	struct brick_frame *frame = brick__leaf(self, span);

	if (BRICK_UNLIKELY(!frame || !lane_is_current(self) || next >= BRICK_FIRST_ROWS))
		return lap_slow(span, now, next, work);
	if (BRICK_UNLIKELY(!probe_store(self, frame, now, work)))
		return lap_counted(frame, now, span, next, work);
	USDT_1(end, frame->brick);
	lap_begin(self, frame, now, next);
	return span;
}

brick_span brick__lap(brick_span span, uint32_t next)
{
	return lap(span, next, &probe_nothing);
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
