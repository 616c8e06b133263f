/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of counters (include/brick/counters.h), each of one thread. What is opened counts at once
 * and until it is closed, so that a reading is a difference from the opening.
 */
#include "lib/probe/counter_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "base/sized.h"
#include "lib/sys/perf.h"

struct brick_counters {
	uint32_t opened; /* bits */
	struct brick__perf events[BRICK_COUNTER_KINDS];
};

static const char *const names[BRICK_COUNTER_KINDS] = {
	[BRICK_COUNTER_CYCLES] = "cycles",
	[BRICK_COUNTER_INSTRUCTIONS] = "instructions",
	[BRICK_COUNTER_CACHE_MISSES] = "cache-misses",
	[BRICK_COUNTER_TASK_CLOCK] = "task-clock",
	[BRICK_COUNTER_PAGE_FAULTS] = "page-faults",
	[BRICK_COUNTER_CONTEXT_SWITCHES] = "context-switches",
};

const char *brick_counters_name(uint32_t kind)
{
	return kind < BRICK_COUNTER_KINDS ? names[kind] : NULL;
}

static int is_word(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

static int parse_word(const char *word, size_t length)
{
	for (int kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (is_word(word, length, names[kind]))
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
	int error = -EINVAL, saved = errno;

	if (!wanted || wanted & ~(uint32_t)BRICK_COUNTERS_ALL)
		return -EINVAL;
	struct brick_counters *c = calloc(1, sizeof *c);
	errno = saved;
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

static void take(struct brick_counter_values *values, uint32_t kind,
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
	memset(values, 0, sizeof *values);
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		struct brick__perf_reading reading;
		if (!(c->opened & 1u << kind))
			continue;
		if (!brick__perf_read_page(&c->events[kind], &reading))
			values->direct |= 1u << kind;
		else if (brick__perf_read(&c->events[kind], &reading))
			continue;
		take(values, kind, &reading);
	}
}

int brick_counters_read(struct brick_counters *c, struct brick_counter_values *out)
{
	struct brick_counter_values values;

	brick__counters_read(c, &values);
	return sized_write(out, sizeof values, &values);
}

void brick__counters_read_any(const struct brick_counters *c, struct brick_counter_values *values)
{
	memset(values, 0, sizeof *values);
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		struct brick__perf_reading reading;
		if (c->opened & 1u << kind && !brick__perf_read(&c->events[kind], &reading))
			take(values, kind, &reading);
	}
}

void brick_counters_close(struct brick_counters *c)
{
	KEEP_ERRNO();

	for (uint32_t kind = 0; c && kind < BRICK_COUNTER_KINDS; kind++)
		brick__perf_close(&c->events[kind]);
	free(c);
}
