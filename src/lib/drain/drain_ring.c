/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving records out of rings: one look at `head`, one or two copies, one store of `tail`. Called
 * by whoever must keep rings from filling up, so nothing in here waits, allocates or calls the
 * system. A head that its owner cannot have written makes the lane unusable.
 */
#include "lib/drain/drain.h"

#include <string.h>
#include "lib/drain/drain_state.h"

static void give_up(struct drain *d, struct drain_lane *lane)
{
	lane->capacity = 0;
	drain_map_fault_set(&d->map, "the head of a ring makes no sense");
}

struct drain_level drain_level(struct drain *d, uint32_t index)
{
	struct drain_lane *lane = d->map.lanes[index];
	struct drain_level level = {0, 0, 0};

	if (!lane->shared || !lane->capacity)
		return level;
	uint64_t head = __atomic_load_n(&lane->shared->head, __ATOMIC_ACQUIRE);
	if (d->map.view) {
		level.waiting = head < lane->capacity ? head : lane->capacity;
		level.capacity = lane->capacity;
		level.written = head;
		return level;
	}
	if (head - lane->tail > lane->capacity) {
		give_up(d, lane);
		return level;
	}
	level.waiting = head - lane->tail;
	level.capacity = lane->capacity;
	level.written = head;
	return level;
}

size_t drain_consume(struct drain *d, uint32_t index, struct brick_record *out, size_t capacity)
{
	struct drain_level level = drain_level(d, index);
	struct drain_lane *lane = d->map.lanes[index];
	size_t count = level.waiting < capacity ? (size_t)level.waiting : capacity;

	if (!count)
		return 0;
	const struct brick_record *ring =
		(const void *)((const char *)lane->shared + lane->ring_offset);
	size_t at = (size_t)(lane->tail & (lane->capacity - 1));
	size_t first = count < lane->capacity - at ? count : (size_t)(lane->capacity - at);
	memcpy(out, ring + at, first * sizeof *out);
	memcpy(out + first, ring, (count - first) * sizeof *out);
	if (drain_map_page_lost(&d->map))
		return 0;
	lane->tail += count;
	__atomic_store_n(&lane->shared->tail, lane->tail, __ATOMIC_RELEASE);
	return count;
}
