/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of counters (include/brick/counters.h), each of one thread. What is opened counts at once
 * and until it is closed, so that a reading is a difference from the opening. Counters per brick
 * are opened by each thread at its first such brick, and add differences to the statistics of its
 * lane. An execution counts as counted only if all that the thread has opened was exact at both
 * ends, so that ratios of the sums are those of the same executions.
 */
#include "lib/probe/counter_events.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "base/sized.h"
#include "base/thread.h"
#include "brick/probe.h"
#include "brick/session.h"
#include "lib/session/session_lanes.h"
#include "lib/sys/perf.h"

struct brick_counters {
	uint32_t opened; /* bits */
	struct brick__perf events[BRICK_COUNTER_KINDS];
};

static const char *const counters_names[BRICK_COUNTER_KINDS] = {
	[BRICK_COUNTER_CYCLES] = "cycles",
	[BRICK_COUNTER_INSTRUCTIONS] = "instructions",
	[BRICK_COUNTER_CACHE_MISSES] = "cache-misses",
	[BRICK_COUNTER_TASK_CLOCK] = "task-clock",
	[BRICK_COUNTER_PAGE_FAULTS] = "page-faults",
	[BRICK_COUNTER_CONTEXT_SWITCHES] = "context-switches",
};

const char *brick_counters_name(uint32_t kind)
{
	return kind < BRICK_COUNTER_KINDS ? counters_names[kind] : NULL;
}

static bool is_word(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

static int parse_word(const char *word, size_t length)
{
	for (int kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (is_word(word, length, counters_names[kind]))
			return 1 << kind;
	return is_word(word, length, "all")	   ? BRICK_COUNTERS_ALL
	       : is_word(word, length, "software") ? BRICK_COUNTERS_SOFTWARE
	       : is_word(word, length, "hardware") ? BRICK_COUNTERS_HARDWARE
						   : -EINVAL;
}

int brick_counters_parse(const char *list)
{
	int bits = 0;

	if (!list)
		return -EINVAL;
	for (;;) {
		size_t length = strcspn(list, ",");
		int some = parse_word(list, length);
		if (some < 0)
			return some;
		bits |= some;
		if (!list[length])
			return bits;
		list += length + 1;
	}
}

int brick_counters_available(uint32_t kind, char *reason, size_t bytes)
{
	struct brick__perf perf;
	int error = brick__perf_open(&perf, kind);

	if (bytes)
		reason[0] = '\0';
	if (error)
		brick__perf_reason(kind, error, reason, bytes);
	brick__perf_close(&perf);
	return error;
}

int brick_counters_open(struct brick_counters **out, uint32_t wanted)
{
	KEEP_ERRNO();
	int error = -EINVAL;

	if (!wanted || wanted & ~(uint32_t)BRICK_COUNTERS_ALL)
		return -EINVAL;
	struct brick_counters *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		c->events[kind].fd = -1;
		if (!(wanted & 1u << kind))
			continue;
		int failed = brick__perf_open(&c->events[kind], kind);
		if (failed)
			error = failed;
		else
			c->opened |= 1u << kind;
	}
	if (!c->opened) {
		free(c);
		return error;
	}
	*out = c;
	return (int)c->opened;
}

static void counters_take(struct brick_counter_values *values, uint32_t kind,
	const struct brick__perf_reading *reading)
{
	values->value[kind] = reading->value;
	if (reading->running_ns == reading->enabled_ns)
		values->valid |= 1u << kind;
	else
		values->shared |= 1u << kind;
}

void brick__counters_read(const struct brick_counters *c, struct brick_counter_values *values)
{
	memset(values, 0, sizeof(*values));
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		struct brick__perf_reading reading;
		if (!(c->opened & 1u << kind))
			continue;
		if (!brick__perf_read_page(&c->events[kind], &reading))
			values->direct |= 1u << kind;
		else if (brick__perf_read(&c->events[kind], &reading))
			continue;
		counters_take(values, kind, &reading);
	}
}

int brick_counters_read(struct brick_counters *c, struct brick_counter_values *out)
{
	struct brick_counter_values values;

	if (!c)
		return -EINVAL;
	brick__counters_read(c, &values);
	return sized_write(out, sizeof(values), &values);
}

void brick__counters_read_any(const struct brick_counters *c, struct brick_counter_values *values)
{
	memset(values, 0, sizeof(*values));
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		struct brick__perf_reading reading;
		if (c->opened & 1u << kind && !brick__perf_read(&c->events[kind], &reading))
			counters_take(values, kind, &reading);
	}
}

void brick_counters_close(struct brick_counters *c)
{
	KEEP_ERRNO();

	for (uint32_t kind = 0; c && kind < BRICK_COUNTER_KINDS; kind++)
		brick__perf_close(&c->events[kind]);
	free(c);
}

static struct thread_exit counters_exit_of_thread;
static pthread_once_t counters_exit_key_once = PTHREAD_ONCE_INIT;
static uint32_t counters_noted; /* session whose notes say why nothing is counted */

static __thread struct {
	struct brick_counters *counters;
	uint32_t opened;
	int tried;
} counters_here __attribute__((tls_model("initial-exec")));

static void counters_thread_exits(void *counters)
{
	brick_counters_close(counters);
	memset(&counters_here, 0, sizeof(counters_here));
}

/* The child's first thread holds counters of its parent: they must not be read as its own. */
static void counters_forget_all(void)
{
	brick_counters_close(counters_here.counters);
	memset(&counters_here, 0, sizeof(counters_here));
	thread_exit_set(&counters_exit_of_thread, NULL);
}

static void counters_make_exit_key(void)
{
	thread_exit_create(&counters_exit_of_thread, counters_thread_exits);
	pthread_atfork(NULL, NULL, counters_forget_all);
}

/* What is missing, and why; once per session. */
static void counters_note_missing(void)
{
	uint32_t session = brick__number_here();
	char reason[160];

	if (__atomic_exchange_n(&counters_noted, session, __ATOMIC_RELAXED) == session)
		return;
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (BRICK_COUNTERS_HARDWARE & ~counters_here.opened & 1u << kind &&
			brick_counters_available(kind, reason, sizeof(reason)))
			brick_note("counters.unavailable", "%s per brick: %s",
				brick_counters_name(kind), reason);
}

static __attribute__((noinline, cold)) void open_here(void)
{
	KEEP_ERRNO();

	counters_here.tried = 1;
	pthread_once(&counters_exit_key_once, counters_make_exit_key);
	int opened = brick_counters_open(&counters_here.counters, BRICK_COUNTERS_HARDWARE);
	if (opened > 0) {
		counters_here.opened = (uint32_t)opened;
		thread_exit_set(&counters_exit_of_thread, counters_here.counters);
	} else {
		counters_here.counters = NULL;
	}
	if (counters_here.opened != BRICK_COUNTERS_HARDWARE)
		counters_note_missing();
}

void brick_counted_begin(struct brick_counted *counted, uint32_t brick, int layer)
{
	if (brick_enabled() && !counters_here.tried)
		open_here();
	counted->brick = brick;
	counted->begin.valid = 0;
	counted->span = brick_begin_layer(brick, layer);
	if (counted->span && counters_here.counters)
		brick__counters_read(counters_here.counters, &counted->begin);
}

static void counters_add(struct brick_lane *lane, uint32_t brick,
	const struct brick_counter_values *begin, const struct brick_counter_values *end)
{
	struct brick_stat *stat = &lane->stats[brick];
	struct brick_leaf_stat *range = &lane->drained.stats[brick];
	uint64_t cycles = end->value[BRICK_COUNTER_CYCLES] - begin->value[BRICK_COUNTER_CYCLES];

	if (!stat->counted || cycles < range->cycles_min)
		range->cycles_min = cycles;
	if (!stat->counted || cycles > range->cycles_max)
		range->cycles_max = cycles;
	stat->counted++;
	stat->cycles += cycles;
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
	if (counters_here.counters)
		brick__counters_read(counters_here.counters, &end);
	brick_end_work(counted->span, elements, bytes, flops);
	if (counters_here.opened && counted->begin.valid == counters_here.opened &&
		end.valid == counters_here.opened && self->lane &&
		self->tag == (counted->span & ~0xffu) &&
		brick_lane_has_rows(self->lane, counted->brick))
		counters_add(self->lane, counted->brick, &counted->begin, &end);
}

int brick_counted_stats_get(uint32_t brick, struct brick_counted_stats *out)
{
	const struct brick_session *s = brick__session_here();
	struct brick_counted_stats sum = BRICK_COUNTED_STATS_INIT;
	int error = -ENOENT;

	if (brick >= brick_count())
		return -ENOENT;
	brick__session_lock();
	if (s->header)
		error = 0;
	for (uint32_t i = 0; !error && i < s->header->lane_count; i++) {
		const struct brick_stat *stat = &s->lanes[i].lane->stats[brick];
		if (!brick_lane_has_rows(s->lanes[i].lane, brick) || !stat->counted)
			continue;
		const struct brick_leaf_stat *range = &s->lanes[i].lane->drained.stats[brick];
		if (!sum.counted || range->cycles_min < sum.cycles_min)
			sum.cycles_min = range->cycles_min;
		if (range->cycles_max > sum.cycles_max)
			sum.cycles_max = range->cycles_max;
		sum.counted += stat->counted;
		sum.cycles += stat->cycles;
		sum.instructions += stat->instructions;
		sum.cache_misses += stat->cache_misses;
	}
	brick__session_unlock();
	return error ? error : sized_write(out, sizeof(sum), &sum);
}
