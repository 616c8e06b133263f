/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking what is done of a queue (completions.h), window by window. Commands must be recorded in
 * the order of their begin. In an in-order queue that is the order of the ring. In an out-of-order
 * queue one that is done is held back while one is outstanding that may have begun earlier; none
 * can have begun before it was enqueued, nor before the driver last said that it had not: that is
 * asked of all where many are held back, as those that a program enqueued long ago hold back
 * everything. Called with queue->taking held.
 */
#include <stdlib.h>
#include "attach/opencl/clocks.h"
#include "attach/opencl/opencl_completions.h"
#include "base/members.h"
#include "base/order.h"
#include "base/scope.h"

enum { WINDOW = 512, MAX_ROUNDS = 64, MANY_HELD = WINDOW / 2 };

/* The oldest commands, as copied; only the holder of `taking` changes their states. */
struct window {
	struct pending *items, **sorted;
	uint32_t capacity, count;
	uint64_t first;	   /* its place in the ring */
	uint64_t bound_ns; /* no command that is not done has begun before */
};

/* Ours to use while `taking` is held; one is enough for the thread, others make do without. */
static struct window shared_window;
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;

/* How many fit, of so many: all of an out-of-order queue, if there is memory. */
static uint32_t reserve(struct window *w, uint64_t wanted)
{
	if (wanted > w->capacity) {
		struct pending *items = malloc(wanted * sizeof *items);
		struct pending **sorted = malloc(wanted * sizeof *sorted);
		if (items && sorted) {
			free(w->items);
			free(w->sorted);
			*w = (struct window){items, sorted, (uint32_t)wanted, 0, 0, 0};
			return w->capacity;
		}
		free(items);
		free(sorted);
	}
	return wanted < w->capacity ? (uint32_t)wanted : w->capacity;
}

/* More than most queues need is given back. */
static void give_back(struct window *w)
{
	if (w->capacity <= WINDOW)
		return;
	free(w->items);
	free(w->sorted);
	*w = (struct window){NULL};
}

/* Without the first `skipped` ones. */
static void copy(struct queue *q, struct window *w, uint32_t skipped)
{
	HOLD(&q->lock);
	uint64_t waiting = q->head - q->tail - skipped;
	w->count = reserve(w, q->in_order || waiting < WINDOW ? WINDOW : waiting);
	w->count = waiting < w->count ? (uint32_t)waiting : w->count;
	w->first = q->tail + skipped;
	w->bound_ns = UINT64_MAX;
	for (uint32_t i = 0; i < w->count; i++) {
		const struct pending *p = queue_at(q, w->first + i);
		w->items[i] = *p;
		if (p->after == p->first)
			w->items[i].after = w->items[i].first;
	}
	if (waiting > w->count && !q->in_order)
		w->bound_ns = queue_at(q, w->first + w->count)->before_ns;
}

/* No command that is not done has begun before this one may have. */
static void bound(struct window *w, const struct pending *p, int is_asked)
{
	uint64_t ns = is_asked && p->idle_ns > p->before_ns ? p->idle_ns : p->before_ns;

	w->bound_ns = ns < w->bound_ns ? ns : w->bound_ns;
}

/* Behind one that is not done none of an in-order queue is; of others so many are asked for. */
static void look(struct queue *q, struct window *w, int all)
{
	uint32_t left = all || q->timed >= MANY_HELD ? UINT32_MAX : WINDOW;

	for (uint32_t i = 0; i < w->count; i++) {
		struct pending *p = &w->items[i];
		int is_done = p->state != PENDING_WAITS ? 1
			      : left			? completion_poll(q, p, w->first + i)
							: 0;
		if (!is_done && q->in_order) {
			break;
		} else if (!is_done) {
			left -= left > 0;
			bound(w, p, left > WINDOW);
		} else if (is_done < 0) {
			completion_refuse(q);
			completion_release(p);
			p->state = PENDING_OVER;
		} else if (p->state == PENDING_WAITS) {
			p->state = PENDING_TIMED;
		}
	}
}

COMPARATOR(by_begin, struct pending *const, ORDER((*x)->begin, (*y)->begin))
COMPARATOR(by_end, struct pending *const, ORDER((*x)->end, (*y)->end))

/*
 * In the order in which they ended: when one was over, those were that had ended before it, and by
 * as much earlier. So what the host's clock bends keeps its distances.
 */
static void bound_by_next(struct pending *const *sorted, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		const struct pending *next = sorted[i - 1];
		struct pending *p = sorted[i - 2];
		uint64_t behind = next->end > p->end ? next->end - p->end : 0;
		if (behind < next->latest_ns && next->latest_ns - behind < p->latest_ns)
			p->latest_ns = next->latest_ns - behind;
	}
}

/* Record those that nothing outstanding can come before. */
static uint32_t emit(struct queue *q, struct window *w)
{
	struct pending **sorted = w->sorted;
	uint32_t n = 0, done = 0;
	uint64_t residual;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->items[i].state == PENDING_TIMED)
			sorted[n++] = &w->items[i];
	if (!q->in_order)
		qsort(sorted, n, sizeof *sorted, by_end);
	bound_by_next(sorted, n);
	if (!q->in_order)
		qsort(sorted, n, sizeof *sorted, by_begin);
	while (done < n &&
		(w->bound_ns == UINT64_MAX ||
			clocks_host_ns(q->clock, sorted[done]->begin, &residual) <= w->bound_ns)) {
		completion_record(q, sorted[done]);
		completion_release(sorted[done]);
		sorted[done++]->state = PENDING_OVER;
	}
	return done;
}

/* States and times go back into the ring; what is over at its end leaves it. 0: nothing is new. */
static int write_back(struct queue *q, const struct window *w)
{
	uint64_t left = q->tail;
	uint32_t timed = q->timed;
	int is_new = 0;

	HOLD(&q->lock);
	for (uint32_t i = 0; i < w->count; i++) {
		struct pending *p = queue_at(q, w->first + i);
		const struct pending *item = &w->items[i];
		timed += (uint32_t)(item->state == PENDING_TIMED) - (p->state == PENDING_TIMED);
		is_new |= item->state != p->state;
		members_copy(p, item, state, queued, submitted, begin, end, latest_ns, idle_ns);
	}
	while (left != w->first + w->count && queue_at(q, left)->state == PENDING_OVER)
		left++;
	__atomic_store_n(&q->timed, timed, __ATOMIC_RELAXED);
	__atomic_store_n(&q->tail, left, __ATOMIC_RELEASE);
	return is_new;
}

static int is_known(struct queue *q, int must_decide)
{
	return clocks_are_known(q->clock, must_decide || queue_pending(q) >= QUEUE_MAX_PENDING / 2);
}

/* What is held back in an in-order queue is not looked at again until it can go. */
uint32_t completions_take(struct queue *q, int must_decide)
{
	uint32_t total = 0;
	int rounds = 0, is_new, was_known, known;

	HOLD(&window_lock);
	do {
		was_known = known = is_known(q, must_decide);
		copy(q, &shared_window, known || !q->in_order ? 0 : q->timed);
		look(q, &shared_window, must_decide);
		if (!known)
			known = is_known(q, must_decide);
		if (known && shared_window.first == q->tail)
			total += emit(q, &shared_window);
		is_new = write_back(q, &shared_window);
	} while (((is_new && q->in_order) || known != was_known) && ++rounds < MAX_ROUNDS);
	give_back(&shared_window);
	return total;
}
