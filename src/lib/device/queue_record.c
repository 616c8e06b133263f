/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording what a device did: commands become samples on the lane of their queue, each followed by
 * what is known of it. A lane is in begin order and its samples nest, as on threads; but those of
 * an out-of-order queue may overlap, and come as they are handed in. All records of one call are
 * written before any is published, or none is. Called by backends and interposers.
 */
#include <errno.h>
#include <stddef.h>
#include "base/scope.h"
#include "lib/device/kernel_brick.h"
#include "lib/session/lane_memory.h"
#include "lib/device/queue_clock.h"
#include "lib/device/queue_state.h"
#include "lib/probe/ring.h"
#include "lib/session/session_map.h"
#include "lib/sys/ticks.h"

#define FUTURE_NS 3600000000000ull /* further ahead than any error of a correlation */

/* A command whose place is known, while what it holds is written. */
struct open_command {
	const struct brick_command *command;
	uint64_t begin, end; /* ticks */
	uint64_t residual;   /* how far apart these and those of another may be wrongly */
	uint64_t next;	     /* where the next inside of it may begin */
	uint64_t child;	     /* ticks of what is inside of it */
	uint16_t brick, flags;
};

/* One call's way into the ring. */
struct record_cursor {
	struct brick__queue_lane *to;
	int overlaps;  /* commands may, those of its queue */
	uint64_t head; /* of what is not published yet */
	int writes;    /* 0: the ring is full */
	uint32_t depth;
	struct open_command stack[BRICK_MAX_DEPTH];
};

/* ---- lanes ---- */

static int is_older(uint32_t serial, uint32_t than)
{
	return (int32_t)(serial - than) < 0;
}

int brick__queue_lane_use(struct brick_queue *queue, uint32_t serial, uint64_t begin)
{
	if (queue->to.lane && queue->serial == serial)
		return serial == __atomic_load_n(&brick__live, __ATOMIC_ACQUIRE) ? 0 : -ENOENT;
	if (queue->to.lane && is_older(serial, queue->serial))
		return -ENOENT;
	brick__queue_lane_close(&queue->to, queue->serial);
	int error = brick__queue_lane_open(&queue->to, &queue->name, serial, begin);
	if (!error)
		queue->serial = serial;
	return error;
}

/* ---- records ---- */

static void put(struct record_cursor *cursor, const struct brick_record *record)
{
	if (cursor->writes)
		cursor->to->ring[cursor->head++ & cursor->to->mask] = *record;
}

static inline uint32_t saturate(uint64_t ticks)
{
	return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

static uint64_t ticks_or_0(uint64_t ns)
{
	return ns ? brick__ticks_of_ns(ns).at : 0;
}

static void put_about(struct record_cursor *cursor, const struct brick_command *c)
{
	const struct brick_launch *l = &c->launch;

	if (c->bytes | c->flops)
		put(cursor, &(struct brick_record){.begin = c->bytes,
				    .kind = BRICK_RECORD_WORK,
				    .elements = c->flops});
	put(cursor, &(struct brick_record){.begin = l->begin,
			    .ticks = saturate(l->end > l->begin ? l->end - l->begin : 0),
			    .wait = l->lane,
			    .kind = BRICK_RECORD_LAUNCH,
			    .brick = (uint16_t)c->kernel,
			    .layer = (int16_t)l->layer,
			    .elements = l->number});
	if (c->queued_ns | c->submitted_ns)
		put(cursor, &(struct brick_record){.begin = ticks_or_0(c->queued_ns),
				    .kind = BRICK_RECORD_TIMES,
				    .elements = ticks_or_0(c->submitted_ns)});
	for (uint32_t i = 0; i < c->after_count; i++)
		put(cursor, &(struct brick_record){
				    .kind = BRICK_RECORD_AFTER, .elements = c->after[i]});
}

/* At most so many records come of it. */
static uint64_t records_of(const struct brick_command *c)
{
	return 5ull + c->after_count;
}

/* ---- statistics ---- */

static int is_inside_of_same(const struct record_cursor *cursor, uint16_t brick)
{
	for (uint32_t i = 0; i < cursor->depth; i++)
		if (cursor->stack[i].brick == brick)
			return 1;
	return 0;
}

/* `o` is off the stack. */
static void count(struct record_cursor *cursor, const struct open_command *o)
{
	struct brick_stat *stat = &cursor->to->lane->stats[o->brick];
	uint64_t ticks = o->end - o->begin;

	count_one(stat, ticks, ticks > o->child ? ticks - o->child : 0,
		is_inside_of_same(cursor, o->brick));
	stat->elements += o->command->elements;
	stat->bytes += o->command->bytes;
	stat->flops += o->command->flops;
	if (!cursor->writes)
		brick__lane_histogram(cursor->to->lane, o->brick, ticks);
}

/* ---- placing ---- */

static void clamp(struct record_cursor *cursor, struct open_command *o, uint64_t off)
{
	if (off <= o->residual)
		return;
	cursor->to->lane->ledger.clamped += !(o->flags & BRICK_FLAG_CLAMPED);
	o->flags |= BRICK_FLAG_CLAMPED;
}

/* Not before `first` and not behind `last`: cut what sticks out. */
static void place(
	struct record_cursor *cursor, struct open_command *o, uint64_t first, uint64_t last)
{
	if (o->end < o->begin) {
		clamp(cursor, o, UINT64_MAX);
		o->end = o->begin;
	}
	if (o->begin < first) {
		clamp(cursor, o, first - o->begin);
		o->begin = first;
	}
	if (o->end > last) {
		clamp(cursor, o, o->end - last);
		o->end = last;
	}
	if (o->begin > last)
		o->begin = last;
	if (o->end < o->begin)
		o->end = o->begin;
}

static struct brick_record record_of(const struct open_command *o, enum brick_record_kind kind)
{
	return (struct brick_record){
		.begin = o->begin,
		.kind = (uint8_t)kind,
		.source = (uint8_t)o->command->source,
		.brick = o->brick,
		.layer = (int16_t)o->command->launch.layer,
	};
}

static void put_end(
	struct record_cursor *cursor, const struct open_command *o, enum brick_record_kind kind)
{
	const struct brick_command *c = o->command;
	struct brick_record record = record_of(o, kind);

	if (kind == BRICK_RECORD_CLOSE)
		record.begin = o->end;
	else
		record.ticks = (uint32_t)(o->end - o->begin);
	record.flags = o->flags | (c->elements ? BRICK_FLAG_ELEMENTS : 0);
	record.elements = c->elements;
	put(cursor, &record);
	put_about(cursor, c);
}

static void pop(struct record_cursor *cursor)
{
	const struct open_command o = cursor->stack[--cursor->depth];

	count(cursor, &o);
	put_end(cursor, &o, BRICK_RECORD_CLOSE);
}

static void push(struct record_cursor *cursor, const struct open_command *o)
{
	struct brick_record record = record_of(o, BRICK_RECORD_OPEN);

	put(cursor, &record);
	cursor->stack[cursor->depth++] = *o;
}

/* Write one command, of which the stack holds what it lies in; `holds`: others follow inside. */
static void write_command(struct record_cursor *cursor, struct open_command *o, int holds)
{
	struct open_command *outer = cursor->depth ? &cursor->stack[cursor->depth - 1] : NULL;

	uint64_t residual = o->residual;

	if (!outer) /* the one before may have been placed by a poorer clock */
		o->residual += cursor->to->last_residual;
	uint64_t free_from = cursor->overlaps ? 0 : cursor->to->last_end;
	place(cursor, o, outer ? outer->next : free_from, outer ? outer->end : UINT64_MAX);
	o->next = o->begin;
	if (outer) {
		outer->next = o->end;
		outer->child += o->end - o->begin;
	} else {
		if (o->end > cursor->to->last_end)
			cursor->to->last_end = o->end;
		cursor->to->last_residual = residual;
	}
	if (holds || (o->end - o->begin) >> 32)
		push(cursor, o);
	else {
		count(cursor, o);
		put_end(cursor, o, BRICK_RECORD_SAMPLE);
	}
}

/*
 * Nothing begins before it was launched, or ends behind the wait for it: what seems to, by no more
 * than the clocks may be off, is cut, so that the order of commands stays.
 */
static void keep_causal(struct open_command *o)
{
	const struct brick_command *c = o->command;
	uint64_t launch = c->launch.begin;
	struct brick__ticks over = {UINT64_MAX, 0};

	if (c->size >= sizeof *c && c->over_ns)
		over = brick__ticks_of_ns(c->over_ns);
	over.at -= over.off;
	if (o->begin <= over.at && o->end > over.at && o->end - over.at <= o->residual)
		o->end = over.at;
	if (o->begin < launch && launch <= o->end && launch - o->begin <= o->residual)
		o->begin = launch;
}

static struct open_command open_of(const struct brick_command *c)
{
	uint32_t brick = c->launch.brick;
	uint64_t frequency = brick_clock_get()->frequency;
	struct brick__ticks begin = brick__ticks_of_ns(c->begin_ns);
	struct open_command o = {
		.command = c,
		.begin = begin.at,
		.end = brick__ticks_of_ns(c->end_ns).at,
		.residual = (uint64_t)((unsigned __int128)c->residual_ns * frequency / 1000000000u),
		.brick = (uint16_t)(brick == BRICK_NONE ? brick__kernel_brick(c->kernel) : brick),
	};

	o.residual += 2 * begin.off; /* of each of the two times */
	keep_causal(&o);
	return o;
}

static void write_all(struct record_cursor *cursor, const struct brick_command *const *commands,
	const uint8_t *depths, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct open_command o = open_of(commands[i]);
		if (o.brick >= BRICK_MAX_BRICKS)
			o.brick = BRICK_GRAPH_COMPUTE; /* the registry is full */
		while (cursor->depth > depths[i])
			pop(cursor);
		write_command(cursor, &o, i + 1 < count && depths[i + 1] > depths[i]);
	}
	while (cursor->depth)
		pop(cursor);
}

/* Under the queue's lock, in a session that goes on. */
static void record_all(struct brick_queue *queue, const struct brick_command *const *commands,
	const uint8_t *depths, uint32_t count)
{
	struct record_cursor cursor;
	uint64_t records = 0;

	cursor.depth = 0;
	cursor.to = &queue->to;
	cursor.overlaps = queue->name.flags & BRICK_QUEUE_OUT_OF_ORDER;
	struct brick_lane *lane = cursor.to->lane;
	for (uint32_t i = 0; i < count; i++)
		records += records_of(commands[i]);
	cursor.writes = brick__ring_look(lane, records);
	cursor.head = lane->head;
	if (!cursor.writes && lane->capacity)
		lane->ledger.dropped += count;
	write_all(&cursor, commands, depths, count);
	if (cursor.writes)
		__atomic_store_n(&lane->head, cursor.head, __ATOMIC_RELEASE);
}

/* `latest`: what is later cannot have happened, and would leave no room for what comes. */
static int check(const struct brick_command *c, uint64_t latest)
{
	if (c->size < offsetof(struct brick_command, over_ns))
		return -EINVAL;
	if (!c->launch.number)
		return -ENOENT;
	if (!c->begin_ns || !c->end_ns || c->begin_ns > latest || c->end_ns > latest ||
		(c->after_count && !c->after))
		return -EINVAL;
	if (c->launch.brick != BRICK_NONE && c->launch.brick >= brick_count())
		return -EINVAL;
	return c->kernel < BRICK_MAX_KERNELS ? 0 : -EINVAL;
}

int brick__queue_record_nested(struct brick_queue *queue,
	const struct brick_command *const *commands, const uint8_t *depths, uint32_t count)
{
	KEEP_ERRNO();
	uint64_t latest = brick__monotonic_ns() + FUTURE_NS;
	int error = 0;

	for (uint32_t i = 0; !error && i < count; i++)
		error = check(commands[i], latest);
	if (error)
		return error;
	HOLD_UNCANCELLED(&queue->lock);
	uint64_t begin = brick__ticks_of_ns(commands[0]->begin_ns).at;
	error = brick__queue_lane_use(queue, commands[0]->launch.session, begin);
	if (!error)
		record_all(queue, commands, depths, count);
	return error;
}

int brick_queue_record(struct brick_queue *queue, const struct brick_command *command)
{
	static const uint8_t outermost = 0;
	return brick__queue_record_nested(queue, &command, &outermost, 1);
}
