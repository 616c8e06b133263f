/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that takes completions, and the end of the process. The thread takes no signals and
 * lives as long as the process; while no queue has commands outstanding it sleeps. At exit its work
 * is done once more by the thread that exits, and `working` is never given back, so that nothing
 * calls a driver that is going away.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "attach/common/helper_cpu.h"
#include "attach/opencl/clocks.h"
#include "attach/opencl/opencl_completions.h"
#include "attach/opencl/opencl_kernels.h"
#include "attach/opencl/opencl_notes.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "base/thread_start.h"

enum {
	INTERVAL_NS = 20000000,
	IDLE_ROUNDS = 50, /* without anything outstanding, until it sleeps */
	WAKE_AT = 1024,	  /* outstanding commands of a queue */
	MAX_LEAVING = 8,  /* queues */
	STACK_BYTES = 1 << 19,
	EXIT_LOCK_S = 2,
	EXIT_NAP_NS = 200000,
	EXIT_MAX_NAPS = 1000, /* without any progress */
};

static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pid_t owner; /* process that has the thread */
static int is_asleep, is_over;
static struct helper_cpu cpu = {.name = "brick-opencl"}; /* under `working` */

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

/* Queues that have gone and whose commands are still to be recorded. */
static uint32_t leaving(void)
{
	uint32_t count = 0;

	for (struct queue *q = queue_next(NULL); q; q = queue_next(q))
		count += __atomic_load_n(&q->is_released, __ATOMIC_ACQUIRE) && queue_pending(q);
	return count;
}

/* Record what is done, of all queues; how many commands. */
static uint32_t work(void)
{
	uint32_t done = 0;

	int must_decide = leaving() > MAX_LEAVING; /* each keeps a lane of the recording */

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
		pthread_cond_timedwait(&wake, &state_lock, &until);
	} else {
		__atomic_store_n(&is_asleep, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&is_asleep, __ATOMIC_SEQ_CST) && !outstanding())
			pthread_cond_wait(&wake, &state_lock);
		__atomic_store_n(&is_asleep, 0, __ATOMIC_SEQ_CST);
	}
}

static void *run(void *unused)
{
	int idle_rounds = 0;

	pthread_setname_np(pthread_self(), "brick-opencl");
	for (;;) {
		wait_a_while(idle_rounds);
		pthread_mutex_lock(&working);
		work();
		helper_cpu_at(&cpu, thread_cpu_ns());
		pthread_mutex_unlock(&working);
		idle_rounds = outstanding() ? 0 : idle_rounds + 1;
	}
	return NULL;
}

static void start_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (thread_start(&thread, &attributes, 0, run, NULL))
		notes_fault("no thread could be started: times are fetched at exit only");
	pthread_attr_destroy(&attributes);
}

static int lock_for_exit(void)
{
	struct timespec until = timespec_in_ns(CLOCK_REALTIME, EXIT_LOCK_S * NS_PER_S);

	return pthread_mutex_timedlock(&working, &until);
}

/* What will not be done any more is counted. */
static void give_up(void)
{
	for (struct queue *q = queue_next(NULL); q; q = queue_next(q))
		if (queue_pending(q) && q->record)
			brick_queue_dropped(q->record, queue_lost(q));
}

/*
 * Before the driver's own exit handlers, since it was there first. Waits for the device only as
 * long as it moves.
 */
static void finish(void)
{
	const struct timespec nap = {0, EXIT_NAP_NS};
	int naps = 0, saved = errno;

	if (owner != getpid() || is_over || lock_for_exit())
		return;
	is_over = 1;
	while (naps < EXIT_MAX_NAPS) {
		if (!unfinished())
			clocks_decide_all();
		uint32_t done = work();
		if (!outstanding())
			break;
		naps = done ? 0 : naps + 1;
		if (!done)
			nanosleep(&nap, NULL);
	}
	clocks_decide_all();
	for (uint32_t done = 1; done;)
		done = work();
	give_up();
	helper_cpu_end(&cpu);
	clocks_note();
	errno = saved;
}

/* The thread stays with the parent, and so do all queues: OpenCL does not live on in a child. */
static void after_fork(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
	static const pthread_cond_t fresh_condition = PTHREAD_COND_INITIALIZER;

	working = state_lock = fresh;
	wake = fresh_condition;
	owner = 0;
	is_asleep = is_over = 0;
	cpu = (struct helper_cpu){.name = cpu.name};
	queue_forget_all();
	clocks_forget_all();
	kernels_forget_all();
}

void completions_start(void)
{
	static int watches_forks;
	int is_new;

	pthread_mutex_lock(&state_lock);
	is_new = owner != getpid();
	if (is_new) {
		owner = getpid();
		if (!watches_forks)
			pthread_atfork(NULL, NULL, after_fork);
		watches_forks = 1;
	}
	pthread_mutex_unlock(&state_lock);
	if (is_new) {
		atexit(finish);
		start_thread();
	}
}

void completions_wake(void)
{
	HOLD(&state_lock);
	__atomic_store_n(&is_asleep, 0, __ATOMIC_SEQ_CST);
	pthread_cond_signal(&wake);
}

void completions_pushed(struct queue *q)
{
	if (__atomic_load_n(&is_asleep, __ATOMIC_SEQ_CST) ||
		(queue_pending(q) & (WAKE_AT - 1)) == WAKE_AT - 1)
		completions_wake();
}
