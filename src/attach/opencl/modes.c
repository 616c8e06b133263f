/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronising without the driver's own waiting (modes.h): that would not return where the queue
 * waits for something that the program does next. We look until all is done, and give up for as
 * long as nothing moves.
 */
#include "attach/opencl/modes.h"

#include <stdlib.h>
#include <time.h>
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_completions.h"
#include "attach/opencl/opencl_notes.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/brick.h"

enum {
	NAP_NS = 10000,
	PATIENCE_NS = 100000000, /* without any progress */
};

static uint32_t mode;

__attribute__((constructor)) static void read_mode(void)
{
	const char *text = getenv("BRICK_MODE");

	mode = text ? (uint32_t)atoi(text) : BRICK_MODE_DEFERRED;
}

static uint64_t tail_of(const struct queue *q)
{
	return __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
}

static void take_done(struct queue *q)
{
	if (pthread_mutex_trylock(&q->taking))
		return; /* somebody else is at it */
	completions_take(q, 0);
	pthread_mutex_unlock(&q->taking);
}

/* Until all is done. 0: it does not move. */
static int drain(struct queue *q)
{
	const struct timespec nap = {0, NAP_NS};
	uint64_t moved_ns = monotonic_ns();
	uint32_t last = queue_unfinished(q), pending;

	driver_get()->clFlush(q->handle);
	for (;;) {
		take_done(q);
		pending = queue_unfinished(q);
		if (!pending)
			return 1;
		if (pending != last)
			moved_ns = monotonic_ns();
		else if (monotonic_ns() - moved_ns > PATIENCE_NS)
			return 0;
		last = pending;
		nanosleep(&nap, NULL);
	}
}

static void synchronise(struct queue *q)
{
	KEEP_ERRNO();
	uint64_t begin = brick_ticks();

	if (q->unmoved_tail == tail_of(q) + 1)
		take_done(q);
	if (!queue_unfinished(q) || q->unmoved_tail == tail_of(q) + 1)
		return;
	if (drain(q)) {
		brick_record_wait(
			begin, brick_ticks(), __atomic_load_n(&q->last_number, __ATOMIC_RELAXED));
	} else {
		q->unmoved_tail = tail_of(q) + 1;
		notes_fault("a queue that waits for its program could not be synchronised");
	}
}

void modes_enqueued(struct queue *q, int layer)
{
	q->last_layer = layer;
	if (mode == BRICK_MODE_IMMEDIATE)
		synchronise(q);
}

int modes_enqueuing(struct queue *q, int layer)
{
	if (mode != BRICK_MODE_PER_LAYER || q->last_layer == layer)
		return 0;
	synchronise(q);
	return 1;
}
