/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a run's executions, whatever is selected: samples in the file, executions by the
 * statistics of threads and devices, and pairs (a begin and its end) in the wall time of each
 * phase. The accumulators of a walk share one struct execution_counts and belong to its thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/traced_costs.h"
#include "analysis/walk/walk.h"
#include "analysis/steps/step_times.h"

/*
 * Pairs by the phase in whose wall time they were recorded; index STEP_PHASES: in no wall time. The
 * "beside" arrays are the part of index STEP_PHASES that was recorded while a step of the phase ran
 * on another thread. Only hooked pairs use the members after `count`. A new member goes into
 * add_pairs() too.
 */
struct summary_pairs {
	uint64_t count[STEP_PHASES + 1];
	uint64_t beside[STEP_PHASES + 1];

	/* Samples of the profiler's own work (BRICK_KIND_OVERHEAD), without times off the CPU. */
	uint64_t own_count[STEP_PHASES + 1];
	uint64_t own_ns[STEP_PHASES + 1];
	uint64_t own_beside_ns[STEP_PHASES + 1];
	uint64_t own_min_ns; /* the shortest; 0: none */

	/* Samples of nodes that the evaluation callback timed. */
	uint64_t inflated[STEP_PHASES + 1];	     /* their number */
	uint64_t inflated_nodes_ns[STEP_PHASES + 1]; /* their lengths */
	uint64_t inflated_ns[STEP_PHASES + 1];	     /* lengths of all graphs: GraphCompute */

	/* The part of own work that comes from the callback: graphs of nodes without work. */
	uint64_t split_count, split_ns;
	uint64_t split_min_ns; /* the shortest; 0: none */
};

/* A brick's counts on all queues. Statistics of a queue are kept by the first of its lanes. */
struct device_count {
	uint64_t samples;    /* that have ended */
	uint64_t executions; /* by statistics; of lanes without any: samples */
	uint64_t total_ns;   /* of these executions, outermost ones only */
};

struct execution_counts {
	/* The next three leave out tiles and waits (walk_wait_brick()). */
	uint64_t samples;      /* that have ended, of threads and devices */
	uint64_t executions;   /* by statistics; where there are none: samples */
	uint64_t mismatched;   /* sum of differences of the two, where nothing was dropped */
	uint64_t unknown;      /* commands for operations that no rule knew */
	uint64_t lifetimes_ns; /* sum over threads: until a lane or its last sample ends */
	/* Counts have what was dropped from steps in the file, too. Tiles are pairs. */
	struct summary_pairs *pairs;  /* [process_count]: made by the program */
	struct summary_pairs *hooked; /* [lane_count]: recorded by attached hooks */
	struct device_count *devices; /* [brick_count + 1] */
	struct traced_costs traced;

	/* used while the walk runs */
	const struct run *run;
	const struct step_index *index;
	uint32_t wait_brick;   /* walk_wait_brick(): brick_count if the run has none */
	bool was_reset;	       /* the program set its statistics back to zero */
	bool has_reported;     /* the run has durations that the program measured itself */
	bool devices_lost;     /* records of a device were dropped, or may have been */
	double *steps_there;   /* [process_count]: share of its steps in the file, 0 to 1 */
	uint32_t lane;	       /* that the walk is on */
	uint64_t *lane_counts; /* [brick_count + 1]: ended samples of that lane */
	struct summary_pairs lane_pairs, lane_hooked; /* of that lane, not scaled */
	uint64_t lane_end_ns; /* end of the lane's last sample and the wait after it */
	unsigned users;	      /* execution_counts_get() without a put */
};

/*
 * Returns the walk's counts, made and joined by the first call. They are whole when the walk has
 * run. NULL: no memory. Each caller gives them back once; the last execution_counts_put() frees
 * them. NULL is legal there.
 */
struct execution_counts *execution_counts_get(struct walk *walk);
void execution_counts_put(struct execution_counts *executions);
