/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading beside the consumer: what is drained is copied between two looks at its turn; the records
 * behind it are copied one by one, and then it is asked whether the owner may have overwritten any
 * of them, which it can do only when the consumer has gone on.
 */
#include "lib/probe/leaf_stats.h"

#include <sched.h>
#include "brick/export.h"

enum {
	TRIES = 100,
	AT_ONCE = 64,			 /* records */
	IN_FLIGHT = 2 * BRICK_MAX_DEPTH, /* records that are written before `head` covers them */
};

/* What is drained, and up to where. False: a turn went on. */
static bool copy_drained(
	const struct brick_lane *lane, uint32_t bricks, struct leaf_stats *out, uint64_t *tail)
{
	uint64_t turn = __atomic_load_n(&lane->turn, __ATOMIC_ACQUIRE);
	uint32_t depth = lane->drained.depth;

	*tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
	out->depth = depth < BRICK_MAX_DEPTH ? depth : BRICK_MAX_DEPTH;
	memcpy(out->open, lane->drained.open, sizeof(out->open));
	for (uint32_t i = 0, n; i < bricks; i += n) {
		n = brick_lane_rows_left(i, bricks);
		if (brick_lane_has_rows(lane, i))
			memcpy(&out->stats[i], &lane->drained.stats[i], n * sizeof(*out->stats));
		else
			memset(&out->stats[i], 0, n * sizeof(*out->stats));
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(turn & 1) && __atomic_load_n(&lane->turn, __ATOMIC_RELAXED) == turn;
}

/* Records from `tail` on. False: some were overwritten meanwhile. */
static bool count_waiting(const struct brick_lane *lane, const struct brick_record *ring,
	uint64_t capacity, uint64_t tail, uint32_t bricks, struct leaf_stats *out)
{
	struct brick_record records[AT_ONCE];
	uint64_t head = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE), n;
	uint64_t reset = __atomic_load_n(&lane->counted_from, __ATOMIC_RELAXED) - tail;

	if (head - tail > capacity)
		return false;
	for (uint64_t i = reset <= head - tail ? tail + reset : tail; i != head; i += n) {
		uint64_t at = i & (capacity - 1);
		n = capacity - at < AT_ONCE ? capacity - at : AT_ONCE;
		n = head - i < n ? head - i : n;
		memcpy(records, &ring[at], n * sizeof(*records));
		leaf_count_all(out->stats, bricks, &out->depth, out->open, records, n);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&lane->head, __ATOMIC_RELAXED) - tail <= capacity - IN_FLIGHT ||
	       __atomic_load_n(&lane->tail, __ATOMIC_RELAXED) == tail;
}

bool brick__leaf_stats_read(const struct brick_lane *lane, const struct brick_record *ring,
	uint64_t capacity, uint32_t bricks, struct leaf_stats *out)
{
	uint64_t tail;

	for (int i = 0; i < TRIES; i++) {
		if (copy_drained(lane, bricks, out, &tail) &&
			(!capacity || count_waiting(lane, ring, capacity, tail, bricks, out)))
			return true;
		sched_yield();
	}
	copy_drained(lane, bricks, out, &tail);
	if (capacity)
		count_waiting(lane, ring, capacity, tail, bricks, out);
	return false;
}

void brick__leaf_stat_add(struct brick_stat *to, const struct brick_leaf_stat *leaf)
{
	if (!leaf->count)
		return;
	to->count += leaf->count;
	to->total += leaf->total;
	to->nested += leaf->nested;
	to->self += leaf->total + leaf->nested;
	to->elements += leaf->elements;
	if (leaf->min < to->min)
		to->min = leaf->min;
	if (leaf->max > to->max)
		to->max = leaf->max;
}
