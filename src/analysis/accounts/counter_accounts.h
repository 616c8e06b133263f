/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up counters of steps (include/brick/counters.h) by phase. Values of a step are recorded just
 * after its end; steps without a counter are not in its mean. Pure; any thread.
 */
#pragma once

#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "analysis/steps/step_times.h"
#include "brick/counters.h"
#include "trace/run.h"

/* Kinds of counters; after those of counters.h: ns that reading the counters took around a step. */
enum { COUNTERS_READING = BRICK_COUNTER_KINDS, COUNTERS_KINDS };

struct counters_sum {
	uint64_t steps;	    /* that have the counter */
	double sum;	    /* over these steps */
	double least, most; /* of a step; 0: steps is 0 */
};

struct counters {
	struct counters_sum phases[STEP_PHASES][COUNTERS_KINDS];
	uint64_t span_ns[STEP_PHASES]; /* from begins to ends of steps with a task-clock */
};

/*
 * The step that a counter's point is of: the last step on its lane that ended before the point.
 * NULL: none, or another step has begun since. The point's lane must be one of the run.
 */
const struct run_step *counters_step_of(
	const struct run *run, const struct step_index *index, const struct run_point *point);

/* "cycles", ..., "counter-reading". */
const char *counters_kind_name(uint32_t kind);

/* Fills *counters from the points of a run. */
void counters_measure(
	struct counters *counters, const struct run *run, const struct step_index *index);

/* Returns 1 if anything was counted. */
int counters_any(const struct counters *counters);

/* Sums over a brick's counted executions (brick_counted_begin) on all lanes. */
struct counters_brick {
	uint64_t counted; /* executions; 0: none, or the file has no statistics */
	uint64_t cycles, instructions, cache_misses;
	uint64_t cycles_min, cycles_max; /* of single executions */
};

struct counters_brick counters_of_brick(const struct run *run, uint32_t brick);

/* Mean of a step; negative: not counted. */
double counters_mean(const struct counters *counters, enum step_phase phase, uint32_t kind);

/* Instructions per cycle: of real counters, in the same steps; negative: not counted. */
double counters_ipc(const struct counters *counters, enum step_phase phase);
