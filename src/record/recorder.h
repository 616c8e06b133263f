/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of `brick record`: starts the program, drains the program's and its children's sessions
 * into a recording, and reports the program's exit code; or the same for a process that runs
 * already, which is entered and left again. Once per process, from its only thread.
 * Descriptors 0 to 2 must be open, so that no file of ours becomes one of them.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "brick/abi/session.h"
#include "format/machine_use.h"
#include "lib/keep/exemplars.h"
#include "record/inject/inject.h"
#include "record/switch_records.h"

struct recorder_options {
	const char *output;   /* the recording's path */
	char *const *command; /* argv of the program, NULL-terminated; with pid: of its process */
	pid_t pid;	      /* a running process to record instead; 0: run the command */
	uint64_t duration_ns; /* with pid: so long from its entry on; 0: until it ends, or a signal
			       */
	uint32_t interval_ms; /* between flushes of the file */
	int compress;
	int wait;	/* record until every recorded process has ended */
	int keep_going; /* run the program even if it cannot be recorded */
	int idle;	/* record nothing until somebody switches it on */
	int always;	/* keep the newest of the recording only, in a ring of files */
	uint64_t keep_bytes, keep_ns; /* always: of how much; keep_ns 0: as keep_bytes says alone */
	/* always: gets each file that is complete before the next one begins, in another thread */
	void (*file_ended)(void *context, const char *path);
	void *file_context;
	unsigned slow_per_hour; /* always: files around slow steps; 0: none are kept */
	struct slow_limits slow;
	double max_cost;    /* of the time of steps that have a plain way; 0: no limit */
	int inject;	    /* preload the attachers' libraries */
	int off_cpu;	    /* enum off_cpu_when */
	unsigned stacks_hz; /* stacks per second of CPU time; 0: none */
	struct environment environment; /* additional variables for the program */
	/* in place of /, for counters of energy and places of memory; "" or NULL: the system's */
	const char *system_root;
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

	/* with pid: the process called its engine, so that our library was loaded; it was entered
	 */
	bool was_called, has_entered;

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
	uint64_t program_cpu_ns; /* see struct program_end */
	struct exemplars_count exemplars;
	struct cost_limit cost;	       /* with max_cost */
	enum inject_obstacle obstacle; /* why no attacher could be preloaded */
};

/* Sets all of *result. Free it with recorder_result_fini(). */
void recorder_run(const struct recorder_options *options, struct recorder_result *result);
void recorder_result_fini(struct recorder_result *result);
