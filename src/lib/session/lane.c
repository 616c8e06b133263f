/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: where threads and queues record. A new one is made at the end of the session file. A lane
 * outlives its session while its thread may still write to it.
 */
#include "lib/session/lane_memory.h"

#include <errno.h>
#include "base/scope.h"
#include "lib/sys/sys.h"
#include "lib/session/thread.h"

enum { MIN_RING_RECORDS = 1024, WHOLE_RINGS = 64, LEAST_SHARE = 4 };
enum { PAGE = 65536 }; /* a multiple of every kernel's page, since lanes are mapped one by one */

__thread struct brick__thread brick__thread
	__attribute__((tls_model("initial-exec"))) = {.serial = BRICK__NO_SERIAL};

static uint64_t page_round(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

uint64_t brick__lane_bytes(const struct brick_lane *lane)
{
	return page_round(lane->ring_offset + lane->capacity * sizeof(struct brick_record));
}

void brick__thread_forget(struct brick__thread *self)
{
	*self = (struct brick__thread){.serial = BRICK__NO_SERIAL};
}

static void init_lane(struct brick_lane *lane, enum brick_lane_kind kind, uint64_t histogram_offset,
	uint64_t ring_offset, uint64_t capacity)
{
	lane->kind = kind;
	lane->capacity = capacity;
	if (capacity)
		lane->limit = capacity - 2 * BRICK_MAX_DEPTH;
	lane->histogram_offset = histogram_offset;
	lane->ring_offset = ring_offset;
	for (uint32_t i = 0; i < BRICK_MAX_BRICKS; i++)
		lane->stats[i].min = UINT64_MAX;
}

/*
 * A queue has fewer commands than a thread has bricks, if three records for each. Each further 64
 * lanes have half as much, down to a sixteenth: a thousand threads are not given 8 GB.
 */
static uint32_t ring_records(const struct brick__session *s, enum brick_lane_kind kind)
{
	uint32_t halved = s->header->lane_count / WHOLE_RINGS;
	uint32_t records = s->ring_records / (kind == BRICK_LANE_THREAD ? 1 : 2) >>
			   (halved < LEAST_SHARE ? halved : LEAST_SHARE);
	uint32_t least = s->ring_records < MIN_RING_RECORDS ? s->ring_records : MIN_RING_RECORDS;

	return records < least ? least : records;
}

static struct brick_lane *create_lane(
	struct brick__session *s, enum brick_lane_kind kind, uint32_t records)
{
	uint32_t index = s->header->lane_count;
	uint64_t histogram_offset = page_round(sizeof(struct brick_lane));
	uint64_t ring_offset =
		page_round(histogram_offset +
			   (uint64_t)BRICK_MAX_BRICKS * BRICK_HISTOGRAM_BUCKETS * sizeof(uint32_t));
	uint64_t ring_bytes = page_round(records * sizeof(struct brick_record));
	uint64_t bytes = ring_offset + ring_bytes;
	struct brick_session_lane *table = brick__at(s, BRICK_SESSION_LANES_OFFSET);
	int error = 0;

	if (index >= BRICK_MAX_LANES)
		return NULL;
	uint64_t offset = index ? table[index - 1].offset + table[index - 1].bytes
				: page_round(s->header_bytes);
	if (brick__shared_extend(&s->file, offset + bytes) ||
		brick__shared_reserve(&s->file, offset, histogram_offset) ||
		(ring_bytes && brick__shared_reserve(&s->file, offset + ring_offset, ring_bytes)))
		return NULL;
	struct brick_lane *lane = brick__shared_map(&s->file, offset, bytes, &error);
	if (!lane)
		return NULL;
	init_lane(lane, kind, histogram_offset, ring_offset, records);
	s->lanes[index] = (struct brick__lane_entry){lane, bytes};
	table[index] = (struct brick_session_lane){offset, bytes};
	__atomic_store_n(&s->header->lane_count, index + 1, __ATOMIC_RELEASE);
	return lane;
}

/* Where memory is short, a smaller ring is better than none. */
struct brick_lane *brick__lane_create(struct brick__session *s, enum brick_lane_kind kind)
{
	uint32_t records = ring_records(s, kind);
	struct brick_lane *lane = create_lane(s, kind, records);

	while (!lane && records / 4 >= MIN_RING_RECORDS && s->header->lane_count < BRICK_MAX_LANES)
		lane = create_lane(s, kind, records /= 4);
	return lane;
}

void brick__lanes_release(struct brick__session *s)
{
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		struct brick__lane_entry *entry = &s->lanes[i];
		int ours = entry->lane == brick__thread.lane;
		if (!ours &&
			__atomic_load_n(&entry->lane->state, __ATOMIC_ACQUIRE) == BRICK_LANE_LIVE)
			continue; /* its owner unmaps it */
		brick__sys_unmap(entry->lane, entry->bytes);
		if (ours)
			brick__thread_forget(&brick__thread);
	}
}

void brick__lanes_abandon(struct brick__session *s)
{
	uint32_t count = s->header ? s->header->lane_count : 0;

	for (uint32_t i = 0; i < count; i++)
		brick__sys_unmap(s->lanes[i].lane, s->lanes[i].bytes);
	brick__thread_forget(&brick__thread);
}

/* A lane's row of a brick is a hole of the file until its first entry: give it memory. */
static int back_row(struct brick_lane *lane, uint32_t brick)
{
	struct brick__session *s = &brick__session;
	uint64_t row = (uint64_t)BRICK_HISTOGRAM_BUCKETS * sizeof(uint32_t);
	int error = -ENOENT;

	BETWEEN(brick__session_lock, brick__session_unlock);
	uint32_t lanes = s->header ? s->header->lane_count : 0;
	for (uint32_t i = 0; i < lanes; i++) {
		const struct brick_session_lane *table = brick__at(s, BRICK_SESSION_LANES_OFFSET);
		if (s->lanes[i].lane != lane)
			continue;
		uint64_t offset = table[i].offset + lane->histogram_offset + brick * row;
		error = brick__shared_reserve(&s->file, offset, row);
	}
	return error;
}

void brick__lane_histogram(struct brick_lane *lane, uint32_t brick, uint64_t ticks)
{
	uint32_t *buckets = (uint32_t *)((char *)lane + lane->histogram_offset) +
			    (uint64_t)brick * BRICK_HISTOGRAM_BUCKETS;
	uint64_t bit = 1ull << (brick & 63);

	if (BRICK_UNLIKELY(!(lane->histogram_rows[brick >> 6] & bit))) {
		if (back_row(lane, brick)) {
			lane->ledger.table_full++;
			return;
		}
		lane->histogram_rows[brick >> 6] |= bit;
	}
	buckets[brick_histogram_index(ticks)]++;
}
