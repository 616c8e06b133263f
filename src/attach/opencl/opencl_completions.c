/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording finished commands (opencl_completions.h). A queue's commands must be recorded in the
 * order of their begin. In an in-order queue that is the order of the ring. In an out-of-order
 * queue a finished command is held back while an unfinished command may have begun earlier. A
 * command cannot have begun before it was enqueued, nor before the driver last said that it had not
 * begun. If many commands are held back, the driver is asked about all unfinished commands, as old
 * ones hold back all others. The thread takes no signals and lives as long as the process; it
 * sleeps while no queue has pending commands.
 */
#include "attach/opencl/opencl_completions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "attach/common/helper_cpu.h"
#include "attach/opencl/clocks.h"
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_kernels.h"
#include "attach/opencl/opencl_placing.h"
#include "base/clock_ns.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/brick.h"

#define SYNC_RUNS_NS 10000000000ull /* of one command, which may wait for the program, too */

enum {
	WINDOW = 512,
	MAX_ROUNDS = 64,
	MANY_HELD = WINDOW / 2,
	ROOM_NAP_NS = 100000,	      /* between looks for a free place in a full ring */
	ROOM_MAX_NAPS = 200,	      /* naps without a free place */
	SYNC_NAP_NS = 10000,	      /* between looks in completions_synchronise() */
	SYNC_PATIENCE_NS = 100000000, /* without any progress */
	SYNC_LEAST_LOOKS = 500,	      /* ... of a machine that stood still meanwhile */
	INTERVAL_NS = 20000000,	      /* of the thread's rounds */
	IDLE_ROUNDS = 50,	      /* rounds with nothing outstanding before the thread sleeps */
	WAKE_AT = 1024,	 /* wakes the thread at so many outstanding commands of a queue */
	MAX_LEAVING = 8, /* queues */
	STACK_BYTES = 1 << 19,
	EXIT_LOCK_S = 2,
	EXIT_NAP_NS = 200000,
	EXIT_MAX_NAPS = 1000, /* without any progress */
};

/* Takes finished commands of a queue, window by window; with queue->taking held. */

/* The oldest commands, as copied; only the holder of `taking` changes their states. */
struct window {
	struct pending *items, **sorted;
	uint32_t capacity, count;
	uint64_t first;	   /* index of items[0] in the queue */
	uint64_t bound_ns; /* host's time before which no unfinished command has begun */
};

/* The holder of `taking` may use it. The thread has one; others do without. */
static struct window shared_window;
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;

/* Makes room; returns how many commands fit: all of an out-of-order queue, if there is memory. */
static uint32_t completions_reserve(struct window *w, uint64_t wanted)
{
	if (wanted > w->capacity) {
		struct pending *items = malloc(wanted * sizeof(*items));
		struct pending **sorted = malloc(wanted * sizeof(*sorted));
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

/* Copies pending commands, without the first `skipped` ones. */
static void completions_copy(struct queue *q, struct window *w, uint32_t skipped)
{
	HOLD(&q->lock);
	uint64_t waiting = q->head - q->tail - skipped;
	w->count = completions_reserve(w, q->in_order || waiting < WINDOW ? WINDOW : waiting);
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

/*
 * Looks which commands are done. In an in-order queue none is behind one that is not done; of
 * others so many are asked.
 */
static void completions_look(struct queue *q, struct window *w, int all)
{
	uint32_t left = all || q->timed >= MANY_HELD ? UINT32_MAX : WINDOW;

	for (uint32_t i = 0; i < w->count; i++) {
		struct pending *p = &w->items[i];
		int is_done = p->state != PENDING_WAITS ? 1
			      : left			? placing_poll(q, p, w->first + i)
							: 0;
		if (!is_done && q->in_order) {
			break;
		} else if (!is_done) {
			/* nothing that is not done has begun before this may have */
			uint64_t ns = p->before_ns;
			left -= left > 0;
			if (left > WINDOW && p->times.idle_ns > ns)
				ns = p->times.idle_ns;
			w->bound_ns = ns < w->bound_ns ? ns : w->bound_ns;
		} else if (is_done < 0) {
			placing_refuse(q);
			placing_release(p);
			p->state = PENDING_OVER;
		} else if (p->state == PENDING_WAITS) {
			p->state = PENDING_TIMED;
		}
	}
}

COMPARATOR(completions_by_begin, struct pending *const, ORDER((*x)->times.begin, (*y)->times.begin))
COMPARATOR(by_end, struct pending *const, ORDER((*x)->times.end, (*y)->times.end))

/*
 * Bounds commands in the order in which they ended: when one was over, those before it were over
 * earlier by the distance between their ends. So an error of the host's clock keeps their
 * distances.
 */
static void bound_by_next(struct pending *const *sorted, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		const struct pending *next = sorted[i - 1];
		struct pending *p = sorted[i - 2];
		uint64_t behind =
			next->times.end > p->times.end ? next->times.end - p->times.end : 0;
		uint64_t latest_ns = next->times.latest_ns;
		if (behind < latest_ns && latest_ns - behind < p->times.latest_ns)
			p->times.latest_ns = latest_ns - behind;
	}
}

/* Record those that nothing outstanding can come before. */
static uint32_t completions_emit(struct queue *q, struct window *w)
{
	struct pending **sorted = w->sorted;
	uint32_t n = 0, done = 0;
	uint64_t residual;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->items[i].state == PENDING_TIMED)
			sorted[n++] = &w->items[i];
	if (!q->in_order)
		qsort(sorted, n, sizeof(*sorted), by_end);
	bound_by_next(sorted, n);
	if (!q->in_order)
		qsort(sorted, n, sizeof(*sorted), completions_by_begin);
	while (done < n &&
		(w->bound_ns == UINT64_MAX || clocks_host_ns(q->clock, sorted[done]->times.begin,
						      &residual) <= w->bound_ns)) {
		placing_record(q, sorted[done]);
		placing_release(sorted[done]);
		sorted[done++]->state = PENDING_OVER;
	}
	return done;
}

/*
 * Puts states and times back into the ring; finished commands at its end leave it. 0: nothing is
 * new.
 */
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
		p->state = item->state;
		p->times = item->times;
	}
	while (left != w->first + w->count && queue_at(q, left)->state == PENDING_OVER)
		left++;
	__atomic_store_n(&q->timed, timed, __ATOMIC_RELAXED);
	__atomic_store_n(&q->tail, left, __ATOMIC_RELEASE);
	return is_new;
}

static int clock_is_known(struct queue *q, int must_decide)
{
	return clocks_are_known(q->clock, must_decide || queue_pending(q) >= QUEUE_MAX_PENDING / 2);
}

/*
 * Records the finished commands of one queue; returns their number. Commands held back in an
 * in-order queue are not looked at again until they can go. must_decide: no command waits any
 * longer for a better reading of the clock.
 */
static uint32_t completions_take(struct queue *q, int must_decide)
{
	uint32_t total = 0;
	int rounds = 0, is_new, was_known, known;

	HOLD(&window_lock);
	do {
		was_known = known = clock_is_known(q, must_decide);
		completions_copy(q, &shared_window, known || !q->in_order ? 0 : q->timed);
		completions_look(q, &shared_window, must_decide);
		if (!known)
			known = clock_is_known(q, must_decide);
		if (known && shared_window.first == q->tail)
			total += completions_emit(q, &shared_window);
		is_new = write_back(q, &shared_window);
	} while (((is_new && q->in_order) || known != was_known) && ++rounds < MAX_ROUNDS);
	if (shared_window.capacity > WINDOW) { /* more than most queues need is given back */
		free(shared_window.items);
		free(shared_window.sorted);
		shared_window = (struct window){NULL};
	}
	return total;
}

/* The program's threads wait for the device. */

static void nap(long ns)
{
	const struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

/* True if there is room for a command. Records finished ones if no other thread is at it. */
static bool completions_has_place(struct queue *q)
{
	if (queue_pending(q) >= QUEUE_MAX_PENDING && !pthread_mutex_trylock(&q->taking)) {
		completions_take(q, 1);
		pthread_mutex_unlock(&q->taking);
	}
	return queue_pending(q) < QUEUE_MAX_PENDING;
}

/*
 * The program is far ahead of the device. Holding it back a little costs nothing as long as the
 * device moves; when it does not move, it may be waiting for what the program does next.
 */
int completions_make_room(struct queue *q)
{
	KEEP_ERRNO();
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
	bool has_freed = completions_has_place(q), is_stuck = q->stuck_tail == tail + 1;

	if (!has_freed && !is_stuck)
		driver_get()->clFlush(q->handle);
	for (int i = 0; !has_freed && !is_stuck && i < ROOM_MAX_NAPS; i++) {
		nap(ROOM_NAP_NS);
		has_freed = completions_has_place(q);
	}
	q->stuck_tail = has_freed ? 0 : tail + 1;
	if (!has_freed)
		notes_fault("too many commands of a queue waited: further ones were dropped");
	return has_freed;
}

static uint64_t tail_of(const struct queue *q)
{
	return __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
}

static void completions_take_done(struct queue *q)
{
	if (pthread_mutex_trylock(&q->taking))
		return; /* somebody else is at it */
	completions_take(q, 0);
	pthread_mutex_unlock(&q->taking);
}

/*
 * Until all is done; 0: it does not move. Without the driver's own waiting, which would not return
 * where the queue waits for something that the program does next.
 */
static int wait_until_done(struct queue *q)
{
	uint64_t moved_ns = monotonic_ns();
	uint32_t last = queue_unfinished(q), pending, looks = 0;

	driver_get()->clFlush(q->handle);
	for (;;) {
		completions_take_done(q);
		pending = queue_unfinished(q);
		if (!pending)
			return 1;
		uint64_t now_ns = monotonic_ns();
		bool runs =
			now_ns - __atomic_load_n(&q->ran_ns, __ATOMIC_RELAXED) < SYNC_PATIENCE_NS;
		if (pending != last) {
			moved_ns = now_ns;
			looks = 0;
		} else if (++looks > SYNC_LEAST_LOOKS &&
			   now_ns - moved_ns > (runs ? SYNC_RUNS_NS : SYNC_PATIENCE_NS)) {
			return 0;
		}
		last = pending;
		nap(SYNC_NAP_NS);
	}
}

void completions_synchronise(struct queue *q)
{
	KEEP_ERRNO();
	uint64_t begin = brick_ticks();

	if (q->unmoved_tail == tail_of(q) + 1)
		completions_take_done(q);
	if (!queue_unfinished(q) || q->unmoved_tail == tail_of(q) + 1)
		return;
	if (wait_until_done(q)) {
		brick_record_wait(
			begin, brick_ticks(), __atomic_load_n(&q->last_number, __ATOMIC_RELAXED));
	} else {
		q->unmoved_tail = tail_of(q) + 1;
		notes_fault("a queue that waits for its program could not be synchronised");
	}
}

/* The thread, and the end of the process. */

static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t completions_cond = PTHREAD_COND_INITIALIZER;
static pid_t owner; /* process that has the thread */
static int is_asleep, completions_is_over;
static struct helper_cpu completions_cpu = {.name = "brick-opencl"}; /* under `working` */

static uint32_t outstanding(void)
{
	uint32_t sum = 0;

	for (struct queue *q = queue_next(NULL); q; q = queue_next(q))
		sum += queue_pending(q);
	return sum;
}

static uint32_t unfinished(void)
{
	uint32_t sum = 0;

	for (struct queue *q = queue_next(NULL); q; q = queue_next(q))
		sum += queue_unfinished(q);
	return sum;
}

/* Records finished commands of all queues; returns their number. */
static uint32_t completions_work(void)
{
	uint32_t done = 0,
		 leaving = 0; /* leaving: queues that have gone, with commands to record */

	for (struct queue *q = queue_next(NULL); q; q = queue_next(q))
		leaving += __atomic_load_n(&q->is_released, __ATOMIC_ACQUIRE) && queue_pending(q);
	int must_decide = leaving > MAX_LEAVING; /* each keeps a lane of the recording */
	clocks_refresh();
	for (struct queue *q = queue_next(NULL); q; q = queue_next(q)) {
		if (pthread_mutex_trylock(&q->taking))
			continue;
		done += completions_take(q, must_decide);
		pthread_mutex_unlock(&q->taking);
		if (__atomic_load_n(&q->is_released, __ATOMIC_ACQUIRE))
			queue_retire(q);
	}
	return done;
}

static void wait_a_while(int idle_rounds)
{
	struct timespec until = timespec_in_ns(CLOCK_REALTIME, INTERVAL_NS);

	HOLD(&state_lock);
	if (idle_rounds < IDLE_ROUNDS) {
		pthread_cond_timedwait(&completions_cond, &state_lock, &until);
	} else {
		__atomic_store_n(&is_asleep, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&is_asleep, __ATOMIC_SEQ_CST) && !outstanding())
			pthread_cond_wait(&completions_cond, &state_lock);
		__atomic_store_n(&is_asleep, 0, __ATOMIC_SEQ_CST);
	}
}

static void *completions_run(void *unused)
{
	int idle_rounds = 0;

	pthread_setname_np(pthread_self(), "brick-opencl");
	for (;;) {
		wait_a_while(idle_rounds);
		pthread_mutex_lock(&working);
		completions_work();
		helper_cpu_at(&completions_cpu, thread_cpu_ns());
		pthread_mutex_unlock(&working);
		idle_rounds = outstanding() ? 0 : idle_rounds + 1;
	}
	return NULL;
}

/*
 * Before the driver's own exit handlers, since it was there first. Waits for the device only as
 * long as it moves.
 */
static void completions_finish(void)
{
	struct timespec until = timespec_in_ns(CLOCK_REALTIME, EXIT_LOCK_S * NS_PER_S);
	int naps = 0, saved = errno;

	if (owner != getpid() || completions_is_over || pthread_mutex_timedlock(&working, &until))
		return;
	completions_is_over = 1;
	while (naps < EXIT_MAX_NAPS) {
		if (!unfinished())
			clocks_decide_all();
		uint32_t done = completions_work();
		if (!outstanding())
			break;
		naps = done ? 0 : naps + 1;
		if (!done)
			nap(EXIT_NAP_NS);
	}
	clocks_decide_all();
	for (uint32_t done = 1; done;)
		done = completions_work();
	for (struct queue *q = queue_next(NULL); q;
		q = queue_next(q)) /* will not be done any more */
		if (queue_pending(q) && q->record)
			brick_queue_dropped(q->record, queue_lost(q));
	helper_cpu_end(&completions_cpu);
	clocks_note();
	errno = saved;
}

/* The thread stays with the parent, and so do all queues: OpenCL does not live on in a child. */
static void after_fork(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
	static const pthread_cond_t fresh_condition = PTHREAD_COND_INITIALIZER;

	working = state_lock = fresh;
	completions_cond = fresh_condition;
	owner = 0;
	is_asleep = completions_is_over = 0;
	completions_cpu = (struct helper_cpu){.name = completions_cpu.name};
	queue_forget_all();
	clocks_forget_all();
	kernels_forget_all();
}

void completions_start(void)
{
	static int watches_forks;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_mutex_lock(&state_lock);
	bool is_new = owner != getpid();
	if (is_new) {
		owner = getpid();
		if (!watches_forks)
			pthread_atfork(NULL, NULL, after_fork);
		watches_forks = 1;
	}
	pthread_mutex_unlock(&state_lock);
	if (!is_new)
		return;
	atexit(completions_finish);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (thread_start(&thread, &attributes, 0, completions_run, NULL))
		notes_fault("no thread could be started: times are fetched at exit only");
	pthread_attr_destroy(&attributes);
}

void completions_wake(void)
{
	HOLD(&state_lock);
	__atomic_store_n(&is_asleep, 0, __ATOMIC_SEQ_CST);
	pthread_cond_signal(&completions_cond);
}

void completions_pushed(struct queue *q)
{
	if (__atomic_load_n(&is_asleep, __ATOMIC_SEQ_CST) ||
		(queue_pending(q) & (WAKE_AT - 1)) == WAKE_AT - 1)
		completions_wake();
}
