/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters per brick (include/brick/counters.h): each thread opens its own at its first
 * such brick, and adds differences to the statistics of its lane. An execution counts as counted
 * only if all that the thread has opened was exact at both ends, so that ratios of the sums are
 * those of the same executions.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "base/members.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/thread_exit.h"
#include "brick/session.h"
#include "lib/probe/counter_events.h"
#include "lib/session/session_map.h"
#include "lib/session/thread.h"

static struct thread_exit exit_of_thread;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static uint32_t noted; /* session whose notes say why nothing is counted */

static __thread struct {
	struct brick_counters *counters;
	uint32_t opened;
	int tried;
} here __attribute__((tls_model("initial-exec")));

static void thread_exits(void *counters)
{
	brick_counters_close(counters);
	memset(&here, 0, sizeof here);
}

/* The child's first thread holds counters of its parent: they must not be read as its own. */
static void forget(void)
{
	brick_counters_close(here.counters);
	memset(&here, 0, sizeof here);
	thread_exit_set(&exit_of_thread, NULL);
}

static void make_exit_key(void)
{
	thread_exit_create(&exit_of_thread, thread_exits);
	pthread_atfork(NULL, NULL, forget);
}

/* What is missing, and why; once per session. */
static void note_missing(void)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	char reason[160];

	if (__atomic_exchange_n(&noted, session, __ATOMIC_RELAXED) == session)
		return;
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (BRICK_COUNTERS_HARDWARE & ~here.opened & 1u << kind &&
			brick_counters_available(kind, reason, sizeof reason))
			brick_note("counters.unavailable", "%s per brick: %s",
				brick_counters_name(kind), reason);
}

static __attribute__((noinline, cold)) void open_here(void)
{
	KEEP_ERRNO();

	here.tried = 1;
	pthread_once(&exit_key_once, make_exit_key);
	int opened = brick_counters_open(&here.counters, BRICK_COUNTERS_HARDWARE);
	if (opened > 0) {
		here.opened = (uint32_t)opened;
		thread_exit_set(&exit_of_thread, here.counters);
	} else {
		here.counters = NULL;
	}
	if (here.opened != BRICK_COUNTERS_HARDWARE)
		note_missing();
}

void brick_counted_begin(struct brick_counted *counted, uint32_t brick, int layer)
{
	if (brick_enabled() && !here.tried)
		open_here();
	counted->brick = brick;
	counted->begin.valid = 0;
	counted->span = brick_begin_layer(brick, layer);
	if (counted->span && here.counters)
		brick__counters_read(here.counters, &counted->begin);
}

static void add(struct brick_stat *stat, const struct brick_counter_values *begin,
	const struct brick_counter_values *end)
{
	stat->counted++;
	stat->cycles += end->value[BRICK_COUNTER_CYCLES] - begin->value[BRICK_COUNTER_CYCLES];
	stat->instructions +=
		end->value[BRICK_COUNTER_INSTRUCTIONS] - begin->value[BRICK_COUNTER_INSTRUCTIONS];
	stat->cache_misses +=
		end->value[BRICK_COUNTER_CACHE_MISSES] - begin->value[BRICK_COUNTER_CACHE_MISSES];
}

void brick_counted_end(
	struct brick_counted *counted, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	struct brick_counter_values end = {0};
	struct brick__thread *self = &brick__thread;

	if (!counted->span)
		return;
	if (here.counters)
		brick__counters_read(here.counters, &end);
	brick_end_work(counted->span, elements, bytes, flops);
	if (here.opened && counted->begin.valid == here.opened && end.valid == here.opened &&
		self->lane && self->tag == (counted->span & ~0xffu) &&
		counted->brick < BRICK_MAX_BRICKS)
		add(&self->lane->stats[counted->brick], &counted->begin, &end);
}

int brick_counted_stats_get(uint32_t brick, struct brick_counted_stats *out)
{
	struct brick__session *s = &brick__session;
	struct brick_counted_stats sum = BRICK_COUNTED_STATS_INIT;
	int error = -ENOENT;

	if (brick >= brick_count())
		return -ENOENT;
	brick__session_lock();
	if (s->header)
		error = 0;
	for (uint32_t i = 0; !error && i < s->header->lane_count; i++) {
		const struct brick_stat *stat = &s->lanes[i].lane->stats[brick];
		members_add(&sum, stat, counted, cycles, instructions, cache_misses);
	}
	brick__session_unlock();
	return error ? error : sized_write(out, sizeof sum, &sum);
}
