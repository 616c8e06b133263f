/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at a session that somebody else consumes: the newest records of a ring are copied while
 * its owner goes on writing. What the owner may have overwritten meanwhile is told from how far it
 * has got since, and left out; nothing is ever written. Called by the live view.
 */
#include <string.h>
#include "lib/drain/drain.h"
#include "lib/drain/drain_state.h"

/*
 * Records are written before `head` covers them: at most so many at a time, each of which takes
 * the place of the one a whole ring before.
 */
enum { IN_FLIGHT = 2 * BRICK_MAX_DEPTH };

static uint64_t head_of(struct drain *d, struct drain_lane *lane)
{
	uint64_t head = __atomic_load_n(&lane->shared->head, __ATOMIC_ACQUIRE);

	if (head >= lane->seen)
		return head;
	lane->capacity = 0;
	drain_map_fault_set(&d->map, "the head of a ring makes no sense");
	return 0;
}

static void copy(const struct drain_lane *lane, uint64_t first, struct brick_record *out, size_t n)
{
	const struct brick_record *ring =
		(const void *)((const char *)lane->shared + lane->ring_offset);
	size_t at = (size_t)(first & (lane->capacity - 1));
	size_t before_end = n < lane->capacity - at ? n : (size_t)(lane->capacity - at);

	memcpy(out, ring + at, before_end * sizeof *out);
	memcpy(out + before_end, ring, (n - before_end) * sizeof *out);
}

size_t drain_peek(
	struct drain *d, uint32_t index, struct brick_record *out, size_t capacity, uint64_t *first)
{
	struct drain_lane *lane = d->map.lanes[index];

	*first = 0;
	if (!lane->shared || lane->capacity <= IN_FLIGHT)
		return 0;
	uint64_t head = head_of(d, lane);
	uint64_t whole = lane->capacity - IN_FLIGHT;
	uint64_t count = head < whole ? head : whole;
	if (count > capacity)
		count = capacity;
	*first = head - count;
	copy(lane, *first, out, (size_t)count);
	/* not a read of the ring may come after this look at how far its owner has got */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	lane->seen = head;
	uint64_t now = head_of(d, lane), oldest = now > whole ? now - whole : 0;
	if (!lane->capacity || drain_map_page_lost(&d->map))
		return 0;
	uint64_t lost = oldest > *first ? oldest - *first : 0;
	if (lost >= count)
		return 0;
	memmove(out, out + lost, (size_t)(count - lost) * sizeof *out);
	*first += lost;
	return (size_t)(count - lost);
}
