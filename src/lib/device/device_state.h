/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device in use, for the files that time work on it. A pair is one begin and end in a queue of
 * the device: of a brick (a span) or of a timer. Spans of a queue are kept in the order of their
 * begins until the outermost one and all in it have their times; then they are recorded together.
 * Used by one thread at a time.
 */
#pragma once

#include "brick/device.h"
#include "brick/error.h"
#include "lib/device/backend_call.h"
#include "lib/device/queue_lane.h"

#define BRICK__NO_PAIR UINT32_MAX

enum { BRICK__SPAN_DEPTH = BRICK_MAX_DEPTH - 1, BRICK__DEVICE_NOTES = 16 };

enum brick__pair_state {
	PAIR_FREE,
	PAIR_OPEN,   /* begun */
	PAIR_ENDED,  /* both timestamps are in the queue */
	PAIR_DONE,   /* both have come back */
	PAIR_FAILED, /* they came back as an error, or never will */
};

struct brick__pair {
	uint32_t generation;  /* upper half of its ticket: tells its uses apart */
	uint32_t next;	      /* in its queue's order, or of the free ones */
	uint8_t state;	      /* enum brick__pair_state */
	uint8_t depth;	      /* spans open on its queue when it began */
	uint8_t is_immediate; /* the thread waits for it */
	uint8_t reserved;
	int error; /* of a failed one */
	struct brick__device_queue *queue;
	struct brick_timer *timer;    /* of a timer's; NULL: its timer does not want it any more */
	struct brick_command command; /* times as they came, until it is recorded */
};

struct brick__device_queue {
	struct brick__device_queue *next;
	void *native;
	struct brick_queue *queue;
	uint32_t first, last; /* spans that are not recorded yet */
	uint32_t depth;
	uint32_t open[BRICK__SPAN_DEPTH];
};

struct brick_device {
	const struct brick_backend *backend;
	struct brick_backend_device *handle;
	void (*claim)(struct brick_backend_device *device, void *queue); /* or NULL */
	int has_mode; /* mode was set by brick_device_mode_set() */
	uint32_t mode;
	uint32_t serial; /* of the session whose mode that is and that has the notes */

	uint32_t pair_count, in_use, free;
	struct brick__pair *pairs;
	const struct brick_command **commands; /* of what is recorded together */
	uint8_t *depths;
	struct brick__device_queue *queues;
	uint32_t queue_count;
	struct brick_timer *timers;

	uint64_t lost;	   /* pairs that the backend gave up without saying which */
	uint64_t strays;   /* completions of no pair */
	uint32_t recorded; /* by the drain that is going on */
	uint32_t drained_in_use;
	int error; /* the last that a call of the backend returned; reported once */

	struct brick_correlation correlation;
	int has_clock;
	uint32_t clock_failures;
	uint64_t correlated_ns; /* when */
	uint64_t placed_ns;	/* the greatest residual that times were placed with */
	uint64_t noted_ns;	/* residual that is in the notes of the session */

	struct {
		char key[48], value[160];
	} notes[BRICK__DEVICE_NOTES];
	uint32_t note_count;
};

static inline uint64_t brick__pair_ticket(const struct brick_device *device, uint32_t index)
{
	return (uint64_t)device->pairs[index].generation << 32 | (index + 1);
}

/* Calls of the backend (brick/abi/backend.h). */
static inline int brick__call_begin(
	const struct brick_device *device, void *native, uint64_t ticket)
{
	brick__backend_enter();
	int error = device->backend->begin(device->handle, native, ticket);
	brick__backend_leave();
	return error;
}

static inline int brick__call_end(const struct brick_device *device, void *native, uint64_t ticket)
{
	brick__backend_enter();
	int error = device->backend->end(device->handle, native, ticket);
	brick__backend_leave();
	return error;
}

static inline int brick__call_drain(const struct brick_device *device)
{
	brick__backend_enter();
	int count = device->backend->drain(device->handle);
	brick__backend_leave();
	return count;
}

static inline int brick__call_synchronise(const struct brick_device *device, void *native)
{
	brick__backend_enter();
	int error = device->backend->synchronise(device->handle, native);
	brick__backend_leave();
	return error;
}

static inline int brick__call_correlate(
	const struct brick_device *device, struct brick_reading *reading)
{
	brick__backend_enter();
	int error = device->backend->correlate(device->handle, reading);
	brick__backend_leave();
	return error;
}

/* Synchronise, as a brick of the thread: it waits for command `number`; 0: not known. */
int brick__device_wait(const struct brick_device *device, void *native, uint64_t number);

/*
 * A call of the backend failed: the next drain tells. Unless that was because this cannot be timed
 * where it is, as in a stream that is being captured: it is counted, and the device is as before.
 */
static inline void brick__device_failed(struct brick_device *device, int error)
{
	if (error != BRICK_EUNSUPPORTED)
		device->error = error;
}

/* The pair of a ticket, or BRICK__NO_PAIR. */
uint32_t brick__pair_find(const struct brick_device *device, uint64_t ticket);

/* A free pair; drains when there is none. BRICK__NO_PAIR: still none. */
uint32_t brick__pair_take(struct brick_device *device);
void brick__pair_release(struct brick_device *device, uint32_t index);

/* begin() of the backend, and again after a drain when it has no room. */
int brick__pair_begin(struct brick_device *device, void *native, uint32_t index);

/* What the backend calls. */
void brick__device_complete(void *context, const struct brick_completion *completion);
void brick__device_lost(void *context, uint64_t count);

/* A timer's pair has its times, or `error`. */
void brick__timer_finish(struct brick_timer *timer, uint64_t begin_ns, uint64_t end_ns, int error);

/* The device goes away. */
void brick__timers_orphan(struct brick_device *device);

/* Record the spans that are complete, of all queues. */
void brick__device_flush(struct brick_device *device);

/* Pairs that have ended and not come back. */
uint32_t brick__device_pending(const struct brick_device *device);

/* Give them all up: what of them is a span is counted as dropped, a timer fails. */
void brick__device_give_up(struct brick_device *device);

/* Read the device's clock now. */
void brick__device_correlate(struct brick_device *device, uint32_t readings);
