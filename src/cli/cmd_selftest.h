/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocols of `brick selftest`: each measures something on this machine and says what it found
 * and what it had to be. The same for all: medians of many repetitions, never a single reading.
 * Main thread; one session of the library at a time.
 */
#pragma once

#include <stddef.h>
#include "brick/export.h"

enum selftest_state {
	SELFTEST_PASSED,
	SELFTEST_FAILED,
	SELFTEST_UNKNOWN, /* this machine does not allow to find out */
};

struct selftest_result {
	enum selftest_state state;
	double measured, limit; /* limit: what it may be at most; NaN: no one number */
	const char *unit;
	char text[256]; /* what was found, as a sentence */
};

struct selftest {
	const char *id;	   /* number of the protocol, or a word for our own */
	const char *title; /* what is claimed */
	void (*run)(struct selftest_result *result);
};

extern const struct selftest selftest_clock[], selftest_probe[], selftest_engine[];
extern const size_t selftest_clock_count, selftest_probe_count, selftest_engine_count;

void selftest_say(struct selftest_result *r, enum selftest_state state, const char *format, ...)
	BRICK_PRINTF(3, 4);

/* A measured value against what it may be at most. */
void selftest_judge(struct selftest_result *r, double measured, double limit, const char *unit,
	const char *what);

/* The fastest of `rounds` rounds of function(count), in ns per call. */
double selftest_cost_ns(void (*function)(unsigned count), unsigned count, unsigned rounds);
