/* SPDX-License-Identifier: Apache-2.0 */
/* The slow half of ring.h: rare cases, out of line. */
#include "lib/probe/ring.h"

#include "lib/session/session_lanes.h"

int brick__ring_look(struct brick_lane *lane, uint64_t count)
{
	uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);

	if (!lane->capacity || lane->head - tail > lane->capacity)
		return 0;
	if (BRICK_UNLIKELY(lane->backed < lane->capacity) &&
		lane->head + count + CLOSE_RESERVE > lane->backed)
		brick__lane_back(lane, lane->head + count + CLOSE_RESERVE);
	uint64_t backed = __atomic_load_n(&lane->backed, __ATOMIC_RELAXED);
	lane->limit = (backed < lane->capacity ? backed : tail + lane->capacity) - CLOSE_RESERVE;
	return lane->head + count <= lane->limit;
}

void brick__ring_drop(struct brick_lane *lane, uint32_t brick, uint64_t ticks)
{
	if (lane->capacity)
		lane->ledger.dropped++;
	brick__lane_histogram(lane, brick, ticks);
}

static void ring_write_open(struct brick__thread *self, struct brick_frame *frame)
{
	struct brick_lane *lane = self->lane;

	if (!ring_has(lane, 1)) {
		frame->flags |= BRICK_FRAME_DROPPED | BRICK_FRAME_UNSEEN;
		return;
	}
	*ring_at(self, lane->head) = brick_frame_open(frame);
	ring_publish(lane, 1);
}

void brick__ring_open(struct brick__thread *self)
{
	struct brick_lane *lane = self->lane;
	struct brick_frame *frame = &lane->frames[lane->depth];

	frame->child = 0;
	frame->flags = (frame->flags & ~BRICK_FLAG_UNCOUNTED) | BRICK_FRAME_OPENED;
	if (lane->depth)
		frame->flags |= frame[-1].flags & BRICK_FRAME_UNSEEN;
	ring_write_open(self, frame);
	lane->depth++;
	brick__thread_aim(self);
}

struct brick__thread *brick__thread_begin(void)
{
	if (brick__thread_attach())
		return &brick__thread;
	brick__refusals_record();
	return NULL;
}

void brick__ring_waited(struct brick__thread *self, const struct brick_frame *frame, uint64_t end)
{
	if (!ring_has(self->lane, 1)) {
		self->lane->ledger.dropped++;
		return;
	}
	*ring_at(self, self->lane->head) = (struct brick_record){
		.begin = end, .kind = BRICK_RECORD_AFTER, .layer = -1, .elements = frame->tokens};
	ring_publish(self->lane, 1);
}
