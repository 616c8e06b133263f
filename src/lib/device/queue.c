/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of devices. A device's commands become samples on the lane of its queue, each followed by
 * records that say more of it. A lane is in begin order and its samples nest, as on threads.
 * Commands of an out-of-order queue may overlap, and are recorded as they are handed in. Either all
 * records of one call are published, or none.
 *
 * A lane is made at a queue's first command, left when the queue is destroyed, and taken over by
 * the next queue that looks the same. So a program that makes a stream for every batch does not
 * grow the session. Everything in a queue is under its lock, and a fork finds all queues at rest.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/number.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "brick/abi/lane.h"
#include "brick/error.h"
#include "brick/queue.h"
#include "lib/device/gpus.h"
#include "lib/device/kernels.h"
#include "lib/device/queue_clock.h"
#include "lib/device/queue_lane.h"
#include "lib/probe/ring.h"
#include "lib/session/session_lanes.h"
#include "lib/session/session_map.h"
#include "lib/sys/ticks.h"

#define FUTURE_NS 3600000000000ull /* further ahead than any error of a correlation */

/*
 * A queue's place in one session. Its lane stays mapped after that session, as those of threads.
 * Commands go to the session of the thread that launched them, so that a queue may have several.
 */
struct queue_lane {
	struct queue_lane *next;
	uint32_t serial;	 /* of the session; 0: of none yet */
	uint64_t pending;	 /* commands on the way, where somebody counts them */
	struct brick_lane *lane; /* NULL while there is none */
	struct brick_record *ring;
	uint64_t mask;
	uint64_t last_end;	/* ticks: before this no command that cannot overlap may begin */
	uint64_t last_residual; /* and how far off that may be */
};

struct queue_name {
	uint64_t number;
	uint64_t flags; /* with its GPU, as a lane has it */
	char name[64];
	char backend[16];
};

struct brick_queue {
	struct brick_queue *next, **link; /* under the lock of the list */
	pthread_mutex_t lock;
	struct queue_name name;
	struct queue_lane first; /* and by `next` those of further sessions */
};

/* A command whose place is known, while what it holds is written. */
struct open_command {
	const struct brick_command *command;
	uint64_t begin, end; /* ticks */
	uint64_t residual; /* by so much these times and those of another may be wrong against each
			      other */
	uint64_t next;	   /* before this nothing inside of it may begin */
	uint64_t child;	   /* ticks of what is inside of it */
	uint16_t brick, flags;
};

/* One call's way into the ring. */
struct record_cursor {
	struct queue_lane *to;
	int overlaps;  /* commands may, those of its queue */
	uint64_t head; /* of what is not published yet */
	int writes;    /* 0: the ring is full */
	uint32_t depth;
	struct open_command stack[BRICK_MAX_DEPTH];
};

/* Lanes. */

static bool looks_the_same(const struct brick_lane *lane, const struct queue_name *queue)
{
	return lane->queue_flags == queue->flags &&
	       !strncmp(lane->name, queue->name, sizeof(lane->name)) &&
	       !strncmp(lane->backend, queue->backend, sizeof(lane->backend));
}

/* A lane is in the order of its begins: the next command must not begin before this one ends. */
static struct brick_lane *queue_find_left(
	struct brick_session *s, const struct queue_name *queue, uint64_t begin)
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

/*
 * A lane of its session for a queue whose next command begins at `begin`: one that an equal queue
 * has left before that, or a new one. -ENOENT: that session is over; BRICK_EFULL.
 */
static int open_lane(struct queue_lane *to, const struct queue_name *queue, uint64_t begin)
{
	KEEP_ERRNO();

	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_of(to->serial);
	if (!s)
		return -ENOENT;
	struct brick_lane *lane = queue_find_left(s, queue, begin);
	if (!lane)
		lane = brick__lane_create(s, BRICK_LANE_QUEUE);
	if (!lane) {
		s->header->ledger.table_full++;
		return BRICK_EFULL;
	}
	to->lane = lane;
	to->ring = (struct brick_record *)((char *)lane + lane->ring_offset);
	to->mask = lane->capacity ? lane->capacity - 1 : 0;
	to->last_end = lane->end_ticks;
	brick__gpu_note(s, brick_queue_gpu(queue->flags));
	lane->tid = queue->number;
	lane->owners++;
	lane->start_ticks = begin;
	lane->end_ticks = 0;
	lane->queue_flags = queue->flags;
	memcpy(lane->name, queue->name, sizeof(lane->name));
	memcpy(lane->backend, queue->backend, sizeof(lane->backend));
	__atomic_store_n(&lane->state, BRICK_LANE_LIVE, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Leaves the queue's lane, if it has one: free for the next queue while its session lasts, else
 * unmapped.
 */
static void close_lane(struct queue_lane *to)
{
	struct brick_lane *lane = to->lane;

	if (!lane)
		return;
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session_of(to->serial)) {
		uint64_t last = to->last_end;
		lane->end_ticks = last > lane->start_ticks ? last : lane->start_ticks;
		lane->live_ticks += lane->end_ticks - lane->start_ticks;
		__atomic_store_n(&lane->state, BRICK_LANE_FREE, __ATOMIC_RELEASE);
	} else if (!brick__lane_is_gone(to->serial)) {
		brick__lane_unmap(lane);
	}
	*to = (struct queue_lane){.next = to->next};
}

static struct queue_lane *queue_find_place(struct brick_queue *queue, uint32_t serial)
{
	struct queue_lane *to = &queue->first;

	while (to && to->serial != serial)
		to = to->next;
	return to;
}

/* One of a session that is over, or a new one. NULL: no memory. */
static struct queue_lane *make_place(struct brick_queue *queue, uint32_t serial)
{
	struct queue_lane *to = &queue->first;

	while (to && to->serial && brick__session_lives(to->serial))
		to = to->next;
	if (to) {
		close_lane(to);
	} else {
		to = calloc(1, sizeof(*to));
		if (!to)
			return NULL;
		to->next = queue->first.next;
		queue->first.next = to;
	}
	to->serial = serial;
	to->pending = 0;
	return to;
}

static struct queue_lane *place_in(struct brick_queue *queue, uint32_t serial)
{
	struct queue_lane *to = queue_find_place(queue, serial);

	return to ? to : make_place(queue, serial);
}

/* Have a lane in session `serial`. Errors as of open_lane(), and -ENOMEM. */
static int use_lane(
	struct queue_lane **out, struct brick_queue *queue, uint32_t serial, uint64_t begin)
{
	if (serial && !brick__session_lives(serial))
		brick__session_ensure(); /* it may be what the recorder waits for */
	if (!serial || !brick__session_lives(serial))
		return -ENOENT;
	struct queue_lane *to = place_in(queue, serial);
	int error = !to ? -ENOMEM : to->lane ? 0 : open_lane(to, &queue->name, begin);
	*out = error ? NULL : to;
	return error;
}

/* Queues. */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct brick_queue *queue_list;
static uint64_t queue_last_number;

static void link_queue(struct brick_queue *queue)
{
	HOLD_UNCANCELLED(&list_lock);
	queue->name.number = ++queue_last_number;
	queue->next = queue_list;
	queue->link = &queue_list;
	if (queue_list)
		queue_list->link = &queue->next;
	queue_list = queue;
}

static void unlink_queue(struct brick_queue *queue)
{
	HOLD_UNCANCELLED(&list_lock);
	*queue->link = queue->next;
	if (queue->next)
		queue->next->link = queue->link;
}

int brick_queue_create(struct brick_queue **out, const struct brick_queue_options *options)
{
	struct brick_queue_options o = BRICK_QUEUE_OPTIONS_INIT;
	KEEP_ERRNO();

	int error = options ? sized_read(&o, sizeof(o), options) : 0;

	if (error)
		return error;
	if (o.reserved || o.flags & ~(uint32_t)BRICK_QUEUE_OUT_OF_ORDER)
		return -EINVAL;
	struct brick_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	pthread_mutex_init(&queue->lock, NULL);
	queue->name.flags = o.flags;
	utf8_field(queue->name.name, sizeof(queue->name.name), o.name);
	utf8_field(queue->name.backend, sizeof(queue->name.backend), o.backend);
	link_queue(queue);
	*out = queue;
	return 0;
}

void brick__queue_on_gpu(struct brick_queue *queue, const char *backend, uint64_t id)
{
	KEEP_ERRNO();

	uint64_t number = brick__gpu_number(backend, id);
	HOLD_UNCANCELLED(&queue->lock);
	queue->name.flags = (uint32_t)queue->name.flags | number << 32;
}

void brick_queue_destroy(struct brick_queue *queue)
{
	if (!queue)
		return;
	unlink_queue(queue);
	lock_take(&queue->lock);
	for (struct queue_lane *to = &queue->first; to; to = to->next)
		close_lane(to);
	lock_give(&queue->lock);
	for (struct queue_lane *to = queue->first.next, *next; to; to = next) {
		next = to->next;
		free(to);
	}
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/* The ledger. */

/* The ledger of that session, or NULL when it is over. Under the queue's lock. */
static struct brick_ledger *queue_ledger(struct brick_queue *queue, uint32_t serial)
{
	struct queue_lane *to;

	return use_lane(&to, queue, serial, brick__now()) ? NULL : &to->lane->ledger;
}

/* The session that the thread uses, though it may be paused: that does not close the books. */
static uint32_t serial_of_losses(void)
{
	const struct brick_session *s = brick__session_here();

	return brick__session_records(s) ? s->serial : __atomic_load_n(&s->live, __ATOMIC_ACQUIRE);
}

/* `entry`: offset of the counter in the ledger. */
static void count_loss(struct brick_queue *queue, size_t entry, uint64_t count)
{
	if (!queue)
		return;
	HOLD_UNCANCELLED(&queue->lock);
	struct brick_ledger *l = count ? queue_ledger(queue, serial_of_losses()) : NULL;
	if (l)
		*(uint64_t *)((char *)l + entry) += count;
}

void brick_queue_unsupported(struct brick_queue *queue, uint64_t count)
{
	count_loss(queue, offsetof(struct brick_ledger, unsupported), count);
}

void brick_queue_dropped(struct brick_queue *queue, uint64_t count)
{
	count_loss(queue, offsetof(struct brick_ledger, dropped), count);
}

void brick__queue_unmatched(struct brick_queue *queue, uint64_t count)
{
	count_loss(queue, offsetof(struct brick_ledger, unmatched), count);
}

void brick__queue_too_deep(struct brick_queue *queue)
{
	count_loss(queue, offsetof(struct brick_ledger, too_deep), 1);
}

void brick__queue_pending(struct brick_queue *queue, uint32_t serial, int change)
{
	HOLD_BRIEFLY(&queue->lock);
	struct queue_lane *to =
		change > 0 ? place_in(queue, serial) : queue_find_place(queue, serial);
	if (to && change > 0)
		to->pending++;
	else if (to && to->pending)
		to->pending--;
}

/*
 * At the end of a process a thread may have ended inside of a queue. Then its lock is left alone.
 */
static int lock_or_leave(pthread_mutex_t *lock, int at_exit)
{
	if (at_exit)
		return !lock_try(lock);
	lock_take(lock);
	return 1;
}

void brick__queues_account(uint32_t serial, bool at_exit)
{
	if (!lock_or_leave(&list_lock, at_exit))
		return;
	for (struct brick_queue *q = queue_list; q; q = q->next) {
		if (!lock_or_leave(&q->lock, at_exit))
			continue;
		/* serial 0: in all sessions */
		for (struct queue_lane *to = &q->first; to; to = to->next) {
			if (!to->pending || (serial && to->serial != serial))
				continue;
			struct brick_ledger *l = queue_ledger(q, to->serial);
			if (l)
				l->dropped += to->pending;
			to->pending = 0;
		}
		lock_give(&q->lock);
	}
	lock_give(&list_lock);
}

/* Fork. */

void brick__queues_lock(void)
{
	lock_take(&list_lock);
	for (struct brick_queue *q = queue_list; q; q = q->next)
		lock_take(&q->lock);
	brick__queue_clock_lock();
}

void brick__queues_unlock(void)
{
	brick__queue_clock_unlock();
	for (struct brick_queue *q = queue_list; q; q = q->next)
		lock_give(&q->lock);
	lock_give(&list_lock);
}

void brick__queues_abandon(void)
{
	for (struct brick_queue *q = queue_list; q; q = q->next)
		for (struct queue_lane *to = &q->first; to; to = to->next)
			*to = (struct queue_lane){.next = to->next};
}

/* Records. */

static void queue_put(struct record_cursor *cursor, const struct brick_record *record)
{
	if (cursor->writes)
		cursor->to->ring[cursor->head++ & cursor->to->mask] = *record;
}

static uint64_t ticks_or_0(uint64_t ns)
{
	return ns ? brick__ticks_of_ns(ns).at : 0;
}

static void put_about(struct record_cursor *cursor, const struct brick_command *c)
{
	const struct brick_launch *l = &c->launch;

	if (c->bytes | c->flops)
		queue_put(cursor, &(struct brick_record){.begin = c->bytes,
					  .kind = BRICK_RECORD_WORK,
					  .elements = c->flops});
	queue_put(
		cursor, &(struct brick_record){.begin = l->begin,
				.ticks = ticks_saturated(l->end > l->begin ? l->end - l->begin : 0),
				.wait = l->lane,
				.kind = BRICK_RECORD_LAUNCH,
				.brick = (uint16_t)c->kernel,
				.layer = (int16_t)l->layer,
				.elements = l->number});
	if (c->queued_ns | c->submitted_ns)
		queue_put(cursor, &(struct brick_record){.begin = ticks_or_0(c->queued_ns),
					  .kind = BRICK_RECORD_TIMES,
					  .elements = ticks_or_0(c->submitted_ns)});
	for (uint32_t i = 0; i < c->after_count; i++)
		queue_put(cursor, &(struct brick_record){
					  .kind = BRICK_RECORD_AFTER, .elements = c->after[i]});
}

/* Statistics. */

static bool is_inside_of_same(const struct record_cursor *cursor, uint16_t brick)
{
	for (uint32_t i = 0; i < cursor->depth; i++)
		if (cursor->stack[i].brick == brick)
			return true;
	return false;
}

/* `o` is off the stack. */
static void queue_count_lost(struct record_cursor *cursor, const struct open_command *o)
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

/* Placing. */

static void queue_clamp(struct record_cursor *cursor, struct open_command *o, uint64_t off)
{
	if (off <= o->residual)
		return;
	cursor->to->lane->ledger.clamped += !(o->flags & BRICK_FLAG_CLAMPED);
	o->flags |= BRICK_FLAG_CLAMPED;
}

/* Not before `first` and not behind `last`: cut what sticks out. */
static void queue_place_command(
	struct record_cursor *cursor, struct open_command *o, uint64_t first, uint64_t last)
{
	if (o->end < o->begin) {
		queue_clamp(cursor, o, UINT64_MAX);
		o->end = o->begin;
	}
	if (o->begin < first) {
		queue_clamp(cursor, o, first - o->begin);
		o->begin = first;
	}
	if (o->end > last) {
		queue_clamp(cursor, o, o->end - last);
		o->end = last;
	}
	if (o->begin > last)
		o->begin = last;
	if (o->end < o->begin)
		o->end = o->begin;
}

static struct brick_record queue_record_of(
	const struct open_command *o, enum brick_record_kind kind)
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
	struct brick_record record = queue_record_of(o, kind);

	if (kind == BRICK_RECORD_CLOSE)
		record.begin = o->end;
	else
		record.ticks = (uint32_t)(o->end - o->begin);
	record.flags = o->flags | (c->elements ? BRICK_FLAG_ELEMENTS : 0);
	record.elements = c->elements;
	queue_put(cursor, &record);
	put_about(cursor, c);
}

static void queue_cursor_pop(struct record_cursor *cursor)
{
	const struct open_command o = cursor->stack[--cursor->depth];

	queue_count_lost(cursor, &o);
	put_end(cursor, &o, BRICK_RECORD_CLOSE);
}

/* Write one command, of which the stack holds what it lies in; `holds`: others follow inside. */
static void queue_write_command(struct record_cursor *cursor, struct open_command *o, int holds)
{
	struct open_command *outer = cursor->depth ? &cursor->stack[cursor->depth - 1] : NULL;

	uint64_t residual = o->residual;

	if (!outer) /* the one before may have been placed by a poorer clock */
		o->residual += cursor->to->last_residual;
	uint64_t free_from = cursor->overlaps ? 0 : cursor->to->last_end;
	queue_place_command(
		cursor, o, outer ? outer->next : free_from, outer ? outer->end : UINT64_MAX);
	o->next = o->begin;
	if (outer) {
		outer->next = o->end;
		outer->child += o->end - o->begin;
	} else {
		if (o->end > cursor->to->last_end)
			cursor->to->last_end = o->end;
		cursor->to->last_residual = residual;
	}
	if (holds || (o->end - o->begin) >> 32) {
		struct brick_record record = queue_record_of(o, BRICK_RECORD_OPEN);
		queue_put(cursor, &record);
		cursor->stack[cursor->depth++] = *o;
	} else {
		queue_count_lost(cursor, o);
		put_end(cursor, o, BRICK_RECORD_SAMPLE);
	}
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

	/*
	 * Nothing begins before its launch or ends after the wait for it. A command that seems to,
	 * by no more than the clocks may be off, is moved before the wait, as far as its launch is
	 * away, and cut otherwise, so the order of commands stays.
	 */
	uint64_t launch = c->launch.begin;
	struct brick__ticks over = {UINT64_MAX, 0};
	if (c->size >= sizeof(*c) && c->over_ns)
		over = brick__ticks_of_ns(c->over_ns);
	over.at -= over.off;
	if (o.begin <= over.at && o.end > over.at && o.end - over.at <= o.residual) {
		uint64_t room = o.begin > launch ? o.begin - launch : 0;
		o.begin -= number_min(o.end - over.at, room);
		o.end = over.at;
	}
	if (o.begin < launch && launch <= o.end && launch - o.begin <= o.residual)
		o.begin = launch;
	return o;
}

/* Under the queue's lock, in a session that goes on. */
static void queue_record_all(struct queue_lane *to, bool overlaps,
	const struct brick_command *const *commands, const uint8_t *depths, uint32_t count)
{
	struct record_cursor cursor;
	struct brick_lane *lane = to->lane;
	uint64_t records = 0;

	cursor.depth = 0;
	cursor.to = to;
	cursor.overlaps = overlaps;
	for (uint32_t i = 0; i < count; i++)
		records += 5ull + commands[i]->after_count; /* at most */
	cursor.writes = brick__ring_look(lane, records);
	cursor.head = lane->head;
	if (!cursor.writes && lane->capacity)
		lane->ledger.dropped += count;
	for (uint32_t i = 0; i < count; i++) {
		struct open_command o = open_of(commands[i]);
		if (!brick__lane_counts(lane, o.brick))
			o.brick = BRICK_GRAPH_COMPUTE; /* the registry or the memory is full */
		while (cursor.depth > depths[i])
			queue_cursor_pop(&cursor);
		queue_write_command(&cursor, &o, i + 1 < count && depths[i + 1] > depths[i]);
	}
	while (cursor.depth)
		queue_cursor_pop(&cursor);
	if (cursor.writes)
		__atomic_store_n(&lane->head, cursor.head, __ATOMIC_RELEASE);
}

/* `latest`: a later time is impossible, and would leave no room for the next command. */
static int queue_check(const struct brick_command *c, uint64_t latest)
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
		error = queue_check(commands[i], latest);
	if (error)
		return error;
	HOLD_BRIEFLY(&queue->lock);
	uint64_t begin = brick__ticks_of_ns(commands[0]->begin_ns).at;
	struct queue_lane *to;
	error = use_lane(&to, queue, commands[0]->launch.session, begin);
	if (!error)
		queue_record_all(
			to, queue->name.flags & BRICK_QUEUE_OUT_OF_ORDER, commands, depths, count);
	return error;
}

int brick_queue_record(struct brick_queue *queue, const struct brick_command *command)
{
	static const uint8_t outermost = 0;

	if (!queue || !command)
		return -EINVAL;
	return brick__queue_record_nested(queue, &command, &outermost, 1);
}

/* Passes of a GPU that the program timed itself are commands without a launch. */
static int check_passes(const struct brick_pass *passes, uint32_t count)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!passes[i].name || !passes[i].begin_ns || passes[i].begin_ns < last ||
			passes[i].end_ns < passes[i].begin_ns)
			return -EINVAL;
		last = passes[i].begin_ns;
	}
	return 0;
}

int brick_queue_passes(struct brick_queue *queue, const struct brick_pass *passes, uint32_t count)
{
	struct brick_command command = BRICK_COMMAND_INIT;
	struct brick_launch parent;
	int error = queue && (passes || !count) ? check_passes(passes, count) : -EINVAL;

	brick_launch_parent(&parent);
	parent.session = brick__number_here();
	if (!parent.session || error)
		return parent.session ? error : -ENOENT;
	command.source = BRICK_SOURCE_TIMESTAMP_QUERY;
	for (uint32_t i = 0; i < count && !error; i++) {
		struct brick_kernel kernel = BRICK_KERNEL_INIT;
		kernel.name = passes[i].name;
		command.launch = parent;
		command.launch.number = brick_launch_number();
		command.kernel = brick_kernel_register(&kernel);
		command.begin_ns = passes[i].begin_ns;
		command.end_ns = passes[i].end_ns;
		error = brick_queue_record(queue, &command);
	}
	return error;
}
