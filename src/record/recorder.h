/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of `brick record`: starts the program, drains the sessions of it and of its children
 * into a recording, and ends as the program ended. Once per process, from its only thread;
 * descriptors 0 to 2 must be taken.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/session.h"
#include "format/machine_use.h"
#include "record/inject/inject.h"
#include "record/switch_records.h"

struct recorder_options {
	const char *output;
	char *const *command; /* NULL-terminated argv */
	uint32_t interval_ms;
	int compress;
	int wait;	    /* for every recorded process, not only for the program itself */
	int keep_going;	    /* run the program even where it cannot be recorded */
	int inject;	    /* preload what attaches by itself */
	int off_cpu;	    /* enum off_cpu_when */
	unsigned stacks_hz; /* take stacks so often; 0: none */
	struct environment environment; /* more variables for the program */
	/* One line for the user; never called while the program runs recorded. */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

struct recorder_result {
	int exit_code;
	int refused;	  /* nothing was run: it could not have been recorded */
	int recorded;	  /* a complete recording is under its final name */
	uint64_t wall_ns; /* of the program */
	uint64_t bytes;
	uint32_t processes, lost, dead, outlived;
	int left_behind; /* a process that goes on and has recorded nothing so far; 0: none */
	uint64_t records, samples, steps, threads, dropped;
	uint64_t without_lane; /* records of threads that could have no ring */
	uint64_t refused_processes, refused_records; /* that could have no session */
	int refused_error;			     /* why: -errno, of the last */
	bool is_directory_gone;			     /* of sessions: somebody removed it */
	uint32_t refused_pid;
	char refused_name[BRICK_REFUSALS_NAME_BYTES]; /* of its program */
	char static_name[BRICK_REFUSALS_NAME_BYTES]; /* what it started that is linked statically */
	struct off_cpu_account off_cpu;
	struct stack_account stacks;
	uint64_t program_cpu_ns;
	const char *fault; /* static text; NULL: none */
	enum inject_obstacle obstacle;
	char *notes; /* "key=value" lines of all processes; NULL when not recorded */
};

/* The program's exit code is in the result in every case. */
void recorder_run(const struct recorder_options *options, struct recorder_result *result);
void recorder_result_fini(struct recorder_result *result);
