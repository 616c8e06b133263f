/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how busy each queue of a device was, and how long commands took from launch to start.
 * Lanes with the same number in one process are one queue: an out-of-order queue has several. An
 * unknown time is in no number. Borrows the run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* A delay of commands; percentiles are ANALYSIS_UNKNOWN when too few are known. */
struct queue_delay {
	uint64_t count, p50_ns, p95_ns;
};

struct queue_time {
	uint32_t lane;	   /* the first of its lanes */
	uint32_t lanes;	   /* how many it has */
	uint64_t commands; /* all of its samples */
	uint64_t busy_ns;  /* with at least one command running */
	/*
	 * Wall time: while a step of its process or a command ran, or from its first command to its
	 * last where there are no steps; and in how much of it no command ran. A phase's is without
	 * commands that ran for others: busy + idle = wall.
	 */
	uint64_t wall_ns, idle_ns;
	uint64_t steps_ns;	   /* wall time of the steps of its process; UNKNOWN: no steps */
	struct queue_delay launch; /* from the begin of the host's call to the command's */
	struct queue_delay submit; /* from when it was submitted to the device */
	uint32_t sources;	   /* 1 << enum brick_source */
};

struct queue_times {
	struct queue_time *queues; /* in the order of their lanes */
	size_t count;
	uint32_t *of_lane; /* [lane_count]: number in queues, RUN_NONE for threads */
};

/*
 * only: an enum step_phase; below 0: all. A phase has the commands that its steps launched, and a
 * queue is idle while one of its steps runs and no command does. -ENOMEM; *times is then empty.
 * Without queues it is empty, too, but for of_lane.
 */
int queue_times_init(
	struct queue_times *times, const struct run *run, const struct step_index *index, int only);
void queue_times_fini(struct queue_times *times);

/* Did a device do commands whose times are from there; source < 0: from anywhere? */
bool queue_has_commands(const struct run *run, int source);
