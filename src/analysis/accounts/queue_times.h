/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how busy each queue of a device was, and how long commands took from launch to start.
 * Lanes of one process that have the same number (tid) are one queue: an out-of-order queue has
 * several lanes. Unknown times are left out. Functions borrow the run during the call only.
 * Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* A delay of commands. */
struct queue_delay {
	uint64_t count;		 /* of commands whose delay is known */
	uint64_t p50_ns, p95_ns; /* percentiles; ANALYSIS_UNKNOWN: count is too small */
};

struct queue_time {
	uint32_t lane;	   /* the first of its lanes */
	uint32_t lanes;	   /* how many it has */
	uint64_t commands; /* measured samples, nested ones too; by statistics: executions */
	uint64_t busy_ns;  /* with at least one measured command running */
	/*
	 * Time inside of the chosen steps in which no command of the queue ran, measured or not.
	 * Without such steps: the gaps between the first and the last measured command.
	 * ANALYSIS_UNKNOWN: the run has statistics only.
	 */
	uint64_t idle_ns;
	uint64_t wall_ns;  /* busy_ns + idle_ns; ANALYSIS_UNKNOWN as idle_ns */
	uint64_t steps_ns; /* with a step of the process running; ANALYSIS_UNKNOWN: no steps */
	struct queue_delay launch; /* from the begin of the host's call to the command's begin */
	struct queue_delay submit; /* from the submission to the device to the command's begin */
	uint32_t sources;	   /* mask of 1 << enum brick_source, of measured samples */
};

struct queue_times {
	struct queue_time *queues; /* by their first lanes, ascending */
	size_t count;
	uint32_t *of_lane; /* [lane_count]: number in queues, RUN_NONE for threads */
};

/*
 * phase: an enum step_phase, to measure commands that its steps launched and idle time in its
 * steps; below 0: all steps and commands. Commands that the selection left out are not measured.
 * A run with statistics only has no phases: its commands and busy_ns are of all.
 * Without queues, *times has only of_lane. -ENOMEM; *times is then empty.
 */
int queue_times_init(struct queue_times *times, const struct run *run,
	const struct step_index *index, int phase);
void queue_times_fini(struct queue_times *times);

/*
 * True if the first sample of a queue's lane has this enum brick_source; source < 0: if any lane of
 * a queue has samples.
 */
bool queue_has_commands(const struct run *run, int source);
