/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a recorder. */
#pragma once

#include <stdint.h>
#include "record/spawn.h"

/* Whether it is recorded when threads are off their CPUs. */
enum off_cpu_when {
	OFF_CPU_NEVER,
	OFF_CPU_ALWAYS,	  /* whatever it costs the program */
	OFF_CPU_IF_CHEAP, /* while it costs the program next to nothing (src/record/switch_budget.h)
			   */
};

struct recorder_options {
	const char *output;
	char *const *command; /* NULL-terminated argv */
	uint32_t interval_ms;
	int compress;
	int wait;	/* for every recorded process, not only for the program itself */
	int keep_going; /* run the program even where it cannot be recorded */
	int inject;	/* preload what attaches by itself */
	int off_cpu;	/* enum off_cpu_when */
	struct environment environment; /* more variables for the program */
	/* One line for the user; never called while the program runs recorded. */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};
