/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of `brick record`: starts the program, drains the program's and its children's sessions
 * into a recording, and reports the program's exit code. Once per process, from its only thread.
 * Descriptors 0 to 2 must be open, so that no file of ours becomes one of them.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/session.h"
#include "format/machine_use.h"
#include "record/inject/inject.h"
#include "record/switch_records.h"

struct recorder_options {
	const char *output;   /* the recording's path */
	char *const *command; /* argv of the program, NULL-terminated */
	uint32_t interval_ms; /* between flushes of the file */
	int compress;
	int wait;			/* record until every recorded process has ended */
	int keep_going;			/* run the program even if it cannot be recorded */
	int inject;			/* preload the attachers' libraries */
	int off_cpu;			/* enum off_cpu_when */
	unsigned stacks_hz;		/* stacks per second of CPU time; 0: none */
	struct environment environment; /* additional variables for the program */
	/* Prints one line for the user. Never called while the program is being recorded. */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

struct recorder_result {
	int exit_code;	  /* the program's, as a shell sees it; 126 or 127 if it could not be run */
	int refused;	  /* the program was not run, because it could not be recorded */
	int recorded;	  /* a complete recording is under its final name */
	uint64_t wall_ns; /* of the program; 0: it was not run */
	uint64_t bytes;	  /* size of the recording */

	/* See struct watch_totals; without_lane is its `refused`. */
	uint32_t processes, lost, dead, outlived;
	uint64_t records, samples, steps, threads, dropped, without_lane;
	const char *fault; /* static text; NULL: no session was lost */
	char *notes; /* "key=value" lines of all processes; NULL: not recorded, or no memory */

	int left_behind; /* pid of a running process without a session; 0: there is none */

	/* Processes that could not create a session. refused_*: of the last. */
	uint64_t refused_processes;
	uint64_t refused_records; /* that they lost */
	int refused_error;	  /* -errno; 0: no process was refused */
	bool is_directory_gone;	  /* somebody removed the directory of sessions */
	uint32_t refused_pid;
	char refused_name[BRICK_REFUSALS_NAME_BYTES]; /* its program */
	/* the last program that was started and is linked statically; "": there is none */
	char static_name[BRICK_REFUSALS_NAME_BYTES];

	struct off_cpu_account off_cpu;
	struct stack_account stacks;
	uint64_t program_cpu_ns;       /* see struct program_end */
	enum inject_obstacle obstacle; /* why no attacher could be preloaded */
};

/* Sets all of *result. Free it with recorder_result_fini(). */
void recorder_run(const struct recorder_options *options, struct recorder_result *result);
void recorder_result_fini(struct recorder_result *result);
