/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes, where threads and queues record. A new one is made at the end of the session file; it
 * outlives its session while its thread may still write to it. A thread gets one at its first
 * brick: a lane whose thread has ended if there is one (its statistics go on, its rings are warm),
 * else a new one. A thread that uses several sessions has a lane in each; those in which it does
 * not record now are parked.
 */
#include "lib/session/session_lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/lock.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/probe.h"
#include "brick/registry.h"
#include "lib/session/consumer.h"
#include "lib/session/session_map.h"
#include "lib/sys/clock_fit.h"
#include "lib/sys/confined.h"
#include "lib/sys/environment.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"

enum {
	MIN_RING_RECORDS = 1024,
	WHOLE_RINGS = 64,     /* lanes, after which the size of new rings is halved */
	LEAST_SHARE = 4,      /* how often it is halved at most: down to a sixteenth */
	FIRST_RECORDS = 2048, /* of a ring that grows: with memory at first (64 KiB) ... */
	MORE_RECORDS = 8192,  /* ... and beyond what its thread asks for later */
};
#define SLOW __attribute__((noinline, cold))
#define BLOCK_BYTES brick__page_round(BRICK_HISTOGRAM_BLOCK_BYTES)

/*
 * Where row 0 of all blocks would be if this block's place were all of theirs: so that one sum
 * finds a row, whatever its block is.
 */
static uint64_t block_address(const void *block, uint32_t index)
{
	return (uint64_t)(uintptr_t)block - (uint64_t)index * BRICK_HISTOGRAM_BLOCK_BYTES;
}

static void *block_of(const struct brick_lane *lane, uint32_t index)
{
	return (void *)(uintptr_t)(lane->histograms.address[index] +
				   (uint64_t)index * BRICK_HISTOGRAM_BLOCK_BYTES);
}

void brick__lane_unmap(struct brick_lane *lane)
{
	for (uint32_t i = 1; i < BRICK_HISTOGRAM_BLOCKS; i++)
		if (lane->histograms.address[i])
			brick__sys_unmap(block_of(lane, i), BLOCK_BYTES);
	brick__sys_unmap(lane, brick__page_round(lane->ring_offset +
						 lane->capacity * sizeof(struct brick_record)));
}

void brick__thread_forget(struct brick__thread *self)
{
	struct brick_session *session = self->session;

	*self = (struct brick__thread)BRICK__NO_THREAD;
	self->session = session;
}

bool brick__emitting;

bool brick__emits(void)
{
	static bool is_known;

	if (!__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) {
		const char *wanted = brick__environment("BRICK_EMIT");
		bool is = wanted && !strcmp(wanted, "nvtx");
		__atomic_store_n(&brick__emitting, is, __ATOMIC_RELAXED);
		__atomic_store_n(&is_known, true, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&brick__emitting, __ATOMIC_RELAXED);
}

/*
 * A brick that lies in one whose OPEN was dropped is counted here: the consumer would not know in
 * what it lies.
 */
void brick__thread_aim(struct brick__thread *self)
{
	struct brick_lane *lane = self->lane;
	uint32_t depth = lane->depth;
	bool fast = brick__counter_used && depth < BRICK_MAX_DEPTH &&
		    !__atomic_load_n(&brick__emitting, __ATOMIC_RELAXED) &&
		    !(depth && lane->frames[depth - 1].flags & BRICK_FRAME_UNSEEN);

	self->frame = fast ? &lane->frames[depth] : &brick__taken;
	self->span = fast ? self->tag | (depth + 1) : BRICK__NO_SPAN;
	self->word = BRICK_RECORD_SAMPLE | (uint64_t)BRICK_SOURCE_TSC << 8 |
		     (uint64_t)((lane->default_layer - 1) & 0xffff) << 32 |
		     (uint64_t)(fast ? BRICK_FLAG_UNCOUNTED : 0) << 48;
}

/* Makes `count` rows of statistics from brick `first` on valid. They must have memory. */
static void init_rows(struct brick_lane *lane, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		lane->stats[i].min = UINT64_MAX;
	for (uint32_t i = first / BRICK_ROW_GROUP; i < (first + count) / BRICK_ROW_GROUP; i++)
		__atomic_or_fetch(
			&lane->row_groups[i / 64], UINT64_C(1) << i % 64, __ATOMIC_RELEASE);
}

/* Under the session lock: gives rows memory. `offset`: of the lane in the file. */
static int reserve_rows(struct brick_session *s, uint64_t offset, uint32_t first, uint32_t count)
{
	int error = brick__shared_reserve(&s->file,
		offset + offsetof(struct brick_lane, stats) + first * sizeof(struct brick_stat),
		count * sizeof(struct brick_stat));

	return error ? error
		     : brick__shared_reserve(&s->file,
			       offset + offsetof(struct brick_lane, drained.stats) +
				       first * sizeof(struct brick_leaf_stat),
			       count * sizeof(struct brick_leaf_stat));
}

/*
 * A queue gets half a thread's ring: it has fewer commands than a thread has bricks, if three
 * records for each. Each further 64 lanes get half as much, down to a sixteenth, so that a
 * thousand threads do not take 8 GB.
 */
static uint32_t ring_records(const struct brick_session *s, enum brick_lane_kind kind)
{
	uint32_t halved = s->header->lane_count / WHOLE_RINGS;
	uint32_t records = s->ring_records / (kind == BRICK_LANE_THREAD ? 1 : 2) >>
			   (halved < LEAST_SHARE ? halved : LEAST_SHARE);
	uint32_t least = s->ring_records < MIN_RING_RECORDS ? s->ring_records : MIN_RING_RECORDS;

	return records < least ? least : records;
}

/*
 * Makes a spare lane at the end of the file. No reader sees it before give_out(). backed: records
 * of its ring that get memory at once.
 */
static struct brick_lane *make_lane(
	struct brick_session *s, enum brick_lane_kind kind, uint32_t records, uint32_t backed)
{
	uint32_t index = s->header->lane_count + s->spare_lanes;
	uint64_t histogram_offset = brick__page_round(sizeof(struct brick_lane));
	uint64_t ring_offset = brick__page_round(histogram_offset + BRICK_HISTOGRAM_BLOCK_BYTES);
	uint64_t ring_bytes = brick__page_round(records * sizeof(struct brick_record));
	uint64_t bytes = ring_offset + ring_bytes, offset = s->end;
	int error = 0;

	if (index >= BRICK_MAX_LANES)
		return NULL;
	if (brick__shared_extend(&s->file, offset + bytes) ||
		brick__shared_reserve(&s->file, offset, offsetof(struct brick_lane, stats)) ||
		brick__shared_reserve(&s->file, offset + offsetof(struct brick_lane, drained),
			offsetof(struct brick_drained, stats)) ||
		reserve_rows(s, offset, 0, BRICK_FIRST_ROWS) ||
		(backed && brick__shared_reserve(&s->file, offset + ring_offset,
				   backed * sizeof(struct brick_record))))
		return NULL;
	struct brick_lane *lane = brick__shared_map(&s->file, offset, bytes, &error);
	if (!lane)
		return NULL;
	lane->kind = kind;
	lane->capacity = records;
	lane->backed = backed;
	if (records)
		lane->limit = backed - 2 * BRICK_MAX_DEPTH;
	lane->histogram_offset = histogram_offset;
	lane->ring_offset = ring_offset;
	lane->histograms.address[0] = (uint64_t)(uintptr_t)lane + histogram_offset;
	init_rows(lane, 0, BRICK_FIRST_ROWS);
	lane->histograms.offset[0] = offset + histogram_offset;
	s->lanes[index] = (struct brick__lane_entry){.lane = lane, .bytes = bytes};
	s->end = offset + bytes;
	s->spare_lanes++;
	return lane;
}

/* Puts the first spare lane into the lane table, and returns it. */
static struct brick_lane *give_out(struct brick_session *s)
{
	uint32_t index = s->header->lane_count;
	struct brick_session_lane *table = brick__at(s, BRICK_SESSION_LANES_OFFSET);
	struct brick__lane_entry *entry = &s->lanes[index];

	table[index] = (struct brick_session_lane){
		entry->lane->histograms.offset[0] - entry->lane->histogram_offset, entry->bytes};
	__atomic_store_n(&s->header->lane_count, index + 1, __ATOMIC_RELEASE);
	s->spare_lanes--;
	return entry->lane;
}

static struct brick_lane *create_lane(
	struct brick_session *s, enum brick_lane_kind kind, uint32_t records)
{
	bool in_parts = s->rings_grow && kind == BRICK_LANE_THREAD && records > FIRST_RECORDS;
	uint32_t backed = in_parts ? FIRST_RECORDS : records;

	return make_lane(s, kind, records, backed) ? give_out(s) : NULL;
}

/*
 * A guest leaves most of what the program may still have to the program: a ring gets a part of the
 * memory that is left, and there is no lane where addresses are short.
 */
static uint32_t within_limits(uint32_t records)
{
	enum { PART = 32 };
	uint64_t memory = brick__sys_memory_left(), addresses = brick__sys_addresses_left();
	uint64_t rows = sizeof(struct brick_lane) + BRICK_HISTOGRAM_BLOCK_BYTES;

	while (records / 4 >= MIN_RING_RECORDS &&
		(records * sizeof(struct brick_record) > memory / PART ||
			(records * sizeof(struct brick_record) + rows) >
				addresses / BRICK__ADDRESSES_PART))
		records /= 4;
	return (records * sizeof(struct brick_record) + rows) > addresses / BRICK__ADDRESSES_PART
		       ? 0
		       : records;
}

/* Rows of histograms for what is registered, so that entering into them needs nothing any more. */
static void back_known_rows(struct brick_session *s, struct brick_lane *lane)
{
	struct brick_lane_histograms *histograms = &lane->histograms;
	uint32_t count = s->header->brick_count < BRICK_FIRST_ROWS ? s->header->brick_count
								   : BRICK_FIRST_ROWS;

	if (brick__shared_reserve(
		    &s->file, histograms->offset[0], count * BRICK_HISTOGRAM_ROW_BYTES))
		return;
	for (uint32_t i = 0; i < count; i++)
		__atomic_or_fetch(
			&histograms->rows[i / 64], UINT64_C(1) << i % 64, __ATOMIC_RELEASE);
}

/* Where memory is short, a smaller ring is better than none. */
struct brick_lane *brick__lane_create(struct brick_session *s, enum brick_lane_kind kind)
{
	if (s->spare_lanes) /* of threads: there will be no others */
		return kind == BRICK_LANE_THREAD ? give_out(s) : NULL;
	uint32_t wanted = ring_records(s, kind), records = wanted ? within_limits(wanted) : 0;
	struct brick_lane *lane = wanted && !records ? NULL : create_lane(s, kind, records);

	while (!lane && records / 4 >= MIN_RING_RECORDS && s->header->lane_count < BRICK_MAX_LANES)
		lane = create_lane(s, kind, records /= 4);
	if (lane && kind == BRICK_LANE_THREAD && !s->ring_records)
		back_known_rows(s, lane);
	return lane;
}

static uint32_t quiet_serial; /* the last session whose lanes were all unmapped; 0: none was */

/* Serial numbers of the process's own session grow. */
bool brick__lane_is_gone(uint32_t serial)
{
	return quiet_serial && (int32_t)(serial - quiet_serial) <= 0;
}

void brick__lanes_release(struct brick_session *s, bool is_quiet)
{
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		struct brick__lane_entry *entry = &s->lanes[i];
		int ours = entry->lane == brick__thread.lane;
		if (!ours && !is_quiet &&
			__atomic_load_n(&entry->lane->state, __ATOMIC_ACQUIRE) == BRICK_LANE_LIVE)
			continue; /* its owner unmaps it */
		brick__lane_unmap(entry->lane);
		if (ours)
			brick__thread_forget(&brick__thread);
	}
	for (; s->spare_lanes; s->spare_lanes--)
		brick__lane_unmap(s->lanes[s->header->lane_count + s->spare_lanes - 1].lane);
	if (is_quiet)
		quiet_serial = s->serial;
}

void brick__lanes_abandon(struct brick_session *s)
{
	uint32_t count = s->header ? s->header->lane_count + s->spare_lanes : 0;

	s->spare_lanes = 0;
	for (uint32_t i = 0; i < count; i++) {
		/* not as the lane says, since the parent goes on with it */
		for (uint32_t block = 1; block < BRICK_HISTOGRAM_BLOCKS; block++)
			if (s->lanes[i].blocks[block])
				brick__sys_unmap(s->lanes[i].blocks[block], BLOCK_BYTES);
		brick__sys_unmap(s->lanes[i].lane, s->lanes[i].bytes);
	}
}

/* Under the session lock. */
static struct brick_session *session_of_lane(const struct brick_lane *lane, uint32_t *index)
{
	for (struct brick_session *s = &brick__session; s; s = s->next)
		for (uint32_t i = 0; s->header && i < s->header->lane_count; i++)
			if (s->lanes[i].lane == lane) {
				*index = i;
				return s;
			}
	return NULL;
}

/* Under the session lock: gives the ring memory up to record `records`, and touches it. */
static int session_lanes_back_ring(struct brick_session *s, uint32_t index, uint64_t records)
{
	const struct brick_session_lane *table = brick__at(s, BRICK_SESSION_LANES_OFFSET);
	struct brick_lane *lane = s->lanes[index].lane;
	uint64_t from = lane->ring_offset + lane->backed * sizeof(struct brick_record);

	if (records <= lane->backed)
		return 0;
	uint64_t bytes = (records - lane->backed) * sizeof(struct brick_record);
	int error = brick__shared_reserve(&s->file, table[index].offset + from, bytes);
	if (error)
		return error;
	brick__sys_touch((char *)lane + from, bytes);
	brick__lane_backed(lane, records);
	return 0;
}

/* After a refusal it is tried again at the 2nd, 4th, 8th ... time, and at each 4096th. */
void brick__lane_back(struct brick_lane *lane, uint64_t records)
{
	uint32_t i;
	uint64_t refused = lane->back_refusals++;

	if (((refused & (refused - 1)) && refused % 4096) || brick__session_is_busy())
		return;
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = session_of_lane(lane, &i);
	records += MORE_RECORDS;
	if (s &&
		!session_lanes_back_ring(s, i, records < lane->capacity ? records : lane->capacity))
		lane->back_refusals = 0;
}

/* Under the session lock: maps a further block of a lane's histograms. -ENOMEM: no addresses left.
 */
static int make_block(struct brick_session *s, uint32_t lane_number, uint32_t block)
{
	struct brick__lane_entry *entry = &s->lanes[lane_number];
	struct brick_lane_histograms *histograms = &entry->lane->histograms;
	int error = BLOCK_BYTES > brick__sys_addresses_left() / BRICK__ADDRESSES_PART ? -ENOMEM : 0;

	if (!error)
		error = brick__shared_extend(&s->file, s->end + BLOCK_BYTES);
	if (!error)
		entry->blocks[block] = brick__shared_map(&s->file, s->end, BLOCK_BYTES, &error);
	if (error)
		return error;
	histograms->address[block] = block_address(entry->blocks[block], block);
	__atomic_store_n(&histograms->offset[block], s->end, __ATOMIC_RELEASE);
	s->end += BLOCK_BYTES;
	return 0;
}

/*
 * The row of a brick in a lane's histograms is a hole in the file until its first entry. Give it
 * memory.
 */
static SLOW int back_row(struct brick_lane *lane, uint32_t brick)
{
	uint32_t i, block = brick / BRICK_FIRST_ROWS;
	int error = 0;

	if (brick__session_is_busy())
		return -EBUSY;
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = session_of_lane(lane, &i);
	if (!s)
		return -ENOENT;
	if (!lane->histograms.offset[block])
		error = make_block(s, i, block);
	return error ? error
		     : brick__shared_reserve(&s->file,
			       lane->histograms.offset[block] +
				       (uint64_t)(brick % BRICK_FIRST_ROWS) *
					       BRICK_HISTOGRAM_ROW_BYTES,
			       BRICK_HISTOGRAM_ROW_BYTES);
}

/* The first block's place is not looked up: that load would have to wait for the brick's id. */
static inline uint32_t *session_lanes_row_of(const struct brick_lane *lane, uint32_t brick)
{
	uint64_t row = (uint64_t)brick * BRICK_HISTOGRAM_ROW_BYTES;

	if (BRICK_LIKELY(brick < BRICK_FIRST_ROWS))
		return (uint32_t *)((char *)lane + lane->histogram_offset + row);
	return (uint32_t *)(uintptr_t)(lane->histograms.address[brick / BRICK_FIRST_ROWS] + row);
}

void brick__lane_histogram(struct brick_lane *lane, uint32_t brick, uint64_t ticks)
{
	struct brick_lane_histograms *histograms = &lane->histograms;
	uint64_t bit = 1ull << (brick & 63);

	if (BRICK_UNLIKELY(!(histograms->rows[brick >> 6] & bit))) {
		if (back_row(lane, brick)) {
			lane->ledger.table_full++;
			return;
		}
		__atomic_or_fetch(&histograms->rows[brick >> 6], bit, __ATOMIC_RELEASE);
	}
	session_lanes_row_of(lane, brick)[brick_histogram_index(ticks)]++;
}

uint32_t *brick__lane_histogram_row(const struct brick_lane *lane, uint32_t brick)
{
	uint64_t rows = __atomic_load_n(&lane->histograms.rows[brick >> 6], __ATOMIC_ACQUIRE);

	return rows >> (brick & 63) & 1 ? session_lanes_row_of(lane, brick) : NULL;
}

/* Under the session lock. */
static int back_group(struct brick_lane *lane, uint32_t brick)
{
	uint32_t i, first = brick - brick % BRICK_ROW_GROUP;
	struct brick_session *s = session_of_lane(lane, &i);

	if (!s)
		return -ENOENT;
	if (brick >= s->header->brick_count)
		return -EINVAL;
	const struct brick_session_lane *table = brick__at(s, BRICK_SESSION_LANES_OFFSET);
	int error = reserve_rows(s, table[i].offset, first, BRICK_ROW_GROUP);
	if (!error)
		init_rows(lane, first, BRICK_ROW_GROUP);
	return error;
}

/* After a refusal it is tried again at the 2nd, 4th, 8th ... time. */
SLOW bool brick__lane_rows(struct brick_lane *lane, uint32_t brick)
{
	int error = -EBUSY;

	if (brick_lane_has_rows(lane, brick))
		return true;
	if (brick >= brick_count()) {
		lane->ledger.unmatched++;
		return false;
	}
	uint64_t refused = lane->row_refusals++;
	if (!(refused & (refused - 1)) && !brick__session_is_busy()) {
		BETWEEN(brick__session_lock, brick__session_unlock);
		error = back_group(lane, brick);
	}
	if (error)
		lane->ledger.table_full++;
	else
		lane->row_refusals = 0;
	return !error;
}

void (*brick__thread_begun)(void);

static struct thread_exit session_lanes_exit_of_thread;

static __thread struct {
	bool is_named;		      /* by brick_thread_name() */
	uint32_t refused, refused_by; /* how often it got no lane, from which session */
} session_lanes_here __attribute__((tls_model("initial-exec")));

/*
 * Between two owners no brick is open that will be closed, so the room is free that the ring
 * keeps for closes. 1: it was written.
 */
static int session_lanes_append(const struct brick__thread *self, const struct brick_record *r)
{
	struct brick_lane *lane = self->lane;
	uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);

	if (lane->head - tail >= lane->capacity || !brick__lane_backs(lane, 1))
		return 0;
	self->ring[lane->head & self->mask] = *r;
	__atomic_store_n(&lane->head, lane->head + 1, __ATOMIC_RELEASE);
	return 1;
}

/* Says who has the lane from now on. tid 0: nobody, and open bricks never end. */
static void announce_owner(const struct brick__thread *self, uint64_t now, uint64_t tid)
{
	const struct brick_record r = {
		.begin = now, .kind = BRICK_RECORD_THREAD, .layer = -1, .elements = tid};

	if (!session_lanes_append(self, &r))
		self->lane->ledger.dropped += self->lane->capacity > 0;
}

/* Returns how many bricks were open. */
static uint32_t leave_open(const struct brick__thread *self)
{
	struct brick_lane *lane = self->lane;
	uint32_t count = brick_lane_open(lane);

	for (uint32_t i = 0; i < count; i++) {
		struct brick_frame *frame = &lane->frames[i];
		const struct brick_record open = brick_frame_open(frame);
		if (frame->flags & BRICK_FRAME_OPENED ? frame->flags & BRICK_FRAME_DROPPED
						      : !session_lanes_append(self, &open))
			lane->ledger.unmatched++;
		*frame = (struct brick_frame){0};
	}
	lane->depth = 0;
	return count;
}

/* The thread has ended, or begun in a newer session: nobody writes to its lane any more. */
static void leave_lane(struct brick__thread *self)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_lane *lane = self->lane; /* a fork may have been noticed: it is the parent's */
	struct brick_session *s = lane ? brick__session_of(self->number) : NULL;
	if (!lane)
		return;
	if (s) {
		lane->end_ticks = brick__now();
		lane->live_ticks += lane->end_ticks - lane->start_ticks;
		uint32_t open = leave_open(self);
		/* the next owner's name takes its place in the lane */
		struct brick_record r = {
			.begin = lane->end_ticks, .kind = BRICK_RECORD_NAME, .layer = -1};
		if (!session_lanes_here
				.is_named) /* it may have got another since its first brick */
			brick__sys_thread_name(lane->name, sizeof(lane->name));
		for (uint16_t at = 0; at < sizeof(lane->name) && (!at || lane->name[at - 1]);
			at += BRICK_NAME_PART) {
			brick_name_write(&r, lane->name, at);
			session_lanes_append(self, &r);
		}
		if (open)
			announce_owner(self, lane->end_ticks, 0);
		__atomic_store_n(&lane->state, BRICK_LANE_FREE, __ATOMIC_RELEASE);
		if (s->consumer)
			s->consumer_type->thread_ends(s->consumer);
	} else if (!brick__lane_is_gone(self->number)) {
		brick__lane_unmap(lane);
	}
	brick__thread_forget(self);
}

/* Sessions in which the thread does not record now. */
struct parked {
	struct parked *next;
	struct brick__thread thread;
};

static __thread struct parked *parked_here __attribute__((tls_model("initial-exec")));

static void unpark(struct parked **link)
{
	struct parked *parked = *link;

	*link = parked->next;
	free(parked);
}

/* Lanes whose sessions are over; all: of the others, too. */
static void leave_parked(bool all)
{
	for (struct parked **link = &parked_here; *link;) {
		struct brick__thread *thread = &(*link)->thread;
		if (!all && brick__session_lives(thread->number)) {
			link = &(*link)->next;
			continue;
		}
		leave_lane(thread);
		unpark(link);
	}
}

/* Where there is no memory to park it, the thread leaves its lane. */
static void park(struct brick__thread *self)
{
	struct parked *parked = self->lane ? malloc(sizeof(*parked)) : NULL;

	if (parked) {
		*parked = (struct parked){parked_here, *self};
		parked_here = parked;
	} else if (self->lane) {
		leave_lane(self);
	}
}

static void session_lanes_thread_exits(void *self)
{
	leave_lane(self);
	leave_parked(true);
	brick__session_release(brick__thread_use(NULL));
}

/* Under the session lock, which a fork minds. */
static void need_exit_key(void)
{
	static bool is_made;

	if (!is_made)
		thread_exit_create(&session_lanes_exit_of_thread,
			session_lanes_thread_exits); /* without one, lanes stay taken */
	is_made = true;
}

struct brick_session *brick__thread_use(struct brick_session *session)
{
	struct brick__thread *self = &brick__thread;
	struct brick_session *before = self->session;

	if (session == before)
		return before;
	brick__fork_notice();
	park(self);
	*self = (struct brick__thread)BRICK__NO_THREAD;
	self->session = session;
	brick__session_lock();
	need_exit_key();
	brick__session_unlock();
	thread_exit_set(&session_lanes_exit_of_thread, self);
	leave_parked(false);
	for (struct parked **link = &parked_here; *link; link = &(*link)->next)
		if ((*link)->thread.session == session) {
			*self = (*link)->thread;
			unpark(link);
			break;
		}
	return before;
}

/* In the child of a fork the lanes are the parent's, and unmapped. */
void brick__thread_abandon(void)
{
	brick__thread_forget(&brick__thread);
	for (struct parked *p = parked_here; p; p = p->next)
		brick__thread_forget(&p->thread);
}

/* Lanes; and the part of a usual ring that each of them has. */
enum { LEAST_SPARE = 8, MOST_SPARE = 32, SPARE_PART = 4 };

/* Makes two spare lanes for each CPU, from 8 to 32; returns how many there are. */
static uint32_t make_spare_lanes(struct brick_session *s)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t wanted = cpus < LEAST_SPARE / 2  ? LEAST_SPARE
			  : cpus > MOST_SPARE / 2 ? MOST_SPARE
						  : 2 * (uint32_t)cpus;

	while (s->spare_lanes < wanted) {
		uint32_t records = ring_records(s, BRICK_LANE_THREAD) / SPARE_PART;
		if (records < MIN_RING_RECORDS || !(records = within_limits(records)))
			break;
		struct brick_lane *lane = make_lane(s, BRICK_LANE_THREAD, records, records);
		if (!lane)
			break;
		back_known_rows(s, lane);
		brick__sys_touch((char *)lane + lane->ring_offset,
			lane->capacity * sizeof(struct brick_record));
	}
	return s->spare_lanes;
}

/* Gives memory to further sites: engines register some whenever a batch has another shape. */
static void reserve_sites(struct brick_session *s)
{
	enum { AHEAD = 4096 };
	uint32_t count = s->header->site_count + AHEAD;
	uint64_t per_page = 4096 / sizeof(struct brick_session_site), from = s->header->site_offset;

	if (count > BRICK_MAX_SITES)
		count = BRICK_MAX_SITES;
	uint64_t bytes = count / per_page * 4096;
	if (brick__shared_reserve(&s->file, from, bytes))
		return;
	s->file.ready_from = from;
	s->file.ready_to = from + bytes;
}

static void session_lanes_prepare(struct brick_session *s)
{
	char note[160];

	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		back_known_rows(s, s->lanes[i].lane);
		session_lanes_back_ring(s, i, s->lanes[i].lane->capacity);
	}
	reserve_sites(s);
	int n = snprintf(note, sizeof(note),
		"seccomp=it filtered its system calls, or tried to: threads that begin later have "
		"no names, and %u of them can be recorded at a time\n",
		make_spare_lanes(s));
	brick__notes_append(s->header, note, (size_t)n);
}

void brick__confine(void)
{
	KEEP_ERRNO();

	if (brick__sys_is_confined())
		return;
	lock_leave_signals(true);
	if (!brick__session_is_busy()) {
		BETWEEN(brick__session_lock, brick__session_unlock);
		for (struct brick_session *s = &brick__session; s; s = s->next)
			if (s->header && s->ring_records && !brick__sys_is_confined())
				session_lanes_prepare(s);
	}
	__atomic_store_n(&brick__confined, 1, __ATOMIC_RELEASE);
}

static const char counter_note[] =
	"counter=it switched off the reading of the CPU's counter (prctl(PR_SET_TSC), strict "
	"seccomp): nothing is recorded from then on\n";

void brick__counter_goes(void)
{
	KEEP_ERRNO();

	BETWEEN(brick__session_lock, brick__session_unlock);
	for (struct brick_session *s = &brick__session; s; s = s->next) {
		if (!s->header)
			continue;
		brick__notes_append(s->header, counter_note, sizeof(counter_note) - 1);
		brick__switch_set(s, false);
	}
	brick__clock_freeze();
	if (brick__thread.lane)
		brick__thread_aim(&brick__thread);
}

/* Under the session lock: a lane that no thread uses any more, with a ring where there are some. */
static struct brick_lane *reuse_lane(struct brick_session *s)
{
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		struct brick_lane *lane = s->lanes[i].lane;
		if (lane->kind == BRICK_LANE_THREAD && !lane->capacity == !s->ring_records &&
			__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == BRICK_LANE_FREE)
			return lane;
	}
	return NULL;
}

/* since: when the making of a new lane began. */
static void own_lane(const struct brick_session *s, struct brick_lane *lane, uint64_t since)
{
	struct brick__thread *self = &brick__thread;
	uint32_t serial = brick__serial_here();

	lane->tid = brick__sys_thread_id();
	lane->start_ticks = lane->owners++ ? brick__now() : since;
	lane->end_ticks = 0;
	lane->depth = 0;
	lane->default_layer = 0;
	memset(lane->name, 0, sizeof(lane->name));
	brick__sys_thread_name(lane->name, sizeof(lane->name));
	session_lanes_here.is_named = false;
	self->lane = lane;
	self->ring = (struct brick_record *)((char *)lane + lane->ring_offset);
	self->mask = lane->capacity ? lane->capacity - 1 : 0;
	self->number = s->serial;
	session_lanes_here.refused = 0;
	uint32_t index = 0;
	while (s->lanes[index].lane != lane)
		index++;
	self->tag = (self->number << 10 | index) << 8;
	brick__emits(); /* asked once, before it matters */
	brick__thread_aim(self);
	announce_owner(self, lane->start_ticks, lane->tid);
	__atomic_store_n(&lane->state, BRICK_LANE_LIVE, __ATOMIC_RELEASE);
	/* last: from here on the fast half takes the frame, also in a signal's handler */
	__atomic_store_n(&self->serial, serial, __ATOMIC_RELEASE);
}

/*
 * The lane that the thread has, if its session goes on and records. What it compares brick__on with
 * was read before, so that a change in between is seen at the next brick.
 */
static struct brick_lane *keep_lane(struct brick__thread *self, const struct brick_session *s)
{
	uint32_t on = __atomic_load_n(brick__on_here, __ATOMIC_ACQUIRE);

	if (!self->lane || !on || !brick__session_records(s) ||
		self->number != __atomic_load_n(&s->live, __ATOMIC_ACQUIRE))
		return NULL;
	bool is_right =
		!self->lane->capacity == !__atomic_load_n(&s->ring_records, __ATOMIC_RELAXED);
	if (!is_right && !brick_lane_open(self->lane))
		return NULL;
	if (is_right) /* else it looks again until no brick is open */
		self->serial = on;
	return self->lane;
}

/*
 * After a refusal a lane is tried for again at the 2nd, 4th, 8th ... record, and at every
 * 4096th. Not at each record, since a try costs as much as a whole lane.
 */
static bool may_try(void)
{
	uint32_t number = brick__number_here(), n = session_lanes_here.refused;

	if (session_lanes_here.refused_by != number || !n)
		return true;
	session_lanes_here.refused++;
	return !(n & (n - 1)) || n % 4096 == 0;
}

static void session_lanes_note_refusal(void)
{
	uint32_t number = brick__number_here();

	if (session_lanes_here.refused_by == number && session_lanes_here.refused)
		return;
	session_lanes_here.refused_by = number;
	session_lanes_here.refused = 1;
}

static struct brick_lane *attach(struct brick__thread *self)
{
	struct brick_lane *lane = NULL;

	brick__fork_notice();
	struct brick_session *s = brick__session_here();
	lane = keep_lane(self, s);
	if (lane || !brick__session_records(s) || !may_try())
		return lane;
	if (self->lane)
		leave_lane(self);
	brick__session_ensure();
	uint64_t since = brick__now();
	brick__session_lock();
	need_exit_key();
	if (s->header && brick__session_records(s)) {
		lane = reuse_lane(s);
		if (!lane)
			lane = brick__lane_create(s, BRICK_LANE_THREAD);
		if (lane && s->consumer)
			s->consumer_type->thread_begins(s->consumer);
		if (lane)
			own_lane(s, lane, since);
	}
	if (!lane)
		session_lanes_note_refusal();
	brick__session_unlock();
	if (lane && lane->owners == 1) /* others need not wait for this */
		brick__sys_touch(self->ring, lane->backed * sizeof(*self->ring));
	if (lane)
		thread_exit_set(&session_lanes_exit_of_thread, self);
	void (*begun)(void) = __atomic_load_n(&brick__thread_begun, __ATOMIC_RELAXED);
	if (lane && begun)
		begun();
	return lane;
}

struct brick_lane *brick__thread_attach(void)
{
	static __thread bool is_attaching __attribute__((tls_model("initial-exec")));
	KEEP_ERRNO();

	/* a handler of a signal that came meanwhile would wait for its own thread */
	if (is_attaching || brick__session_is_busy())
		return NULL;
	if (brick__sys_stack_is_small()) { /* a lane is made at the next try, elsewhere */
		session_lanes_note_refusal();
		return NULL;
	}
	BETWEEN(lock_still_begin, lock_still_end);
	is_attaching = true;
	struct brick_lane *lane = attach(&brick__thread);
	is_attaching = false;
	return lane;
}

void brick__end_unmatched(struct brick__thread *self)
{
	if (self->lane) {
		self->lane->ledger.unmatched++;
		return;
	}
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session_here()->header)
		brick__session_here()->header->ledger.unmatched++;
}

void brick_thread_name(const char *name)
{
	if (!name || !brick_enabled() ||
		(brick__thread.serial != brick__serial_here() && !brick__thread_attach()))
		return;
	snprintf(brick__thread.lane->name, sizeof(brick__thread.lane->name), "%s", name);
	session_lanes_here.is_named = true;
}
