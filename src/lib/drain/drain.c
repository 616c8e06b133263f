/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One consumer from its opening to its end. It emits what the session holds: process and lanes,
 * tables before the records that use them, and exact statistics when the session is over.
 */
#include "lib/drain/drain.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/members.h"
#include "brick/abi/overhead.h"
#include "brick/cpu.h"
#include "brick/queue.h"
#include "lib/drain/drain_areas.h"
#include "lib/drain/expand.h"
#include "lib/drain/map_session.h"
#include "lib/drain/off_cpu.h"
#include "lib/probe/leaf_stats.h"
#include "lib/sys/sys.h"
#include "lib/writer/trace_records.h"
#include "format/format.h"
#include "format/machine_use.h"

/* How long a thread has run and queued since it began, as the scheduler counts it. */
struct thread_reading {
	uint32_t tid; /* 0: none yet */
	uint64_t ns;  /* when it was read; CLOCK_MONOTONIC */
	uint64_t ran_ns, queued_ns;
};

struct drain {
	struct drain_map map;
	/* consuming */
	ARRAY(struct thread_reading) readings;	/* by lane, the last ones */
	uint64_t readings_ns;			/* when they were read; 0: not yet */
	uint64_t watched_ns, ran_ns, queued_ns; /* sums over all threads, between two readings */
	/* emitting */
	int process;		/* in the writer; -1: not emitted yet */
	const struct drain *of; /* of a replay: the session's drain */
	/* the file leaves out what began earlier: the end of a step that its begin has cut */
	uint64_t cut_ticks;   /* CUT_UNKNOWN: that has not come yet; 0: no step was cut */
	size_t held;	      /* records of all lanes that wait for it */
	uint64_t end_ticks;   /* the file ends there: drain_end_set(); 0: it goes on */
	uint64_t since_ticks; /* threads that recorded later may still have something for it */
	uint64_t begin_ticks; /* of this file: what began until then is left out; 0: nothing is */
	struct drain_counts counts;
	struct drain_tables tables;
	uint32_t code; /* bytes of the session's code that were emitted */
	struct drain_digests digests;
	struct drain_notes notes;
	struct drain_off_cpu off_cpu;
	struct drain_histograms histograms;
	struct brick_lane scratch; /* copy of a lane, completed for the writer */
	struct leaf_stats leaves;  /* of the lane in scratch */
};

#define CUT_UNKNOWN UINT64_MAX

static int open_session(
	struct drain **out, int fd, bool view, const struct drain_guard *guard, const char **why)
{
	struct drain *d = calloc(1, sizeof(*d));

	*why = "out of memory";
	if (!d)
		return -ENOMEM;
	d->process = -1;
	drain_tables_init(&d->tables);
	int error = drain_map_open(&d->map, fd, view, guard, why);
	if (error) {
		free(d);
		return error;
	}
	*out = d;
	return 0;
}

int drain_open(struct drain **out, int fd, const struct drain_guard *guard, const char **why)
{
	return open_session(out, fd, false, guard, why);
}

int drain_open_view(struct drain **out, int fd, const struct drain_guard *guard, const char **why)
{
	return open_session(out, fd, true, guard, why);
}

int drain_open_replay(struct drain **out, struct drain *of, const char **why)
{
	struct drain *d;
	int error = open_session(&d, of->map.fd, true, of->map.guard, why);

	if (error)
		return error;
	d->of = of;
	d->map.in_parts = of->map.in_parts;
	uint32_t lanes = __atomic_load_n(&of->map.lane_count, __ATOMIC_ACQUIRE);
	bool is_whole = drain_map_lanes(&d->map) >= lanes;
	for (uint32_t i = 0; i < lanes && is_whole; i++) {
		d->map.lanes[i]->in_parts = of->map.lanes[i]->in_parts;
		is_whole = d->map.lanes[i]->shared || !of->map.lanes[i]->shared;
	}
	if (!is_whole) {
		*why = "a lane cannot be mapped";
		drain_close(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void drain_close(struct drain *d)
{
	if (!d)
		return;
	drain_histograms_fini(&d->histograms, &d->map);
	drain_off_cpu_fini(&d->off_cpu);
	array_fini(&d->readings);
	drain_tables_fini(&d->tables);
	drain_map_close(&d->map);
	free(d);
}

const struct brick_session_header *drain_header(const struct drain *d)
{
	return &d->map.header;
}

struct trace_writer_options drain_title(
	const struct drain *d, struct drain_title *title, const char *path)
{
	const struct brick_session_header *h = &d->map.header;
	size_t count = 0, most = sizeof(title->command) / sizeof(title->command[0]) - 1;

	for (uint32_t at = 0; at < h->command_bytes && count < most;) {
		title->command[count++] = h->command + at;
		at += (uint32_t)strlen(h->command + at) + 1;
	}
	title->command[count] = NULL;
	file_field("/proc/cpuinfo", "model name", title->cpu, sizeof(title->cpu));
	return (struct trace_writer_options){
		.path = path,
		.start_unix_ns = h->start_unix_ns,
		.start_ns = h->start_ns,
		.command = title->command,
		.host = h->host,
		.cpu = title->cpu[0] ? title->cpu : NULL,
		.isa = brick_cpu_isa(),
	};
}

uint32_t drain_state(const struct drain *d, uint64_t *end_ticks)
{
	const struct brick_session_header *shared = d->map.shared;
	uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);

	*end_ticks = __atomic_load_n(&shared->end_ticks, __ATOMIC_RELAXED);
	return state;
}

const char *drain_fault(const struct drain *d)
{
	return drain_map_fault(&d->map);
}

uint64_t drain_ticks(const struct drain *d)
{
	const struct brick_clock *clock = &d->map.header.clock;

	return brick_ticks() - (clock->source == BRICK_CLOCK_MONOTONIC ? clock->base_ns : 0);
}

uint32_t drain_lanes(struct drain *d)
{
	return drain_map_lanes(&d->map);
}

bool drain_lane_is_missing(const struct drain *d)
{
	return d->map.lane_is_missing;
}

uint32_t drain_digest_level(struct drain *d)
{
	return drain_digests_level(&d->digests, &d->map);
}

/*
 * If a lane's thread changes between two readings, the time between them is not counted. The
 * numbers of a thread vanish when it ends, so that up to one interval is missing.
 */

enum { MAX_TID = 1 << 22 };

static bool drain_read_thread(uint32_t pid, uint64_t tid, struct thread_reading *out)
{
	if (!tid || tid > MAX_TID)
		return false;
	out->tid = (uint32_t)tid;
	out->ns = monotonic_ns();
	return !brick__sys_thread_schedule(pid, out->tid, &out->ran_ns, &out->queued_ns);
}

void drain_watch_threads(struct drain *d, uint32_t interval_ms)
{
	const struct drain_map *map = &d->map;
	uint64_t now_ns = monotonic_ns();

	if (d->readings_ns && now_ns - d->readings_ns < (uint64_t)interval_ms * 1000000)
		return;
	d->readings_ns = now_ns;
	while (d->readings.count < map->lane_count)
		if (array_push(&d->readings, (struct thread_reading){0}))
			return; /* those without memory are watched from later on */
	for (uint32_t i = 0; i < map->lane_count; i++) {
		const struct brick_lane *lane = map->lanes[i]->shared;
		struct thread_reading now = {0};
		if (lane && lane->kind == BRICK_LANE_THREAD &&
			__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == BRICK_LANE_LIVE &&
			drain_read_thread(map->header.pid, lane->tid, &now)) {
			struct thread_reading *last = &d->readings.items[i];
			if (last->tid == now.tid && now.ran_ns >= last->ran_ns &&
				now.queued_ns >= last->queued_ns) {
				d->watched_ns += now.ns - last->ns;
				d->ran_ns += now.ran_ns - last->ran_ns;
				d->queued_ns += now.queued_ns - last->queued_ns;
			}
			*last = now;
		}
	}
}

void drain_threads_account(const struct drain *d, struct off_cpu_account *account)
{
	account->watched_ns += d->watched_ns;
	account->ran_ns += d->ran_ns;
	account->queued_ns += d->queued_ns;
}

/*
 * Consuming: one look at `head`, one or two copies, one store of `tail`. Whoever calls this must
 * keep rings from filling up, so nothing in here waits, allocates or calls the system. A head that
 * its owner cannot have written makes the lane unusable.
 */
static void drain_give_up(struct drain *d, struct drain_lane *lane)
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
		drain_give_up(d, lane);
		return level;
	}
	level.waiting = head - lane->tail;
	level.capacity = lane->capacity;
	level.written = head;
	return level;
}

/* `n` records of the ring from the one of that number on. */
static void copy_ring(
	const struct drain_lane *lane, uint64_t first, struct brick_record *out, size_t n)
{
	const struct brick_record *ring =
		(const void *)((const char *)lane->shared + lane->ring_offset);
	size_t at = (size_t)(first & (lane->capacity - 1));
	size_t before_end = n < lane->capacity - at ? n : (size_t)(lane->capacity - at);

	memcpy(out, ring + at, before_end * sizeof(*out));
	memcpy(out + before_end, ring, (n - before_end) * sizeof(*out));
}

/* Those that nobody has counted. A reset leaves out what was recorded before it. */
static void count_leaves(struct drain_lane *lane, const struct brick_record *records, size_t count)
{
	struct brick_drained *drained = &lane->shared->drained;
	uint64_t reset =
		__atomic_load_n(&lane->shared->counted_from, __ATOMIC_RELAXED) - lane->tail;
	size_t first = reset <= count ? (size_t)reset : 0;

	if (__atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) == BRICK_LANE_QUEUE)
		return;
	leaf_count_all(drained->stats, BRICK_MAX_BRICKS, &lane->open_depth, lane->open,
		records + first, count - first);
	drained->depth = lane->open_depth;
	memcpy(drained->open, lane->open, lane->open_depth * sizeof(*lane->open));
}

size_t drain_consume(struct drain *d, uint32_t index, struct brick_record *out, size_t capacity)
{
	struct drain_level level = drain_level(d, index);
	struct drain_lane *lane = d->map.lanes[index];
	size_t count = level.waiting < capacity ? (size_t)level.waiting : capacity;

	if (!count)
		return 0;
	copy_ring(lane, lane->tail, out, count);
	if (drain_map_page_lost(&d->map))
		return 0;
	uint64_t turn = lane->shared->turn | 1;
	__atomic_store_n(&lane->shared->turn, turn, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	count_leaves(lane, out, count);
	lane->tail += count;
	__atomic_store_n(&lane->shared->tail, lane->tail, __ATOMIC_RELEASE);
	__atomic_store_n(&lane->shared->turn, turn + 1, __ATOMIC_RELEASE);
	return count;
}

/*
 * Looking at a session that somebody else consumes: the newest records of a ring are copied while
 * its owner goes on writing. What the owner may have overwritten meanwhile is told from how far it
 * has got since, and left out; nothing is ever written.
 */
/*
 * Records are written before `head` covers them: at most so many at a time, each of which takes
 * the place of the one a whole ring before.
 */
enum { IN_FLIGHT = 2 * BRICK_MAX_DEPTH };

static uint64_t drain_head_of(struct drain *d, struct drain_lane *lane)
{
	uint64_t head = __atomic_load_n(&lane->shared->head, __ATOMIC_ACQUIRE);

	if (head >= lane->seen)
		return head;
	drain_give_up(d, lane);
	return 0;
}

size_t drain_peek(
	struct drain *d, uint32_t index, struct brick_record *out, size_t capacity, uint64_t *first)
{
	struct drain_lane *lane = d->map.lanes[index];

	*first = 0;
	if (!lane->shared || lane->capacity <= IN_FLIGHT)
		return 0;
	uint64_t head = drain_head_of(d, lane);
	uint64_t whole = lane->capacity - IN_FLIGHT;
	/* the first record since the last reset of the process's statistics */
	uint64_t epoch = __atomic_load_n(&lane->shared->counted_from, __ATOMIC_RELAXED);
	if (epoch > head)
		epoch = 0;
	uint64_t count = head - epoch < whole ? head - epoch : whole;
	if (count > capacity)
		count = capacity;
	uint64_t from = head - count;
	*first = from - epoch;
	copy_ring(lane, from, out, (size_t)count);
	/* not a read of the ring may come after this look at how far its owner has got */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	lane->seen = head;
	uint64_t now = drain_head_of(d, lane), oldest = now > whole ? now - whole : 0;
	if (!lane->capacity || drain_map_page_lost(&d->map))
		return 0;
	uint64_t lost = oldest > from ? oldest - from : 0;
	if (lost >= count)
		return 0;
	memmove(out, out + lost, (size_t)(count - lost) * sizeof(*out));
	*first += lost;
	return (size_t)(count - lost);
}

/*
 * A session's lanes in the writer. A lane there is in begin order and nests, as those of threads
 * are in the session. Commands of an out-of-order queue overlap: each goes to the first of the
 * queue's lanes in the writer on which nothing runs any more when it begins; where there is none,
 * one more joins. The first one has the statistics and the ledger of all. The number of lanes in
 * the writer has a bound.
 */

enum { MAX_LANES = 4096 }; /* in the writer, of one lane: commands that run at once */

/*
 * Statistics of a brick while their owner goes on counting: an entry that changed under the copy is
 * copied again, a few times. What is torn even then is one execution ahead in some of its fields.
 */
static void copy_stat(struct brick_stat *to, const struct brick_stat *from, bool careful)
{
	enum { TRIES = 4 };

	for (int try = 0; try < TRIES; try++) {
		memcpy(to, from, sizeof(*to));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!careful || !memcmp(to, from, sizeof(*to)))
			break;
	}
}

/* Of all bricks. What the lane has no rows for it has not counted. */
static void copy_stats(
	struct brick_lane *to, const struct brick_lane *from, uint32_t count, bool careful)
{
	for (uint32_t i = 0, n; i < count; i += n) {
		n = brick_lane_rows_left(i, count);
		if (!brick_lane_has_rows(from, i))
			memset(&to->stats[i], 0, n * sizeof(*to->stats));
		else
			for (uint32_t k = i; k < i + n; k++) {
				copy_stat(&to->stats[k], &from->stats[k], careful);
				if (to->stats[k].counted)
					members_copy(&to->drained.stats[k], &from->drained.stats[k],
						cycles_min, cycles_max);
			}
	}
}

static struct brick_lane *lane_state(
	struct drain *d, const struct drain_lane *lane, bool with_stats, bool careful)
{
	struct brick_lane *to = &d->scratch;
	const struct brick_lane *from = lane->shared;
	uint32_t bricks = d->tables.now.brick_count;

	memcpy(to, from, offsetof(struct brick_lane, frames));
	drain_clean_text(to->name, sizeof(to->name));
	drain_clean_text(to->backend, sizeof(to->backend));
	if (to->depth > BRICK_MAX_DEPTH)
		to->depth = 0;
	if (to->kind != BRICK_LANE_QUEUE)
		to->kind = BRICK_LANE_THREAD;
	to->ledger.dropped += lane->in_sink.left_out;
	if (!with_stats)
		return to;
	memcpy(to->frames, from->frames, sizeof(to->frames));
	copy_stats(to, from, bricks, careful);
	if (to->kind == BRICK_LANE_QUEUE)
		return to;
	brick__leaf_stats_read(from, (const void *)((const char *)from + lane->ring_offset),
		d->map.view ? lane->capacity : 0, bricks, &d->leaves);
	for (uint32_t i = 0; i < bricks; i++)
		brick__leaf_stat_add(&to->stats[i], &d->leaves.stats[i]);
	return to;
}

static int drain_add_lane(struct drain *d, struct trace_writer *writer,
	struct drain_lane_sinks *lanes, const struct brick_lane *state)
{
	int number = sink_lane(writer, d->process, state);

	if (number < 0)
		return number;
	return array_push(lanes, (struct drain_sink_lane){.number = number});
}

static int join_lane(struct drain *d, struct trace_writer *writer, struct drain_lane *lane)
{
	if (lane->in_sink.count)
		return 0;
	const struct brick_lane *state = lane_state(d, lane, false, false);
	lane->in_sink.overlaps =
		state->kind == BRICK_LANE_QUEUE && state->queue_flags & BRICK_QUEUE_OUT_OF_ORDER;
	return drain_add_lane(d, writer, &lane->in_sink, state);
}

/* Choose the lane for a command that begins then: lanes->to, or their count if there is none. */
static int drain_choose(
	struct drain *d, struct trace_writer *writer, struct drain_lane *lane, uint64_t begin)
{
	struct drain_lane_sinks *lanes = &lane->in_sink;

	for (lanes->to = 0; lanes->to < lanes->count; lanes->to++)
		if (lanes->items[lanes->to].end <= begin)
			return 0;
	if (lanes->count == MAX_LANES) {
		lanes->left_out++;
		return 0;
	}
	struct brick_lane *state = lane_state(d, lane, false, false);
	state->start_ticks = begin;
	return drain_add_lane(d, writer, lanes, state);
}

/* The record is one of lanes->to: up to where is that taken now? */
static void take_up(struct drain_lane_sinks *lanes, const struct brick_record *r)
{
	uint64_t end = r->kind == BRICK_RECORD_SAMPLE ? r->begin + r->ticks : r->begin;

	lanes->depth += r->kind == BRICK_RECORD_OPEN;
	lanes->depth -= r->kind == BRICK_RECORD_CLOSE && lanes->depth;
	if (lanes->to < lanes->count)
		lanes->items[lanes->to].end = lanes->depth ? UINT64_MAX : end;
}

static bool drain_begins(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_OPEN;
}

/* Records [from, to) go to the lane that was chosen for them. */
static int pass_on(struct trace_writer *writer, const struct drain_lane_sinks *lanes,
	const struct brick_record *records, size_t count)
{
	if (!count || lanes->to == lanes->count)
		return 0;
	return sink_records(writer, lanes->items[lanes->to].number, records, count);
}

static int lane_records(struct drain *d, struct trace_writer *writer, struct drain_lane *lane,
	const struct brick_record *records, size_t count)
{
	struct drain_lane_sinks *lanes = &lane->in_sink;
	size_t from = 0;
	int error = 0;

	for (size_t i = 0; i < count && lanes->overlaps && !error; i++) {
		if (drain_begins(&records[i]) && !lanes->depth) {
			error = pass_on(writer, lanes, records + from, i - from);
			error = error ? error : drain_choose(d, writer, lane, records[i].begin);
			from = i;
		}
		if (drain_begins(&records[i]) || records[i].kind == BRICK_RECORD_CLOSE)
			take_up(lanes, &records[i]);
	}
	return error ? error : pass_on(writer, lanes, records + from, count - from);
}

/*
 * The begin of a file that goes on where another ended. A step that was open then has lost a part
 * of itself, so that the rest is left out as well, with what other threads did meanwhile; other
 * bricks may stay open for days, and begin anew with the next record.
 */

/* Such a step ended, or a whole one began. Of several the first counts. */
static void drain_cut_at(struct drain *d, uint64_t ticks)
{
	if (ticks < d->cut_ticks)
		d->cut_ticks = ticks;
}

/* Some of the lane's next records may be left out. A queue's may be those of an earlier step. */
static bool lane_is_cut(const struct drain *d, const struct drain_lane *lane)
{
	return d->cut_ticks && !lane->is_past_cut &&
	       __atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) != BRICK_LANE_QUEUE;
}

/* Else its `begin` is no time, or one after that of the record that it belongs to. */
static bool record_has_time(const struct brick_record *r)
{
	const uint32_t untimed = 1u << BRICK_RECORD_NAME | 1u << BRICK_RECORD_MESSAGE |
				 1u << BRICK_RECORD_WORK_AHEAD;

	return !record_is_arg(r) && !(r->kind < 32 && untimed >> r->kind & 1);
}

/* How many of the records are left out: those before the end of the step, and that with its args.
 */
static size_t leave_step(
	struct drain *d, struct drain_lane *lane, const struct brick_record *records, size_t count)
{
	size_t i = 0;

	for (; i < count && lane->goes_on > lane->left_step; i++) {
		if (!record_is_arg(&records[i]))
			lane->left_ticks = records[i].begin;
		if (records[i].kind == BRICK_RECORD_THREAD) {
			lane->goes_on = lane->left_step = 0;
			lane->in_left_step = false;
			drain_cut_at(d, records[i].begin);
			return i;
		}
		lane->goes_on += records[i].kind == BRICK_RECORD_OPEN;
		lane->goes_on -= records[i].kind == BRICK_RECORD_CLOSE;
	}
	if (lane->goes_on <= lane->left_step)
		drain_cut_at(d, lane->left_ticks);
	while (i < count && record_is_arg(&records[i]))
		i++;
	lane->in_left_step = i == count;
	return i;
}

/* A record that is left out begins or ends a brick. */
static void drain_pass_frame(struct drain_lane *lane, const struct brick_record *r)
{
	if (r->kind == BRICK_RECORD_THREAD)
		lane->goes_on = 0;
	if (r->kind == BRICK_RECORD_OPEN && lane->goes_on < BRICK_MAX_DEPTH)
		lane->open_then[lane->goes_on++] = r->brick;
	lane->goes_on -= r->kind == BRICK_RECORD_CLOSE && lane->goes_on;
}

/* The same of a lane that had no step open: those that began before `ticks`. */
static size_t leave_until(struct drain *d, struct drain_lane *lane, uint64_t ticks,
	const struct brick_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct brick_record *r = &records[i];
		bool is_step = drain_begins(r) && brick_is_step(r->brick);

		if (!record_has_time(r))
			continue;
		if (r->kind == BRICK_RECORD_THREAD)
			lane->goes_on = 0;
		if (is_step) /* a whole one is never left out */
			drain_cut_at(d, r->begin);
		if (is_step || r->kind == BRICK_RECORD_THREAD || r->begin >= ticks) {
			lane->is_past_cut = true;
			return i;
		}
		drain_pass_frame(lane, r);
	}
	return count;
}

/* As lane_records(), while the lane has frames of the file before, or leaves records out. */
static int lane_go_on(struct drain *d, struct trace_writer *writer, struct drain_lane *lane,
	const struct brick_record *records, size_t count)
{
	struct brick_record open[BRICK_MAX_DEPTH];
	size_t left = lane->in_left_step     ? leave_step(d, lane, records, count)
		      : lane_is_cut(d, lane) ? leave_until(d, lane, d->cut_ticks, records, count)
					     : 0;
	uint32_t depth = lane->goes_on;

	while (left < count && record_is_arg(&records[left])) /* of a slice that is not here */
		left++;
	if (left == count)
		return 0;
	lane->goes_on = 0;
	lane->is_past_cut = true;
	if (records[left].kind == BRICK_RECORD_THREAD)
		depth = 0;
	for (uint32_t i = 0; i < depth; i++)
		open[i] = (struct brick_record){.begin = records[left].begin,
			.kind = BRICK_RECORD_OPEN,
			.brick = lane->open_then[i],
			.layer = -1};
	int error = depth ? lane_records(d, writer, lane, open, depth) : 0;
	return error ? error : lane_records(d, writer, lane, records + left, count - left);
}

/* All records before the time it returns are older than the cut. */
static uint64_t cut_not_before(const struct drain *d)
{
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);
	uint64_t least = CUT_UNKNOWN;

	for (uint32_t i = 0; i < lanes; i++)
		if (d->map.lanes[i]->in_left_step && d->map.lanes[i]->left_ticks < least)
			least = d->map.lanes[i]->left_ticks;
	return least == CUT_UNKNOWN ? 0 : least;
}

/* Keeps records of a lane until it is known which of them are left out. 0 or -ENOMEM. */
static int lane_hold(
	struct drain *d, struct drain_lane *lane, const struct brick_record *records, size_t count)
{
	enum { HELD_MAX = 1 << 18 }; /* more: nothing is left out, rather than all */

	for (size_t i = 0; i < count; i++)
		if (drain_begins(&records[i]) && brick_is_step(records[i].brick))
			drain_cut_at(d, records[i].begin);
	if (!lane->held.count) {
		size_t left = leave_until(d, lane, cut_not_before(d), records, count);
		lane->is_past_cut = false;
		records += left;
		count -= left;
	}
	if (d->held + count > HELD_MAX)
		d->cut_ticks = 1;
	d->held += count;
	return array_append(&lane->held, records, count);
}

/* The cut is known now. */
static int drain_unhold(struct drain *d, struct trace_writer *writer)
{
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);
	int error = 0;

	for (uint32_t i = 0; i < lanes && !error; i++) {
		struct drain_lane *lane = d->map.lanes[i];
		if (lane->held.count)
			error = lane_go_on(d, writer, lane, lane->held.items, lane->held.count);
		array_fini(&lane->held);
	}
	d->held = 0;
	return error;
}

/* As lane_records(), of the next records of a lane. */
static int lane_next(struct drain *d, struct trace_writer *writer, struct drain_lane *lane,
	const struct brick_record *records, size_t count)
{
	bool is_cut = lane_is_cut(d, lane);
	int error;

	if (!lane->goes_on && !lane->in_left_step && !is_cut)
		return lane_records(d, writer, lane, records, count);
	if (is_cut && !lane->in_left_step && d->cut_ticks == CUT_UNKNOWN)
		error = lane_hold(d, lane, records, count);
	else
		error = lane_go_on(d, writer, lane, records, count);
	if (!error && d->held && d->cut_ticks != CUT_UNKNOWN)
		error = drain_unhold(d, writer);
	return error;
}

static void lane_goes_on(struct drain_lane *lane, const uint16_t *open, uint32_t depth)
{
	lane->goes_on = depth;
	for (lane->left_step = 0; lane->left_step < depth; lane->left_step++)
		if (brick_is_step(open[lane->left_step]))
			break;
	lane->in_left_step = lane->left_step < depth;
	memcpy(lane->open_then, open, depth * sizeof(*open));
}

void drain_start_get(const struct drain *d, uint32_t index, struct drain_start *out)
{
	const struct drain_lane *lane = d->map.lanes[index];

	out->depth = lane->depth;
	for (uint32_t i = 0; i < lane->depth; i++)
		out->open[i] = lane->frames[i].brick;
	out->ahead = lane->ahead;
}

void drain_start_set(struct drain *replay, uint32_t index, const struct drain_start *start)
{
	struct drain_lane *lane = replay->map.lanes[index];

	if (lane->has_start)
		return;
	lane->has_start = true;
	lane->goes_on = start->depth;
	memcpy(lane->open_then, start->open, start->depth * sizeof(*start->open));
	lane->ahead = start->ahead;
}

void drain_start_pass(struct drain *replay, uint32_t index, const struct brick_record *records,
	size_t count, uint64_t ticks)
{
	struct drain_lane *lane = replay->map.lanes[index];

	for (size_t i = 0; i < count && !lane->is_past_begin; i++) {
		lane->is_past_begin = record_has_time(&records[i]) && records[i].begin > ticks;
		if (lane->is_past_begin)
			return;
		lane->skipped++;
		drain_pass_frame(lane, &records[i]);
	}
}

void drain_start_done(struct drain *replay)
{
	for (uint32_t i = 0; i < replay->map.lane_count; i++) {
		struct drain_lane *lane = replay->map.lanes[i];
		const uint32_t depth = lane->goes_on;
		uint16_t open[BRICK_MAX_DEPTH];
		memcpy(open, lane->open_then, sizeof(open));
		lane_goes_on(lane, open, depth);
		if (lane->in_left_step)
			replay->cut_ticks = CUT_UNKNOWN;
	}
}

/*
 * The end of a file. Lanes are looked at one after the other, and a thread may tell of its nodes
 * late, so that some are ahead of others. Here all are brought to the same time.
 */

uint64_t drain_ticks_at(const struct brick_clock *clock, uint64_t ns)
{
	brick__int128 delta = (brick__int128)((int64_t)(ns - clock->base_ns));

	if (!clock->mult || (int64_t)(ns - clock->base_ns) < 0)
		return 1;
	return clock->base_ticks + (uint64_t)((delta << clock->shift) / (brick__int128)clock->mult);
}

void drain_end_set(
	struct drain *d, const struct trace_writer *writer, uint64_t ns, uint64_t since_ns)
{
	const struct brick_clock *clock =
		format_clock_of(sink_clock_get(writer), &d->map.header.clock);
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);

	d->end_ticks = drain_ticks_at(clock, ns);
	d->since_ticks = drain_ticks_at(clock, since_ns);
	for (uint32_t i = 0; i < lanes; i++) {
		struct drain_lane *lane = d->map.lanes[i];
		lane->is_past_end = false;
		if (lane->last_ticks > d->end_ticks)
			d->end_ticks = lane->last_ticks;
	}
}

/* When the first of the records began; a device's command where it was launched. */
static uint64_t drain_begun(
	const struct drain_lane *lane, const struct brick_record *records, size_t count)
{
	if (__atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) == BRICK_LANE_QUEUE)
		for (size_t i = 1; i < count && record_is_arg(&records[i]); i++)
			if (records[i].kind == BRICK_RECORD_LAUNCH)
				return records[i].begin;
	return records[0].begin;
}

size_t drain_until_end(
	struct drain *d, uint32_t index, const struct brick_record *records, size_t count)
{
	struct drain_lane *lane = d->map.lanes[index];

	if (!d->end_ticks || !lane->shared || lane->is_past_end)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (record_has_time(&records[i]) &&
			drain_begun(lane, records + i, count - i) > d->end_ticks) {
			lane->is_past_end = true;
			return i;
		}
	return count;
}

bool drain_end_is_reached(const struct drain *d)
{
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < lanes; i++) {
		const struct drain_lane *lane = d->map.lanes[i];
		if (!lane->is_past_end && lane->last_ticks > d->since_ticks &&
			lane->last_ticks < d->end_ticks)
			return false;
	}
	return true;
}

void drain_end_clear(struct drain *d)
{
	d->end_ticks = 0;
}

/* The record that is consumed next; false: none waits, or it has no time. */
static bool drain_first_waiting(struct drain *d, uint32_t index, struct brick_record *out)
{
	if (!drain_level(d, index).waiting)
		return false;
	copy_ring(d->map.lanes[index], d->map.lanes[index]->tail, out, 1);
	return record_has_time(out) && d->map.lanes[index]->shared->kind != BRICK_LANE_QUEUE;
}

void drain_go_on(struct drain *d)
{
	enum { BEHIND_S = 5 }; /* later ones were idle, and are behind nobody */
	uint32_t lanes = drain_lanes(d);
	uint64_t first = UINT64_MAX, begin = 1, consumed = 0;
	struct brick_record r;

	for (uint32_t i = 0; i < lanes; i++) {
		consumed += d->map.lanes[i]->tail;
		if (drain_first_waiting(d, i, &r) && r.begin < first)
			first = r.begin;
	}
	if (!consumed)
		return;
	d->digests.tail = d->map.shared->digest_tail;
	for (uint32_t i = 0; i < lanes; i++)
		if (drain_first_waiting(d, i, &r) && r.begin > begin &&
			r.begin - first <= BEHIND_S * d->map.header.clock.frequency)
			begin = r.begin;
	for (uint32_t i = 0; i < lanes; i++) {
		struct drain_lane *lane = d->map.lanes[i];
		uint64_t waiting = drain_level(d, i).waiting;
		lane->goes_on = lane->depth = lane->open_depth;
		memcpy(lane->open_then, lane->open, lane->open_depth * sizeof(*lane->open));
		for (uint32_t k = 0; k < lane->depth; k++)
			lane->frames[k] = (struct drain_frame){.brick = lane->open[k]};
		for (uint64_t k = 0; k < waiting && !lane->is_past_begin; k++) {
			copy_ring(lane, lane->tail + k, &r, 1);
			drain_start_pass(d, i, &r, 1, begin - 1);
		}
	}
	d->cut_ticks = begin;
	drain_start_done(d);
}

/* The lane's next records are for another file. */
static void drain_turn_lane(struct drain *d, struct drain_lane *lane)
{
	uint16_t open[BRICK_MAX_DEPTH];

	if (!lane->goes_on) /* else this file has no record of it, and all is as it was */
		lane->in_left_step = false;
	if (!lane->in_left_step) {
		for (uint32_t i = 0; i < lane->depth; i++)
			open[i] = lane->frames[i].brick;
		lane_goes_on(lane, open, lane->depth);
	}
	if (lane->in_left_step)
		d->cut_ticks = CUT_UNKNOWN;
	lane->is_past_cut = lane->is_past_begin = false;
	array_fini(&lane->held);
	array_fini(&lane->in_sink);
	lane->in_sink = (struct drain_lane_sinks){0};
}

/* What came into the ledger since the last call. */
static void ledger_since(struct brick_ledger *ledger, struct brick_ledger *before)
{
	const struct brick_ledger now = *ledger;

#define LESS(field) ledger->field -= before->field;
	FORMAT_LEDGER_FIELDS(LESS)
#undef LESS
	*before = now;
}

static const char *const drain_end_names[] = {"closed", "dead", "exec", "outlived", "broken"};

static int join_process(struct drain *d, struct trace_writer *writer)
{
	if (d->process < 0)
		d->process = sink_process(writer, &d->map.header);
	return d->process < 0 ? d->process : 0;
}

static int emit_tables(struct drain *d, struct trace_writer *writer)
{
	int error = drain_code_emit(&d->code, &d->map, writer);

	if (!error)
		error = drain_tables_emit(&d->tables, &d->map, writer, d->process);
	for (uint32_t i = BRICK_FIRST_DYNAMIC;
		d->histograms.watcher_count && !d->histograms.plain_brick &&
		i < d->tables.now.brick_count;
		i++)
		if (!strcmp(d->tables.now.bricks[i].name, BRICK_PLAIN_NAME))
			d->histograms.plain_brick = i;
	return error;
}

/* A thread told these when the file before had ended. */
static void lane_skip_late(
	struct drain *d, uint32_t index, const struct brick_record *records, size_t count)
{
	struct drain_lane *lane = d->map.lanes[index];
	uint16_t open[BRICK_MAX_DEPTH];

	drain_start_pass(d, index, records, count, d->begin_ticks);
	if (!lane->skipped)
		return;
	memcpy(open, lane->open_then, sizeof(open));
	lane_goes_on(lane, open, lane->goes_on);
	if (lane->in_left_step)
		d->cut_ticks = CUT_UNKNOWN;
}

int drain_emit(struct drain *d, struct trace_writer *writer, uint32_t index,
	const struct brick_record *records, size_t count)
{
	enum { AT_ONCE = 256 };
	struct brick_record expanded[AT_ONCE];
	struct drain_lane *lane = d->map.lanes[index];
	int error = join_process(d, writer);

	if (!error)
		error = emit_tables(d, writer);
	if (!error)
		error = join_lane(d, writer, lane);
	if (!error)
		error = drain_notes_emit_new(&d->notes, &d->map, writer, d->process);
	if (d->begin_ticks && !lane->is_past_begin &&
		__atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) != BRICK_LANE_QUEUE)
		lane_skip_late(d, index, records, count);
	for (size_t done = 0, used; done < count && !error; done += used) {
		bool is_before = lane->skipped != 0; /* the file */
		size_t left = count - done;
		size_t n = drain_expand(&d->tables.now, &lane->ahead, records + done,
			is_before && lane->skipped < left ? lane->skipped : left, expanded, AT_ONCE,
			&used);
		if (!d->map.view) {
			drain_histograms_enter(&d->histograms, &d->map, lane,
				d->tables.now.brick_count, expanded, n, &d->counts);
			error = drain_off_cpu_learn(&d->off_cpu,
				format_clock_of(sink_clock_get(writer), &d->map.header.clock),
				index, expanded, n);
		}
		d->counts.records += n;
		if (is_before)
			lane->skipped -= used;
		else if (!error)
			error = lane_next(d, writer, lane, expanded, n);
	}
	return error;
}

struct off_cpu_sink {
	struct drain *drain;
	struct trace_writer *writer;
};

/* A lane that has recorded may have recorded nothing in this file yet. */
static int lane_number(void *context, uint32_t index)
{
	const struct off_cpu_sink *s = context;
	struct drain_lane *lane = s->drain->map.lanes[index];
	int error = join_process(s->drain, s->writer);

	if (!error)
		error = join_lane(s->drain, s->writer, lane);
	return error ? error : lane->in_sink.items[0].number;
}

int drain_emit_off_cpu(struct drain *d, struct trace_writer *writer,
	const struct sink_off_cpu *intervals, size_t count)
{
	int error = drain_off_cpu_add(&d->off_cpu, intervals, count);

	if (!error)
		error = drain_off_cpu_emit(&d->off_cpu, d->of ? &d->of->off_cpu : &d->off_cpu,
			writer, lane_number, &(struct off_cpu_sink){d, writer});
	d->counts.off_cpu_lost = d->off_cpu.lost;
	return error;
}

/*
 * Bricks that are open at the end and had nothing inside of them are in no record yet: only their
 * frames know of them. Where there was no room for the begin of one with bricks inside, it is late
 * for that now.
 */
static int emit_open_frames(
	struct drain *d, struct trace_writer *writer, struct drain_lane *lane, uint64_t end_ticks)
{
	struct brick_lane *state = &d->scratch;
	struct brick_record open[BRICK_MAX_DEPTH];
	size_t count = 0;

	uint32_t depth = brick_lane_open(state);
	for (uint32_t i = 0; i < depth; i++) {
		const struct brick_frame *f = &state->frames[i];
		state->ledger.unmatched += !d->map.view && f->flags & BRICK_FRAME_DROPPED;
		if (f->flags & BRICK_FRAME_OPENED)
			continue;
		/* the time in one that was just beginning is that of its place's last */
		if (f->brick >= d->tables.now.brick_count || f->begin > end_ticks ||
			f->begin < d->map.header.start_ticks || f->begin < lane->last_ticks)
			break;
		open[count++] = brick_frame_open(f);
	}
	return count ? lane_records(d, writer, lane, open, count) : 0;
}

/* Records that came since the last look must be emitted, or only the statistics would have them. */
static int emit_rest(struct drain *d, struct trace_writer *writer, uint32_t index)
{
	enum { AT_ONCE = 64 };
	struct brick_record records[AT_ONCE];
	/* not for ever: the program may go on */
	uint64_t left = d->map.view ? 0 : drain_level(d, index).waiting;
	int error = 0;

	while (left && !error) {
		size_t n = drain_consume(d, index, records, left < AT_ONCE ? left : AT_ONCE);
		left -= n;
		if (!n)
			break;
		error = drain_emit(d, writer, index, records, n);
	}
	return error;
}

/* is_part: the session goes on, and its consuming side, too. */
static int emit_lane_end(struct drain *d, struct trace_writer *writer, uint32_t index, bool is_part,
	uint64_t end_ticks)
{
	struct drain_lane *lane = d->map.lanes[index];
	int error = is_part ? 0 : emit_rest(d, writer, index);

	if (!error)
		error = join_lane(d, writer, lane);
	if (error)
		return error;
	struct brick_lane *state = lane_state(d, lane, true, is_part || d->map.view);
	if (!d->map.view || d->of)
		ledger_since(&state->ledger, &lane->in_parts);
	if (!d->map.view)
		memcpy(lane->shared->told, &lane->in_parts, sizeof(lane->shared->told));
	d->counts.dropped += state->ledger.dropped;
	d->counts.threads += state->kind == BRICK_LANE_THREAD ? state->owners : 0;
	if (!is_part)
		error = emit_open_frames(d, writer, lane, end_ticks);
	/* of all that it has in the sink, the first one has the statistics */
	for (size_t i = 0; i < lane->in_sink.count && !error; i++) {
		error = sink_lane_stats(writer, lane->in_sink.items[i].number, state);
		if (i)
			continue;
		memset(state->stats, 0, d->tables.now.brick_count * sizeof(*state->stats));
		state->ledger = (struct brick_ledger){0};
	}
	return error;
}

int drain_emit_digests(struct drain *d, struct trace_writer *writer)
{
	if (!drain_digest_level(d))
		return 0;
	int error = join_process(d, writer);
	if (!error)
		error = emit_tables(d, writer);
	return error ? error
		     : drain_digests_emit(&d->digests, &d->map, &d->tables.now, writer, d->process);
}

/* Statistics, histograms and notes, as they are now. */
static int emit_state(struct drain *d, struct trace_writer *writer, bool is_part,
	enum drain_end *end, uint64_t end_ticks)
{
	int error = join_process(d, writer);

	if (!error)
		error = emit_tables(d, writer);
	if (!error && !d->map.view)
		error = drain_emit_digests(d, writer);
	if (!error && !d->map.view)
		error = drain_emit_off_cpu(d, writer, NULL, 0);
	if (!error) {
		/*
		 * The header's own counts as they are at the end; what it says of the process stays
		 * as it was.
		 */
		d->map.header.ledger = d->map.shared->ledger;
		d->counts.refused = d->map.header.ledger.refused;
		if (!d->map.view || d->of)
			ledger_since(&d->map.header.ledger, &d->map.in_parts);
		d->map.header.pair_cost = d->map.shared->pair_cost;
		d->map.header.pair_cost_low = d->map.shared->pair_cost_low;
		d->map.header.pair_cost_high = d->map.shared->pair_cost_high;
		d->map.header.pair_cost_streamed = d->map.shared->pair_cost_streamed;
		d->map.header.pair_cost_cold = d->map.shared->pair_cost_cold;
		d->map.header.pair_stream_ticks = d->map.shared->pair_stream_ticks;
		error = sink_process_state(writer, d->process, &d->map.header);
	}
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);
	d->counts.threads = 0;
	for (uint32_t i = 0; i < lanes && !error; i++)
		if (d->map.lanes[i]->shared)
			error = emit_lane_end(d, writer, i, is_part, end_ticks);
	if (!error)
		error = drain_histograms_emit(
			&d->histograms, &d->map, d->tables.now.brick_count, writer, d->process);
	if (drain_fault(d) && (*end == DRAIN_END_CLOSED || *end == DRAIN_END_EXEC))
		*end = DRAIN_END_BROKEN;
	if (!error)
		error = drain_notes_emit(
			&d->notes, &d->map, writer, d->process, drain_end_names[*end]);
	return error;
}

int drain_finish(
	struct drain *d, struct trace_writer *writer, enum drain_end end, uint64_t end_ticks)
{
	if (d->map.lane_is_missing)
		drain_map_fault_set(&d->map, "out of memory for a lane");
	int error = emit_state(d, writer, false, &end, end_ticks);
	if (!error)
		error = sink_process_end(writer, d->process, end_ticks,
			end == DRAIN_END_CLOSED || end == DRAIN_END_EXEC);
	return error;
}

int drain_part(struct drain *d, struct trace_writer *writer)
{
	uint64_t now_ticks = drain_ticks(d),
		 end_ticks = d->end_ticks > 1 ? d->end_ticks : now_ticks;
	enum drain_end end = DRAIN_END_OUTLIVED;
	int error = emit_state(d, writer, true, &end, end_ticks);

	if (!error)
		error = sink_process_end(writer, d->process, end_ticks, 1);
	d->process = -1;
	d->code = 0;
	drain_tables_rewind(&d->tables);
	drain_notes_rewind(&d->notes);
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);
	/* what comes late belonged to this file, and a part of a step is in none */
	d->begin_ticks = d->end_ticks;
	d->cut_ticks = d->end_ticks = d->held = 0;
	for (uint32_t i = 0; i < lanes; i++)
		drain_turn_lane(d, d->map.lanes[i]);
	return error;
}

void drain_steps_watch(struct drain *d, drain_step_fn on_step, void *context)
{
	struct drain_histograms *h = &d->histograms;

	for (uint32_t i = 0; i < h->watcher_count; i++)
		if (h->watchers[i].on_step == on_step && h->watchers[i].context == context)
			return;
	if (h->watcher_count < DRAIN_STEP_WATCHERS)
		h->watchers[h->watcher_count++] = (struct drain_step_watcher){on_step, context};
}

uint64_t drain_length(const struct drain *d, uint32_t brick, unsigned percent, uint64_t *count)
{
	return drain_histogram_percentile(&d->histograms, brick, percent, count);
}

uint64_t drain_dropped(const struct drain *d)
{
	uint32_t lanes = __atomic_load_n(&d->map.lane_count, __ATOMIC_ACQUIRE);
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < lanes; i++)
		if (d->map.lanes[i]->shared)
			dropped += __atomic_load_n(
				&d->map.lanes[i]->shared->ledger.dropped, __ATOMIC_RELAXED);
	return dropped;
}

struct drain_counts drain_counts(const struct drain *d)
{
	return d->counts;
}

void drain_note(struct drain *d, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(d->notes.own, sizeof(d->notes.own), format, arguments);
	va_end(arguments);
}

const char *drain_notes(const struct drain *d)
{
	return d->notes.text;
}

void drain_view_code(struct drain *d)
{
	d->map.view_has_code = true;
}

void drain_rewind(struct drain *d)
{
	d->process = -1;
	d->code = 0;
	memset(&d->counts, 0, sizeof(d->counts));
	drain_tables_rewind(&d->tables);
	drain_notes_rewind(&d->notes);
	d->map.bad_entries = 0;
	for (uint32_t i = 0; i < d->map.lane_count; i++) {
		array_fini(&d->map.lanes[i]->in_sink);
		d->map.lanes[i]->in_sink = (struct drain_lane_sinks){0};
		d->map.lanes[i]->ahead.known = 0;
		d->map.lanes[i]->depth = 0;
	}
}
