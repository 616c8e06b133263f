/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bricks lie in: layers; and steps of an engine, which are bricks that are in the ring from
 * their begin, with their tokens. Counters of a step (include/brick/counters.h): every thread that
 * records has a set in a list; the thread of a step reads all of them before the step begins and
 * after it has ended, outside of its time, and records the difference. What ended threads had
 * counted is kept, so that sums only grow. A kind that any of the threads could not count is
 * recorded no more, and the reason noted.
 */
#include "lib/probe/step_counting.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/attach.h"
#include "brick/counters.h"
#include "brick/probe.h"
#include "brick/session.h"
#include "lib/probe/counter_events.h"
#include "lib/probe/digest_record.h"
#include "lib/probe/probe_frames.h"
#include "lib/session/registry_tables.h"
#include "lib/probe/ring.h"
#include "lib/sys/environment.h"
#include "lib/sys/perf.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"
#include "lib/sys/usdt.h"

/* A bit of counters_on that is no kind of counter: what the step's own thread does. */
#define STEP_CPU (UINT32_C(1) << 31)

static uint32_t
	counters_on; /* bits of the counters that are recorded; changes while threads record */

struct thread_set {
	struct thread_set *next, **link;
	struct brick_counters *counters;
};

static pthread_mutex_t step_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct thread_set *sets;
static uint64_t ended[BRICK_COUNTER_KINDS];	 /* of threads that are no more */
static uint32_t impossible;			 /* kinds that some thread cannot count */
static int reasons[BRICK_COUNTER_KINDS];	 /* -errno; 0: its counter is shared with others */
static uint32_t step_noted;			 /* session whose notes hold the reasons ... */
static uint32_t noted_kinds;			 /* ... of these */
static int step_bricks[BRICK_COUNTER_KINDS + 1]; /* that name counters; 0: not registered yet */

static struct thread_exit step_exit_of_thread;
static pthread_once_t step_exit_key_once = PTHREAD_ONCE_INIT;

/* The step that is open on this thread. */
static __thread struct {
	struct thread_set *set; /* of the thread */
	uint32_t session;
	uint32_t depth; /* steps in steps count with the outermost */
	uint32_t kinds;
	bool counts_cpu;
	uint64_t begin[BRICK_COUNTER_KINDS];
	uint64_t reading_ticks;
	struct brick__thread_usage usage;
} step_here __attribute__((tls_model("initial-exec")));

static uint32_t counters_now(void)
{
	return __atomic_load_n(&counters_on, __ATOMIC_ACQUIRE); /* and what is called then */
}

static uint32_t kinds_wanted(void)
{
	return counters_now() & BRICK_COUNTERS_ALL;
}

/* The sets of all threads. */

void brick__counters_lock(void)
{
	lock_take(&step_mutex);
}

void brick__counters_unlock(void)
{
	lock_give(&step_mutex);
}

/* Under the lock. */
static void step_give_up(uint32_t kind, int reason)
{
	if (!(impossible & 1u << kind))
		reasons[kind] = reason;
	impossible |= 1u << kind;
}

/* Under the lock: add what a set has counted; kinds that it shared are given up. */
static void add_set(const struct thread_set *set, uint64_t sums[BRICK_COUNTER_KINDS])
{
	struct brick_counter_values values;

	brick__counters_read_any(set->counters, &values);
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		sums[kind] += values.value[kind];
		if (values.shared & 1u << kind)
			step_give_up(kind, 0);
	}
}

static void remove_set(struct thread_set *set)
{
	*set->link = set->next;
	if (set->next)
		set->next->link = set->link;
	brick_counters_close(set->counters);
	free(set);
}

static void step_thread_exits(void *argument)
{
	brick__counters_lock();
	add_set(argument, ended);
	remove_set(argument);
	brick__counters_unlock();
	step_here.set = NULL;
}

static void step_make_exit_key(void)
{
	thread_exit_create(&step_exit_of_thread, step_thread_exits);
}

/* Why those that are missing are missing. */
static void find_reasons(uint32_t missing)
{
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		struct brick__perf perf;
		if (!(missing & 1u << kind))
			continue;
		int error = brick__perf_open(&perf, kind);
		brick__perf_close(&perf);
		step_give_up(kind, error ? error : -EAGAIN);
	}
}

/* The calling thread has got a lane: it is counted from now on. */
static void count_thread(void)
{
	uint32_t wanted = kinds_wanted();
	KEEP_ERRNO();

	if (step_here.set || !wanted)
		return;
	pthread_once(&step_exit_key_once, step_make_exit_key);
	struct thread_set *set = calloc(1, sizeof(*set));
	int opened = set ? brick_counters_open(&set->counters, wanted) : -ENOMEM;
	brick__counters_lock();
	find_reasons(wanted & ~(opened > 0 ? (uint32_t)opened : 0) & ~impossible);
	if (opened > 0) {
		set->next = sets;
		set->link = &sets;
		if (sets)
			sets->link = &set->next;
		sets = set;
		step_here.set = set;
	} else {
		free(set);
	}
	brick__counters_unlock();
	if (step_here.set)
		thread_exit_set(&step_exit_of_thread, step_here.set);
}

/* Sums over all threads; returns the kinds that all of them could count. */
static uint32_t step_read_all(uint64_t sums[BRICK_COUNTER_KINDS])
{
	BETWEEN(brick__counters_lock, brick__counters_unlock);
	memcpy(sums, ended, sizeof(ended));
	for (const struct thread_set *set = sets; set; set = set->next)
		add_set(set, sums);
	return kinds_wanted() & ~impossible;
}

/* Once per session and kind: what is missing, and why. */
static void step_note_missing(void)
{
	uint32_t session = brick__number_here();

	brick__counters_lock();
	if (step_noted != session)
		noted_kinds = 0;
	step_noted = session;
	uint32_t missing = impossible & kinds_wanted() & ~noted_kinds;
	noted_kinds |= missing;
	brick__counters_unlock();
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		char reason[160] = "its hardware counter was shared with others";
		if (!(missing & 1u << kind))
			continue;
		if (reasons[kind])
			brick__perf_reason(kind, reasons[kind], reason, sizeof(reason));
		brick_note("counters.unavailable", "%s: %s", brick_counters_name(kind), reason);
	}
}

/* The brick that names a counter; kind BRICK_COUNTER_KINDS: what reading them took. */
static int step_brick_of(uint32_t kind)
{
	int id = __atomic_load_n(&step_bricks[kind], __ATOMIC_RELAXED);

	if (id)
		return id;
	int category = brick_category_register("Counter");
	id = brick__register(
		kind < BRICK_COUNTER_KINDS ? brick_counters_name(kind) : "counter-reading",
		category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);
	__atomic_store_n(&step_bricks[kind], id, __ATOMIC_RELAXED);
	return id;
}

/* Around a step. */

static SLOW void counters_begin(void)
{
	uint32_t session = brick__number_here();

	if (step_here.session != session)
		step_here.depth = 0;
	step_here.session = session;
	if (step_here.depth++)
		return;
	uint64_t begin = brick__now();
	brick_thread_ready(); /* its lane's first faults are not the step's */
	step_here.kinds = 0;
	if (kinds_wanted()) {
		count_thread();
		step_note_missing();
		step_here.kinds = step_read_all(step_here.begin);
	}
	step_here.reading_ticks = brick__now() - begin;
	step_here.counts_cpu = (counters_now() & STEP_CPU) != 0;
	step_here.counts_cpu = step_here.counts_cpu && brick__sys_thread_usage(&step_here.usage);
}

/* There is no step after all. */
static void counters_forget(void)
{
	step_here.depth -= step_here.depth > 0;
}

static void count_one_of_cpu(const char *name, uint64_t value)
{
	int category = brick_category_register("Counter");
	int id = brick__register(name, category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);

	if (id >= 0)
		brick_counter((uint32_t)id, (double)value);
}

static void count_cpu(void)
{
	struct brick__thread_usage end;

	if (!brick__sys_thread_usage(&end))
		return;
	count_one_of_cpu("cpu-time", end.cpu_ns - step_here.usage.cpu_ns);
	count_one_of_cpu("preemptions", end.preemptions - step_here.usage.preemptions);
	count_one_of_cpu("waits", end.waits - step_here.usage.waits);
}

static void counters_end(void)
{
	uint64_t end[BRICK_COUNTER_KINDS], begin = brick__now();

	if (!step_here.depth || --step_here.depth)
		return;
	if (step_here.counts_cpu)
		count_cpu();
	if (!step_here.kinds)
		return;
	uint32_t kinds = step_here.kinds & step_read_all(end);
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		int brick = kinds & 1u << kind ? step_brick_of(kind) : -1;
		if (brick >= 0)
			brick_counter((uint32_t)brick, (double)(end[kind] - step_here.begin[kind]));
	}
	int reading = step_brick_of(BRICK_COUNTER_KINDS);
	uint64_t ticks = step_here.reading_ticks + (brick__now() - begin);
	if (kinds && reading >= 0)
		brick_counter((uint32_t)reading,
			(double)brick_clock_duration_ns(brick_clock_get(), ticks));
	step_note_missing();
}

/* Switching on. */

/* From now on lanes and probes call us when a thread begins to record and when a step ends. */
static void switch_on(uint32_t counters)
{
	__atomic_store_n(&brick__thread_begun, count_thread, __ATOMIC_RELAXED);
	__atomic_store_n(&brick__step_ended, counters_end, __ATOMIC_RELAXED);
	__atomic_or_fetch(&counters_on, counters, __ATOMIC_RELEASE);
}

int brick_counters_set(uint32_t wanted)
{
	if (wanted & ~(uint32_t)BRICK_COUNTERS_ALL)
		return -EINVAL;
	__atomic_and_fetch(&counters_on, wanted | STEP_CPU, __ATOMIC_RELAXED);
	switch_on(wanted);
	return 0;
}

void brick__step_cpu_use(void)
{
	switch_on(STEP_CPU);
}

void brick__counters_start(void)
{
	const char *list = brick__environment("BRICK_COUNTERS"),
		   *off_cpu = brick__environment("BRICK_OFF_CPU");
	int wanted = list && *list ? brick_counters_parse(list) : 0;

	if (wanted > 0)
		brick_counters_set((uint32_t)wanted);
	__atomic_and_fetch(&counters_on, ~STEP_CPU, __ATOMIC_RELAXED);
	if (off_cpu && !strcmp(off_cpu, "steps"))
		brick__step_cpu_use();
}

/* Descriptors and pages are of the parent's threads. */
void brick__counters_abandon(void)
{
	while (sets)
		remove_set(sets);
	memset(ended, 0, sizeof(ended));
	memset(&step_here, 0, sizeof(step_here));
	if (impossible)
		memset(reasons, 0, sizeof(reasons));
	impossible = 0;
	pthread_once(&step_exit_key_once, step_make_exit_key);
	thread_exit_set(&step_exit_of_thread, NULL);
}

/* Layers and steps. */

int brick_layer_set(int layer)
{
	if (!brick_enabled() || !(lane_is_current(&brick__thread) || brick__thread_attach()))
		return -1;
	int before = (int)brick__thread.lane->default_layer - 1;
	if (layer >= -1 && layer <= INT16_MAX) {
		brick__thread.lane->default_layer = (uint32_t)(layer + 1);
		brick__thread_aim(&brick__thread);
	}
	return before;
}

/* tokens: as its record has them (BRICK_STEP_TOKENS). */
static brick_span step_begin(
	uint32_t brick, enum brick_phase phase, uint64_t tokens, uint64_t count)
{
	brick_recorder_heed();
	bool counted = brick_enabled() && counters_now() != 0;

	if (counted)
		counters_begin();
	brick_span span = brick_enabled() ? brick__begin_layer(brick, -1) : 0;
	if (counted && !span)
		counters_forget();
	if (span) {
		USDT_2(step, brick, count);
		brick__digests_step(phase, count);
		struct brick_lane *lane = brick__thread.lane;
		struct brick_frame *frame = &lane->frames[(span & 0xff) - 1];
		frame->tokens = tokens;
		frame->flags |= BRICK_FRAME_STEP | (counted ? BRICK_FRAME_COUNTED : 0);
		lane->stats[frame->brick].elements += count;
		brick__ring_open(&brick__thread);
	}
	return span;
}

brick_span brick_step_begin(enum brick_phase phase, uint64_t tokens)
{
	/* brick__begin_layer() counts what is no phase */
	uint32_t brick = phase == BRICK_PHASE_DECODE	? BRICK_DECODE
			 : phase == BRICK_PHASE_PREFILL ? BRICK_PREFILL
			 : phase == BRICK_PHASE_WARM_UP ? BRICK_WARM_UP
			 : phase == BRICK_PHASE_OTHER	? BRICK_OTHER_STEP
							: BRICK_NONE;
	return step_begin(brick, phase, tokens, tokens);
}

brick_span brick_step_begin_mixed(uint32_t prompt_tokens, uint32_t output_tokens)
{
	uint64_t count = (uint64_t)prompt_tokens + output_tokens;

	if (!output_tokens)
		return step_begin(BRICK_PREFILL, BRICK_PHASE_PREFILL, count, count);
	if (!prompt_tokens)
		return step_begin(BRICK_DECODE, BRICK_PHASE_DECODE, count, count);
	return step_begin(BRICK_MIXED, BRICK_PHASE_MIXED,
		brick_mixed_tokens(prompt_tokens, output_tokens), count);
}
