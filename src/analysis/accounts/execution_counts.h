/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a run's executions, whatever is selected: those in the file, those that its threads and
 * devices counted themselves, and how often recording was at work in the wall time of each phase.
 * All accumulators of a walk share the counts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/walk/walk.h"
#include "analysis/steps/step_times.h"

/* Begin/end pairs by the phase whose wall time they fell into; the last: into none. */
struct summary_pairs {
	uint64_t count[STEP_PHASES + 1];
	uint64_t beside[STEP_PHASES + 1]; /* of the last ones: while a step ran elsewhere */
	/* Samples that are the profiler's own work, and the shortest of them. */
	uint64_t own_count[STEP_PHASES + 1], own_ns[STEP_PHASES + 1], own_min_ns;
	uint64_t own_beside_ns[STEP_PHASES + 1]; /* of the last: while a step ran elsewhere */
	/* Samples that the evaluation callback made: their number, and the time that holds them. */
	uint64_t inflated[STEP_PHASES + 1], inflated_ns[STEP_PHASES + 1];
	uint64_t inflated_nodes_ns[STEP_PHASES + 1];  /* of these alone */
	uint64_t split_count, split_ns, split_min_ns; /* ... of nodes without work */
};

/* A brick's counts on all queues: a queue's statistics stand on the first of its lanes. */
struct device_count {
	uint64_t samples;
	uint64_t executions, total_ns; /* by statistics, where its lane has any */
};

struct execution_counts {
	uint64_t samples, executions; /* samples that have ended; executions by exact statistics */
	uint64_t mismatched;	      /* between the two, where nothing was dropped */
	uint64_t lifetimes_ns;	      /* of threads, from their first samples to their last */
	/*
	 * [process_count] begin/end pairs that the process made, and [lane_count] samples that
	 * attached hooks recorded. Tiles are pairs, too. Those that were dropped from steps in the
	 * file are in the numbers.
	 */
	struct summary_pairs *pairs, *hooked;
	struct device_count *devices; /* [brick_count + 1] */
	/* Commands of which a driver's own tracing told, by the phase that launched them; the last:
	 * by none. */
	uint64_t traced[STEP_PHASES + 1];

	/* while it is fed */
	const struct run *run;
	const struct step_index *index;
	uint32_t wait_brick; /* that of walk_wait_brick() */
	bool was_reset;	     /* the program set its statistics back to zero */
	bool has_reported;   /* executions that the program timed itself */
	bool devices_lost;   /* something was dropped, or may have been */
	double *steps_there; /* [process_count]: part of its steps that is in the file */
	uint32_t lane;
	uint64_t *lane_counts; /* [brick_count + 1] */
	struct summary_pairs lane_pairs, lane_hooked;
	uint64_t lane_end_ns;
	unsigned users;
};

/*
 * The first who asks makes it, and it goes with the last who gives it back; whole when the walk has
 * run. NULL: no memory.
 */
struct execution_counts *execution_counts_get(struct walk *walk);
void execution_counts_put(struct execution_counts *executions);
