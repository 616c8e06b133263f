/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out-of-order queues: commands are done in any order, but must be recorded in the order of their
 * begin. A command that is done is held back while one is outstanding that may have begun earlier;
 * none can have begun before it was enqueued. Called with queue->taking held.
 */
#include <stdlib.h>
#include "attach/opencl/clocks.h"
#include "attach/opencl/completions.h"

enum { WINDOW = 512, MAX_ROUNDS = 64 };

/* The oldest commands, as copied; only the holder of `taking` changes their states. */
struct window {
	struct pending items[WINDOW];
	uint32_t count;
	uint64_t bound_ns; /* no command that is not done has begun before */
};

/* Ours to use while `taking` is held; one is enough for the thread, others make do without. */
static struct window shared_window;
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;

static void copy(struct queue *q, struct window *w)
{
	pthread_mutex_lock(&q->lock);
	uint64_t waiting = q->head - q->tail;
	w->count = waiting < WINDOW ? (uint32_t)waiting : WINDOW;
	w->bound_ns = UINT64_MAX;
	for (uint32_t i = 0; i < w->count; i++) {
		const struct pending *p = queue_at(q, q->tail + i);
		w->items[i] = *p;
		if (p->after == p->first)
			w->items[i].after = w->items[i].first;
	}
	if (waiting > WINDOW)
		w->bound_ns = queue_at(q, q->tail + WINDOW)->before_ns;
	pthread_mutex_unlock(&q->lock);
}

static void look(struct queue *q, struct window *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		struct pending *p = &w->items[i];
		int is_done = p->state == PENDING_WAITS ? completion_poll(q, p) : 1;
		if (!is_done) {
			w->bound_ns = p->before_ns < w->bound_ns ? p->before_ns : w->bound_ns;
		} else if (is_done < 0) {
			completion_refuse(q);
			completion_release(p);
			p->state = PENDING_OVER;
		} else if (p->state == PENDING_WAITS) {
			p->state = PENDING_TIMED;
		}
	}
}

static int compare_begin(const void *a, const void *b)
{
	const struct pending *x = *(struct pending *const *)a, *y = *(struct pending *const *)b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Record those that nothing outstanding can come before. */
static uint32_t emit(struct queue *q, struct window *w)
{
	struct pending *sorted[WINDOW];
	uint32_t n = 0, done = 0;
	uint64_t residual;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->items[i].state == PENDING_TIMED)
			sorted[n++] = &w->items[i];
	qsort(sorted, n, sizeof *sorted, compare_begin);
	while (done < n &&
		(w->bound_ns == UINT64_MAX ||
			clocks_host_ns(q->clock, sorted[done]->begin, &residual) <= w->bound_ns)) {
		completion_record(q, sorted[done]);
		completion_release(sorted[done]);
		sorted[done++]->state = PENDING_OVER;
	}
	return done;
}

/* States and times go back into the ring; what is over at its end leaves it. */
static uint32_t write_back(struct queue *q, const struct window *w)
{
	uint64_t tail = q->tail;

	pthread_mutex_lock(&q->lock);
	for (uint32_t i = 0; i < w->count; i++) {
		struct pending *p = queue_at(q, tail + i);
		p->state = w->items[i].state;
		p->queued = w->items[i].queued;
		p->submitted = w->items[i].submitted;
		p->begin = w->items[i].begin;
		p->end = w->items[i].end;
	}
	uint64_t left = tail;
	while (left != tail + w->count && queue_at(q, left)->state == PENDING_OVER)
		left++;
	__atomic_store_n(&q->tail, left, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&q->lock);
	return (uint32_t)(left - tail);
}

uint32_t completions_take_unordered(struct queue *q)
{
	uint32_t total = 0, moved;
	int rounds = 0;

	pthread_mutex_lock(&window_lock);
	do {
		copy(q, &shared_window);
		look(q, &shared_window);
		clocks_flush(q->clock);
		total += emit(q, &shared_window);
		moved = write_back(q, &shared_window);
	} while (moved && ++rounds < MAX_ROUNDS);
	pthread_mutex_unlock(&window_lock);
	return total;
}
