/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device in use: bricks and timers on it, from the engine's call to a time on the host's clock.
 * A pair is one begin and one end in a queue of the device, of a brick (a span) or of a timer.
 * Pairs are a fixed table made when the device is opened; a ticket names a pair and the use it is
 * in, so that what comes late or twice finds nobody. Spans of a queue keep the order of their
 * begins until the outermost one and all in it have their times; then they are recorded together,
 * and what failed or was lost is counted and leaves a gap. One thread at a time.
 */
#include "brick/device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/scope.h"
#include "base/sized.h"
#include "brick/error.h"
#include "brick/probe.h"
#include "lib/device/backend_call.h"
#include "lib/backends/backend_load.h"
#include "lib/device/correlation_residual.h"
#include "lib/backends/device_inside.h"
#include "lib/device/gpus.h"
#include "lib/device/queue_lane.h"
#include "lib/probe/sample.h"
#include "lib/session/session_map.h"
#include "lib/sys/ticks.h"

enum {
	DEFAULT_PAIRS = 4096,
	MIN_PAIRS = 2,
	MAX_PAIRS = 1 << 20,
	MAX_JOINED = 8, /* sessions that use a device in turns; of more, one gets the notes again */
	READINGS_AT_OPEN = 16,
	READINGS = 4,
	CORRELATE_NS = 50000000,  /* between readings of the device's clock */
	PATIENCE_NS = 1000000000, /* with results that do not come */
	MAX_CLOCK_FAILURES = 3,	  /* in a row: then its clock has begun anew */
};

#define NO_PAIR UINT32_MAX

enum { SPAN_DEPTH = BRICK_MAX_DEPTH - 1, MAX_NOTES = 16 };

enum pair_state {
	PAIR_FREE,
	PAIR_OPEN,   /* begun */
	PAIR_ENDED,  /* both timestamps are in the queue */
	PAIR_DONE,   /* both have come back */
	PAIR_FAILED, /* they came back as an error, or never will */
};

struct pair {
	uint32_t generation;  /* upper half of its ticket: differs from use to use */
	uint32_t next;	      /* the next span of its queue, or the next free pair; NO_PAIR: none */
	uint8_t state;	      /* enum pair_state */
	uint8_t depth;	      /* spans open on its queue when it began */
	uint8_t is_immediate; /* the thread waits for it */
	uint8_t reserved;
	int error;		      /* of a failed one */
	struct device_queue *queue;   /* of a span; NULL: the pair is a timer's */
	struct brick_timer *timer;    /* of a timer's pair; NULL: its timer no longer wants it */
	struct brick_command command; /* times as they came, until it is recorded */
};

struct device_queue {
	struct device_queue *next;
	void *native;
	struct brick_queue *queue;
	uint32_t first, last;	   /* spans that are not recorded yet */
	uint32_t depth;		   /* spans that are open */
	uint32_t open[SPAN_DEPTH]; /* [depth] of them, the outermost first */
	/*
	 * Of the outermost span that was placed last: begin on the device's and on the host's
	 * clock, end on the host's, and how far these may be off.
	 */
	uint64_t device_ns, host_ns, end_ns, residual_ns;
};

enum timer_state { IDLE, STARTED, ENDED, READY, FAILED };

struct brick_timer {
	struct brick_device *device; /* NULL: it was closed */
	struct brick_timer *next, **link;
	enum timer_state state;
	uint32_t pair; /* while STARTED or ENDED */
	int error;     /* while FAILED */
	void *queue;
	uint64_t ns; /* while READY */
};

struct brick_device {
	const struct brick_backend *backend;
	struct brick_backend_device *handle;
	void (*claim)(struct brick_backend_device *device, void *queue); /* or NULL */
	int has_mode; /* mode was set by brick_device_mode_set() */
	uint32_t mode;
	uint32_t serial; /* of the session in which the device was used last; joined[0] */
	struct {
		uint32_t serial;
		uint64_t noted_ns; /* residual that is in its notes */
	} joined[MAX_JOINED];	   /* sessions that have the notes, that one first */

	uint32_t pair_count, in_use; /* pairs in all, and those that are not free */
	uint32_t free;		     /* the first free pair; NO_PAIR: there is none */
	struct pair *pairs;
	const struct brick_command **commands; /* of what is recorded together */
	uint8_t *depths;
	struct device_queue *queues;
	uint32_t queue_count;
	struct brick_timer *timers;

	uint64_t lost;		 /* pairs that the backend lost without saying which */
	uint64_t strays;	 /* completions of no pair */
	uint32_t recorded;	 /* by the current drain */
	uint32_t drained_in_use; /* in_use after the last drain */
	int error;		 /* the last error of a call of the backend; reported once */

	struct brick_correlation correlation;
	uint32_t clock_failures;
	uint64_t correlated_ns; /* when the device's clock was read last; CLOCK_MONOTONIC */
	uint64_t placed_ns;	/* the greatest residual that times were placed with */

	struct {
		char key[48], value[160];
	} notes[MAX_NOTES];
	uint32_t note_count;
};

static uint64_t ticket_of(const struct brick_device *device, uint32_t index)
{
	return (uint64_t)device->pairs[index].generation << 32 | (index + 1);
}

/*
 * A call of the backend failed: the next drain reports it. Where the work cannot be timed, as in a
 * stream that is being captured, it is counted, and the device goes on.
 */
static void keep_error(struct brick_device *device, int error)
{
	if (error != BRICK_EUNSUPPORTED)
		device->error = error;
}

/* Pairs. */

static uint32_t find_pair(const struct brick_device *device, uint64_t ticket)
{
	uint32_t index = (uint32_t)ticket - 1;

	if (index >= device->pair_count || device->pairs[index].state == PAIR_FREE ||
		ticket_of(device, index) != ticket)
		return NO_PAIR;
	return index;
}

static void device_release_pair(struct brick_device *device, uint32_t index)
{
	struct pair *pair = &device->pairs[index];

	pair->state = PAIR_FREE;
	pair->next = device->free;
	device->free = index;
	device->in_use--;
}

/* A free pair; NO_PAIR if there is none. */
static uint32_t take_free(struct brick_device *device)
{
	uint32_t index = device->free;

	if (index == NO_PAIR)
		return index;
	struct pair *pair = &device->pairs[index];
	device->free = pair->next;
	device->in_use++;
	uint32_t generation = pair->generation + 1;
	*pair = (struct pair){.generation = generation,
		.next = NO_PAIR,
		.state = PAIR_OPEN,
		.command = {
			.size = sizeof(struct brick_command), .source = device->backend->source}};
	return index;
}

/* The same, after a drain if there is none. */
static uint32_t device_take_pair(struct brick_device *device)
{
	uint32_t index = take_free(device);

	if (index != NO_PAIR)
		return index;
	brick_device_drain(device);
	return take_free(device);
}

/* The backend's begin(). If it has no room, drains and tries again. */
static int device_begin_pair(struct brick_device *device, void *native, uint32_t index)
{
	uint64_t ticket = ticket_of(device, index);
	int error = IN_BACKEND(device->backend->begin(device->handle, native, ticket));

	if (error == -EAGAIN) {
		brick_device_drain(device);
		error = IN_BACKEND(device->backend->begin(device->handle, native, ticket));
	}
	if (error < 0 && error != -EAGAIN)
		keep_error(device, error);
	return error < 0 ? error : 0;
}

/* What the backend calls. */

static int device_fail(struct brick_timer *timer, int error)
{
	timer->state = FAILED;
	timer->error = error;
	return error;
}

static void finish_timer(struct brick_timer *timer, uint64_t begin_ns, uint64_t end_ns, int error)
{
	if (!error && end_ns < begin_ns)
		error = BRICK_EDEVICE; /* a time that cannot be */
	if (error) {
		device_fail(timer, error < 0 ? error : BRICK_EDEVICE);
		return;
	}
	timer->state = READY;
	timer->ns = end_ns - begin_ns;
}

void brick__device_complete(void *context, const struct brick_completion *completion)
{
	struct brick_device *device = context;
	uint32_t index = find_pair(device, completion->ticket);
	struct pair *pair = index == NO_PAIR ? NULL : &device->pairs[index];

	if (!pair || pair->state != PAIR_ENDED) {
		device->strays++;
		return;
	}
	int error = completion->reserved ? -EINVAL : completion->error;
	pair->state = error ? PAIR_FAILED : PAIR_DONE;
	pair->error = error;
	pair->command.begin_ns = completion->begin_ns;
	pair->command.end_ns = completion->end_ns;
	pair->command.queued_ns = completion->queued_ns;
	pair->command.submitted_ns = completion->submitted_ns;
	if (pair->queue)
		return; /* a span waits for those around it */
	if (pair->timer)
		finish_timer(pair->timer, completion->begin_ns, completion->end_ns, error);
	device_release_pair(device, index);
}

static void device_count_lost(void *context, uint64_t count)
{
	((struct brick_device *)context)->lost += count;
}

static void keep_note(void *context, const char *key, const char *value)
{
	struct brick_device *device = context;

	if (device->note_count == MAX_NOTES)
		return;
	snprintf(device->notes[device->note_count].key, sizeof(device->notes->key), "%.15s.%s",
		device->backend->name, key);
	snprintf(
		device->notes[device->note_count].value, sizeof(device->notes->value), "%s", value);
	if (device->serial && device->serial == brick__number_here())
		brick_note(device->notes[device->note_count].key, "%s", value);
	device->note_count++;
}

/* From pairs that have come back, to commands on the lane of their queue. */

/* How many of those up to `end` have ended but not come back; UINT32_MAX: one is still open. */
static uint32_t count_missing(struct brick_device *device, uint32_t root, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = root; i != end; i = device->pairs[i].next) {
		if (device->pairs[i].state == PAIR_OPEN)
			return UINT32_MAX;
		count += device->pairs[i].state == PAIR_ENDED;
	}
	return count;
}

static bool any_settled(struct brick_device *device, uint32_t from)
{
	for (uint32_t i = from; i != NO_PAIR; i = device->pairs[i].next)
		if (device->pairs[i].state == PAIR_DONE || device->pairs[i].state == PAIR_FAILED)
			return true;
	return false;
}

/*
 * The backend said that some were lost, but not which. Those whose successors in the queue have
 * come back are taken for the lost ones; so are those that hold the last free pairs.
 */
static int claim_lost(struct brick_device *device, uint32_t root, uint32_t end, uint32_t count)
{
	int is_stuck = device->free == NO_PAIR;

	if (count == UINT32_MAX || !any_settled(device, end) || (device->lost < count && !is_stuck))
		return 0;
	device->lost -= device->lost < count ? device->lost : count;
	for (uint32_t i = root; i != end; i = device->pairs[i].next)
		if (device->pairs[i].state == PAIR_ENDED) {
			device->pairs[i].state = PAIR_FAILED;
			device->pairs[i].error = BRICK_ENOTRECORDED;
		}
	return 1;
}

static uint64_t device_host_ns(const struct brick_device *device, uint64_t device_ns)
{
	return device_ns ? brick_correlation_host_ns(&device->correlation, device_ns) : 0;
}

/* As far behind the outermost span's begin as on the device. */
static uint64_t placed_ns(
	const struct brick_device *device, const struct device_queue *queue, uint64_t device_ns)
{
	return queue->host_ns +
	       brick__correlation_length_ns(&device->correlation, queue->device_ns, device_ns);
}

/* True if there is a time to record; puts it on the host's clock. */
static int device_place(struct brick_device *device, struct pair *pair, bool is_outermost)
{
	struct brick_command *c = &pair->command;
	const struct brick_correlation *line = &device->correlation;

	if (pair->state == PAIR_FAILED || !c->begin_ns || !c->end_ns) {
		brick_queue_dropped(pair->queue->queue, 1);
		return 0;
	}
	if (!line->count) {
		brick_queue_unsupported(pair->queue->queue, 1);
		return 0;
	}
	uint64_t residual = brick__correlation_residual_ns(line, c->end_ns);
	if (is_outermost) {
		/*
		 * The line places outermost spans. A length is the device's own as long as the line
		 * knows no better: in a short run the line's rate is right within 1 in 5000 only. A
		 * span that would begin before the one in front of it has ended begins at that end,
		 * if the line's error explains the overlap.
		 */
		uint64_t ns = device_host_ns(device, c->begin_ns);
		if (ns < pair->queue->end_ns &&
			pair->queue->end_ns - ns <= residual + pair->queue->residual_ns)
			ns = pair->queue->end_ns;
		pair->queue->device_ns = c->begin_ns;
		pair->queue->host_ns = ns;
		pair->queue->end_ns = ns + brick__correlation_length_ns(
						   &device->correlation, c->begin_ns, c->end_ns);
		pair->queue->residual_ns = residual;
	}
	c->begin_ns = placed_ns(device, pair->queue, c->begin_ns);
	c->end_ns = placed_ns(device, pair->queue, c->end_ns);
	c->queued_ns = device_host_ns(device, c->queued_ns);
	c->submitted_ns = device_host_ns(device, c->submitted_ns);
	if (residual > device->placed_ns)
		device->placed_ns = residual;
	c->residual_ns = residual > UINT32_MAX ? UINT32_MAX : (uint32_t)residual;
	return 1;
}

/* Those up to `end`. Those inside of a failed one move up to where that was. */
static void device_record(struct brick_device *device, struct device_queue *queue, uint32_t end)
{
	uint8_t level[BRICK_MAX_DEPTH + 1] = {0}; /* depth of what is inside of a span at [i - 1] */
	uint32_t count = 0;

	for (uint32_t i = queue->first; i != end; i = device->pairs[i].next) {
		struct pair *pair = &device->pairs[i];
		uint8_t depth = level[pair->depth];
		int is_there = device_place(device, pair, !depth);
		level[pair->depth + 1] = depth + (is_there != 0);
		if (!is_there)
			continue;
		device->commands[count] = &pair->command;
		device->depths[count++] = depth;
	}
	if (!count)
		return;
	int error =
		brick__queue_record_nested(queue->queue, device->commands, device->depths, count);
	if (!error)
		device->recorded += count;
	else if (error == -EINVAL) /* times that cannot be */
		brick_queue_dropped(queue->queue, count);
}

static void flush_queue(struct brick_device *device, struct device_queue *queue)
{
	while (queue->first != NO_PAIR) {
		/* the first span behind an outermost one that does not lie inside of it */
		uint32_t end = device->pairs[queue->first].next;
		while (end != NO_PAIR && device->pairs[end].depth)
			end = device->pairs[end].next;
		uint32_t count = count_missing(device, queue->first, end);
		if (count && !claim_lost(device, queue->first, end, count))
			break;
		device_record(device, queue, end);
		while (queue->first != end) {
			struct pair *pair = &device->pairs[queue->first];
			uint32_t next = pair->next;
			brick__queue_pending(queue->queue, pair->command.launch.session, -1);
			device_release_pair(device, queue->first);
			queue->first = next;
		}
		if (end == NO_PAIR)
			queue->last = NO_PAIR;
	}
}

/* Record the spans that are complete, of all queues. */
static void device_flush(struct brick_device *device)
{
	for (struct device_queue *q = device->queues; q; q = q->next)
		flush_queue(device, q);
	if (device->strays && device->queues) {
		brick__queue_unmatched(device->queues->queue, device->strays);
		device->strays = 0;
	}
}

/* Nobody waits for results any more: spans count as dropped, timers fail. */
static void device_give_up(struct brick_device *device)
{
	for (uint32_t i = 0; i < device->pair_count; i++) {
		struct pair *pair = &device->pairs[i];
		if (pair->state != PAIR_ENDED)
			continue;
		pair->state = PAIR_FAILED;
		pair->error = BRICK_ENOTRECORDED;
		if (pair->queue)
			continue;
		if (pair->timer)
			finish_timer(pair->timer, 0, 0, BRICK_ENOTRECORDED);
		device_release_pair(device, i);
	}
	device->lost = 0; /* they are among these */
}

/* The clock. */

static uint32_t device_read_clock(
	struct brick_device *device, struct brick_reading *readings, uint32_t count)
{
	uint32_t got = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct brick_reading *r = &readings[got];
		int error = IN_BACKEND(device->backend->correlate(device->handle, r));
		if (error == -ENOTSUP)
			return 0;
		got += !error && r->after_ns >= r->before_ns;
	}
	return got;
}

void brick__device_correlate(struct brick_device *device, uint32_t count)
{
	struct brick_reading readings[READINGS_AT_OPEN];

	count = device_read_clock(
		device, readings, count < READINGS_AT_OPEN ? count : READINGS_AT_OPEN);
	device->correlated_ns = brick__monotonic_ns();
	if (!count)
		return;
	if (!brick_correlation_add(&device->correlation, readings, count)) {
		device->clock_failures = 0;
	} else if (++device->clock_failures == MAX_CLOCK_FAILURES) {
		brick_correlation_init(&device->correlation);
		brick_correlation_add(&device->correlation, readings, count);
		device->clock_failures = 0;
		keep_note(device, "clock", "it ran back and was begun anew");
	}
}

/*
 * How far off its times may be. A line that a better reading has replaced since counts, too. This
 * is reported when times have come, and again when it has grown by half.
 */
static void device_note_residual(struct brick_device *device)
{
	uint64_t residual = device->correlation.residual_ns;

	if (device->placed_ns > residual)
		residual = device->placed_ns;
	char key[sizeof(device->notes->key)];

	uint64_t *noted_ns = &device->joined[0].noted_ns;

	if (!device->serial || device->serial != brick__number_here() ||
		!device->correlation.count || (*noted_ns && residual < *noted_ns + *noted_ns / 2))
		return;
	snprintf(key, sizeof(key), "%.15s.clock", device->backend->name);
	brick_note(key, "of the program's bricks: residual %llu ns", (unsigned long long)residual);
	*noted_ns = residual;
}

/* Bricks. */

/* Puts the queue on its device's GPU, if the backend has noted what that is. */
static void place_on_gpu(const struct brick_device *device, struct brick_queue *queue)
{
	for (uint32_t i = 0; i < device->note_count; i++) {
		const char *what = strrchr(device->notes[i].key, '.');
		if (!what || strcmp(what, ".device") != 0)
			continue;
		brick__gpu_describe(device->backend->name, (uintptr_t)device->handle,
			&(struct gpu_facts){.name = device->notes[i].value});
		brick__queue_on_gpu(queue, device->backend->name, (uintptr_t)device->handle);
		return;
	}
}

static struct device_queue *device_add_queue(struct brick_device *device, void *native)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct device_queue *queue = calloc(1, sizeof(*queue));
	char name[64];

	if (!queue)
		return NULL;
	snprintf(name, sizeof(name), "%.40s queue %u", device->backend->name,
		device->queue_count + 1);
	options.name = name;
	options.backend = device->backend->name;
	if (brick_queue_create(&queue->queue, &options)) {
		free(queue);
		return NULL;
	}
	place_on_gpu(device, queue->queue);
	queue->native = native;
	queue->first = queue->last = NO_PAIR;
	queue->next = device->queues;
	device->queues = queue;
	device->queue_count++;
	return queue;
}

static struct device_queue *device_queue_of(struct brick_device *device, void *native)
{
	KEEP_ERRNO();

	for (struct device_queue *q = device->queues; q; q = q->next)
		if (q->native == native)
			return q;
	return device_add_queue(device, native);
}

/* Puts it first; returns whether it was known. The one that was used longest ago is forgotten. */
static bool was_joined(struct brick_device *device, uint32_t serial)
{
	uint32_t i = 0;

	while (i < MAX_JOINED - 1 && device->joined[i].serial != serial)
		i++;
	bool known = device->joined[i].serial == serial;
	uint64_t noted_ns = known ? device->joined[i].noted_ns : 0;
	memmove(&device->joined[1], &device->joined[0], i * sizeof(device->joined[0]));
	device->joined[0].serial = serial;
	device->joined[0].noted_ns = noted_ns;
	return known;
}

/* Another session than the last: what it should know of us. */
static void join_session(struct brick_device *device, uint32_t serial)
{
	brick__session_ensure();
	device->serial = serial;
	if (!serial || was_joined(device, serial))
		return;
	for (uint32_t i = 0; i < device->note_count; i++)
		brick_note(device->notes[i].key, "%s", device->notes[i].value);
	device->placed_ns = 0;
}

static uint32_t mode_now(struct brick_device *device)
{
	uint32_t serial = brick__number_here();

	if (BRICK_UNLIKELY(device->serial != serial))
		join_session(device, serial);
	return device->has_mode ? device->mode : brick__mode_here();
}

static int begin_in_queue(struct brick_device *device, void *native, uint32_t index)
{
	struct brick_launch *launch = &device->pairs[index].command.launch;

	brick_launch_begin(launch);
	if (device->claim)
		device->claim(device->handle, native);
	int error = device_begin_pair(device, native, index);
	if (error)
		brick_launch_end(launch);
	return error;
}

static brick_device_span device_begin(struct brick_device *device, struct device_queue *queue,
	uint32_t mode, uint32_t brick, int layer)
{
	uint32_t index = device_take_pair(device);

	if (index == NO_PAIR) {
		brick_queue_dropped(queue->queue, 1);
		return 0;
	}
	struct pair *pair = &device->pairs[index];
	int error = 0;
	pair->is_immediate = mode == BRICK_MODE_IMMEDIATE;
	if (pair->is_immediate) /* nothing from before may be left in the queue */
		error = IN_BACKEND(device->backend->synchronise(device->handle, queue->native));
	if (error < 0)
		keep_error(device, error);
	else
		error = begin_in_queue(device, queue->native, index);
	if (error < 0) {
		if (error == BRICK_EUNSUPPORTED)
			brick_queue_unsupported(queue->queue, 1);
		else
			brick_queue_dropped(queue->queue, 1);
		device_release_pair(device, index);
		return 0;
	}
	pair->queue = queue;
	pair->depth = (uint8_t)queue->depth;
	pair->command.launch.brick = brick;
	pair->command.launch.layer = layer;
	if (queue->last == NO_PAIR)
		queue->first = index;
	else
		device->pairs[queue->last].next = index;
	queue->last = index;
	queue->open[queue->depth++] = index;
	brick__queue_pending(queue->queue, pair->command.launch.session, 1);
	return ticket_of(device, index);
}

brick_device_span brick_device_begin(
	struct brick_device *device, void *native, uint32_t brick, int layer)
{
	if (BRICK_LIKELY(!brick_enabled()) || !device)
		return 0;
	uint32_t mode = mode_now(device);
	if (mode == BRICK_MODE_NONE)
		return 0;
	struct device_queue *queue = device_queue_of(device, native);
	if (!queue)
		return 0;
	if (brick >= brick_count() || layer < -1 || layer > INT16_MAX) {
		brick__queue_unmatched(queue->queue, 1);
		return 0;
	}
	if (queue->depth >= SPAN_DEPTH) {
		brick__queue_too_deep(queue->queue);
		return 0;
	}
	return device_begin(device, queue, mode, brick, layer);
}

/* Synchronise as a brick of the thread, which waits for command `number`; 0: not known. */
static int wait_as_brick(const struct brick_device *device, void *native, uint64_t number)
{
	brick_span span = brick_begin(BRICK_SYNCHRONIZE);
	int error = IN_BACKEND(device->backend->synchronise(device->handle, native));
	const struct brick_record after = {
		.begin = brick__now(), .kind = BRICK_RECORD_AFTER, .layer = -1, .elements = number};

	if (span)
		brick__close_with(span, after.begin, number ? &after : NULL);
	return error;
}

/* Mode immediate: the thread goes on when the device is done. */
static void device_wait_for(struct brick_device *device, struct pair *pair)
{
	int error = wait_as_brick(device, pair->queue->native, pair->command.launch.number);

	if (error < 0) {
		keep_error(device, error);
		pair->state = PAIR_FAILED;
	}
}

/* End the innermost open span of a queue. */
static void end_top(struct brick_device *device, struct device_queue *queue)
{
	uint32_t index = queue->open[--queue->depth];
	struct pair *pair = &device->pairs[index];

	int error = IN_BACKEND(
		device->backend->end(device->handle, queue->native, ticket_of(device, index)));
	brick_launch_end(&pair->command.launch);
	pair->state = error < 0 ? PAIR_FAILED : PAIR_ENDED;
	if (error < 0)
		keep_error(device, error);
	else if (pair->is_immediate)
		device_wait_for(device, pair);
}

/* Half of the pairs are in use: collect what has come back, now and then. */
static bool is_filling(const struct brick_device *device)
{
	return device->in_use >= device->pair_count / 2 &&
	       device->in_use >= device->drained_in_use + device->pair_count / 16;
}

void brick_device_end(struct brick_device *device, void *native, brick_device_span span,
	uint64_t elements, uint64_t bytes, uint64_t flops)
{
	if (BRICK_LIKELY(!span) || !device)
		return;
	uint32_t index = find_pair(device, span);
	struct pair *pair = index == NO_PAIR ? NULL : &device->pairs[index];
	if (!pair || pair->state != PAIR_OPEN || !pair->queue || pair->queue->native != native) {
		struct device_queue *queue = device_queue_of(device, native);
		if (queue)
			brick__queue_unmatched(queue->queue, 1);
		return;
	}
	struct device_queue *queue = pair->queue;
	pair->command.elements = elements;
	pair->command.bytes = bytes;
	pair->command.flops = flops;
	while (queue->open[queue->depth - 1] != index) {
		brick__queue_unmatched(queue->queue, 1);
		end_top(device, queue);
	}
	int is_immediate = pair->is_immediate;
	end_top(device, queue);
	if ((is_immediate && !queue->depth) || is_filling(device))
		brick_device_drain(device);
}

int brick_device_layer_end(struct brick_device *device, void *native)
{
	if (!device)
		return -EINVAL;
	if (BRICK_LIKELY(!brick_enabled()) || mode_now(device) != BRICK_MODE_PER_LAYER)
		return 0;
	struct device_queue *queue = device_queue_of(device, native);
	uint64_t number = queue && queue->last != NO_PAIR
				  ? device->pairs[queue->last].command.launch.number
				  : 0;
	int error = wait_as_brick(device, native, number);
	if (error < 0)
		return error;
	error = brick_device_drain(device);
	return error < 0 ? error : 0;
}

/* Timers: one pair at a time, independent of sessions. */

int brick_timer_create(struct brick_timer **out, struct brick_device *device)
{
	struct brick_timer *timer = device ? calloc(1, sizeof(*timer)) : NULL;

	if (!timer)
		return device ? -ENOMEM : -EINVAL;
	timer->device = device;
	timer->next = device->timers;
	timer->link = &device->timers;
	if (timer->next)
		timer->next->link = &timer->next;
	device->timers = timer;
	*out = timer;
	return 0;
}

/* Nobody wants any more what is on the way. */
static void device_forget(struct brick_timer *timer)
{
	struct brick_device *device = timer->device;

	if (device && timer->state == STARTED) {
		struct pair *pair = &device->pairs[timer->pair];
		int error = IN_BACKEND(device->backend->end(
			device->handle, timer->queue, ticket_of(device, timer->pair)));
		pair->timer = NULL;
		pair->state = PAIR_ENDED;
		if (error < 0)
			device_release_pair(device, timer->pair);
	} else if (device && timer->state == ENDED) {
		device->pairs[timer->pair].timer = NULL;
	}
	timer->state = IDLE;
}

int brick_timer_start(struct brick_timer *timer, void *queue)
{
	struct brick_device *device = timer ? timer->device : NULL;
	KEEP_ERRNO();

	if (!device)
		return timer ? BRICK_ESTATE : -EINVAL;
	device_forget(timer);
	uint32_t index = device_take_pair(device);
	if (index == NO_PAIR)
		return device_fail(timer, -EAGAIN);
	int error = device_begin_pair(device, queue, index);
	if (error) {
		device->error = 0; /* told here */
		device_release_pair(device, index);
		return device_fail(timer, error);
	}
	device->pairs[index].timer = timer;
	timer->pair = index;
	timer->queue = queue;
	timer->state = STARTED;
	return 0;
}

int brick_timer_stop(struct brick_timer *timer, void *queue)
{
	struct brick_device *device = timer ? timer->device : NULL;
	KEEP_ERRNO();

	if (!device)
		return timer ? BRICK_ESTATE : -EINVAL;
	if (timer->state == FAILED)
		return timer->error;
	if (timer->state != STARTED)
		return -EINVAL;
	int error = IN_BACKEND(
		device->backend->end(device->handle, queue, ticket_of(device, timer->pair)));
	if (error < 0) {
		device_release_pair(device, timer->pair);
		return device_fail(timer, error);
	}
	device->pairs[timer->pair].state = PAIR_ENDED;
	timer->state = ENDED;
	return 0;
}

int brick_timer_elapsed_ns(struct brick_timer *timer, uint64_t *ns)
{
	if (!timer || !ns)
		return -EINVAL;
	if (timer->state == ENDED) {
		int error = brick_device_drain(timer->device);
		if (timer->state == ENDED)
			return error < 0 ? error : -EAGAIN;
	}
	if (timer->state == FAILED)
		return timer->error;
	if (timer->state != READY)
		return -EINVAL;
	*ns = timer->ns;
	return 0;
}

int brick_timer_wait_ns(struct brick_timer *timer, uint64_t *ns)
{
	int error = brick_timer_elapsed_ns(timer, ns);

	if (error != -EAGAIN)
		return error;
	error = brick_device_finish(timer->device);
	return error < 0 ? error : brick_timer_elapsed_ns(timer, ns);
}

void brick_timer_destroy(struct brick_timer *timer)
{
	if (!timer)
		return;
	device_forget(timer);
	if (timer->device) {
		*timer->link = timer->next;
		if (timer->next)
			timer->next->link = timer->link;
	}
	free(timer);
}

/* Taking home. */

int brick__device_take_home(struct brick_device *device)
{
	int error = IN_BACKEND(device->backend->drain(device->handle));

	device_flush(device);
	return error;
}

int brick_device_drain(struct brick_device *device)
{
	KEEP_ERRNO();

	if (!device)
		return -EINVAL;
	uint64_t age = brick__monotonic_ns() - device->correlated_ns;
	if (age >= brick_correlation_period_ns(&device->correlation, CORRELATE_NS))
		brick__device_correlate(device, READINGS);
	device->recorded = 0;
	int error = brick__device_take_home(device);
	device->drained_in_use = device->in_use;
	int earlier = device->error;
	device->error = 0;
	if (error < 0)
		return error;
	return earlier < 0 ? earlier : (int)device->recorded;
}

/*
 * Drain until all results are there, the device fails, or a second has passed. Adds to *recorded.
 */
static int drain_patiently(struct brick_device *device, int *recorded)
{
	uint64_t deadline = brick__monotonic_ns() + PATIENCE_NS;

	for (;;) {
		int n = brick_device_drain(device);
		if (n < 0)
			return n;
		*recorded += n;
		uint32_t pending = 0;
		for (uint32_t i = 0; i < device->pair_count; i++)
			pending += device->pairs[i].state == PAIR_ENDED;
		if (pending <= device->lost || brick__monotonic_ns() >= deadline)
			return 0;
		const struct timespec pause = {.tv_nsec = 200000};
		nanosleep(&pause, NULL);
	}
}

int brick_device_finish(struct brick_device *device)
{
	if (!device)
		return -EINVAL;
	KEEP_ERRNO();
	int recorded = 0;
	uint64_t number = 0;
	for (const struct device_queue *q = device->queues; q; q = q->next)
		if (q->last != NO_PAIR && device->pairs[q->last].command.launch.number > number)
			number = device->pairs[q->last].command.launch.number;
	int failure = number ? wait_as_brick(device, NULL, number)
			     : IN_BACKEND(device->backend->synchronise(device->handle, NULL));
	int error = drain_patiently(device, &recorded);
	device_give_up(device);
	device->recorded = 0;
	device_flush(device);
	device_note_residual(device);
	recorded += (int)device->recorded;
	if (failure < 0)
		return failure;
	return error < 0 ? error : recorded;
}

/* Open and close. */

static __attribute__((format(printf, 4, 5))) int device_refuse(
	char *reason, size_t bytes, int error, const char *format, ...)
{
	va_list arguments;

	if (!reason || !bytes)
		return error;
	va_start(arguments, format);
	vsnprintf(reason, bytes, format, arguments);
	va_end(arguments);
	return error;
}

static void free_device(struct brick_device *device)
{
	if (!device)
		return;
	free(device->pairs);
	free(device->commands);
	free(device->depths);
	free(device);
}

int brick_device_open(struct brick_device **out, const struct brick_backend *backend,
	const struct brick_backend_options *options, char *reason, size_t reason_bytes)
{
	struct brick_backend_options o = BRICK_BACKEND_OPTIONS_INIT;
	char why[256] = "";
	KEEP_ERRNO();

	if (!backend || !out)
		return device_refuse(
			reason, reason_bytes, -EINVAL, "no backend, or nowhere to put it");
	int error = options ? sized_read(&o, sizeof(o), options) : 0;
	if (!error && o.reserved)
		error = -EINVAL;
	if (error)
		return device_refuse(
			reason, reason_bytes, error, "options that are not understood");
	uint32_t pairs = o.pairs ? o.pairs : DEFAULT_PAIRS;
	o.pairs = pairs < MIN_PAIRS ? MIN_PAIRS : pairs > MAX_PAIRS ? MAX_PAIRS : pairs;
	if (brick__backend_check(backend, why, sizeof(why)))
		return device_refuse(reason, reason_bytes, BRICK_EVERSION, "%s", why);
	error = IN_BACKEND(backend->probe(why, sizeof(why)));
	if (error < 0)
		return device_refuse(reason, reason_bytes, error, "%s: %s", backend->name, why);

	struct brick_device *device = calloc(1, sizeof(*device));
	if (!device)
		return -ENOMEM;
	device->backend = backend;
	device->claim = backend->size >= BRICK__BACKEND_MIN_BYTES + sizeof(backend->claim)
				? backend->claim
				: NULL;
	device->pair_count = o.pairs;
	device->pairs = calloc(o.pairs, sizeof(*device->pairs));
	device->commands = calloc(o.pairs, sizeof(struct brick_command *));
	device->depths = calloc(o.pairs, 1);
	if (!device->pairs || !device->commands || !device->depths) {
		free_device(device);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < o.pairs; i++)
		device->pairs[i].next = i + 1 < o.pairs ? i + 1 : NO_PAIR;
	brick_correlation_init(&device->correlation);

	const struct brick_backend_host host = {
		.size = sizeof(host),
		.context = device,
		.complete = brick__device_complete,
		.lost = device_count_lost,
		.note = keep_note,
	};
	error = IN_BACKEND(backend->open(&device->handle, &host, &o));
	if (error < 0) {
		free_device(device);
		return device_refuse(reason, reason_bytes, error, "%s: it cannot be opened: %s",
			backend->name, brick_strerror(error));
	}
	brick__device_correlate(device, READINGS_AT_OPEN);
	*out = device;
	return 0;
}

struct brick_backend_device *brick_device_backend(struct brick_device *device)
{
	return device ? device->handle : NULL;
}

struct brick_correlation *brick__device_correlation(struct brick_device *device)
{
	return &device->correlation;
}

int brick_device_mode_set(struct brick_device *device, enum brick_mode mode)
{
	if (!device || (uint32_t)mode > BRICK_MODE_NONE)
		return -EINVAL;
	device->has_mode = 1;
	device->mode = mode;
	return 0;
}

enum brick_mode brick_device_mode_get(struct brick_device *device)
{
	return device && device->has_mode ? (enum brick_mode)device->mode : brick_mode_get();
}

uint64_t brick_device_pending(const struct brick_device *device)
{
	uint64_t pending = 0;

	for (const struct device_queue *q = device ? device->queues : NULL; q; q = q->next)
		for (uint32_t i = q->first; i != NO_PAIR; i = device->pairs[i].next)
			pending++;
	return pending;
}

void brick_device_close(struct brick_device *device)
{
	KEEP_ERRNO();
	int recorded = 0;

	if (!device)
		return;
	/* spans that nobody ended: they were never complete */
	for (struct device_queue *q = device->queues; q; q = q->next)
		while (q->depth) {
			struct pair *pair = &device->pairs[q->open[--q->depth]];
			brick_launch_end(&pair->command.launch);
			brick__queue_unmatched(q->queue, 1);
			pair->state = PAIR_FAILED;
		}
	drain_patiently(device, &recorded);
	device_give_up(device);
	device_flush(device);
	device_note_residual(device);
	brick__backend_enter();
	device->backend->close(device->handle);
	brick__backend_leave();
	for (struct brick_timer *t = device->timers; t; t = t->next) {
		if (t->state == STARTED || t->state == ENDED)
			device_fail(t, BRICK_ENOTRECORDED);
		t->device = NULL;
	}
	device->timers = NULL;
	while (device->queues) {
		struct device_queue *q = device->queues;
		device->queues = q->next;
		brick_queue_destroy(q->queue);
		free(q);
	}
	free_device(device);
}
