/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of queues: made when a queue has its first command, left when it is destroyed, and taken
 * over by the next queue that looks the same, so that a program that makes a stream for every
 * batch does not grow the session. The lock of its queue stands for the owner of the lane.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "brick/error.h"
#include "lib/session/lane_memory.h"
#include "lib/device/lane_queue.h"
#include "base/scope.h"
#include "lib/session/session_state.h"
#include "lib/session/session_map.h"
#include "lib/sys/sys.h"

static int looks_the_same(const struct brick_lane *lane, const struct brick__queue_name *queue)
{
	return lane->queue_flags == queue->flags &&
	       !strncmp(lane->name, queue->name, sizeof lane->name) &&
	       !strncmp(lane->backend, queue->backend, sizeof lane->backend);
}

/* A lane is in the order of its begins: what comes next must not begin before its end. */
static struct brick_lane *find_left(
	struct brick__session *s, const struct brick__queue_name *queue, uint64_t begin)
{
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		struct brick_lane *lane = s->lanes[i].lane;
		if (lane->kind == BRICK_LANE_QUEUE &&
			__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == BRICK_LANE_FREE &&
			lane->end_ticks <= begin && looks_the_same(lane, queue))
			return lane;
	}
	return NULL;
}

static void own(struct brick_lane *lane, const struct brick__queue_name *queue, uint64_t begin)
{
	lane->tid = queue->number;
	lane->owners++;
	lane->start_ticks = begin;
	lane->end_ticks = 0;
	lane->queue_flags = queue->flags;
	memcpy(lane->name, queue->name, sizeof lane->name);
	memcpy(lane->backend, queue->backend, sizeof lane->backend);
	__atomic_store_n(&lane->state, BRICK_LANE_LIVE, __ATOMIC_RELEASE);
}

/* Under the session lock. */
static int find_lane(struct brick__session *s, struct brick_lane **out,
	const struct brick__queue_name *queue, uint32_t serial, uint64_t begin)
{
	if (!s->header || s->serial != serial)
		return -ENOENT;
	*out = find_left(s, queue, begin);
	if (!*out)
		*out = brick__lane_create(s, BRICK_LANE_QUEUE);
	if (*out)
		return 0;
	s->header->ledger.table_full++;
	return BRICK_EFULL;
}

int brick__queue_lane_open(struct brick__queue_lane *out, const struct brick__queue_name *queue,
	uint32_t serial, uint64_t begin)
{
	struct brick_lane *lane = NULL;
	KEEP_ERRNO();

	brick__session_ensure();
	BETWEEN(brick__session_lock, brick__session_unlock);
	int error = find_lane(&brick__session, &lane, queue, serial, begin);
	if (!error) {
		*out = (struct brick__queue_lane){
			.lane = lane,
			.ring = (struct brick_record *)((char *)lane + lane->ring_offset),
			.mask = lane->capacity ? lane->capacity - 1 : 0,
			.last_end = lane->end_ticks,
		};
		own(lane, queue, begin);
	}
	return error;
}

void brick__queue_lane_close(struct brick__queue_lane *queue_lane, uint32_t serial)
{
	struct brick_lane *lane = queue_lane->lane;

	if (!lane)
		return;
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.serial == serial) {
		uint64_t last = queue_lane->last_end;
		lane->end_ticks = last > lane->start_ticks ? last : lane->start_ticks;
		lane->live_ticks += lane->end_ticks - lane->start_ticks;
		__atomic_store_n(&lane->state, BRICK_LANE_FREE, __ATOMIC_RELEASE);
	} else {
		brick__sys_unmap(lane, brick__lane_bytes(lane));
	}
	memset(queue_lane, 0, sizeof *queue_lane);
}
