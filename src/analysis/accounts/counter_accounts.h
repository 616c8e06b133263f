/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters per step (include/brick/counters.h), by phase. Each step has its own values, recorded
 * just after its end; steps without any are not in the means. Pure; read-only once made.
 */
#pragma once

#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "analysis/steps/step_times.h"
#include "brick/counters.h"
#include "trace/run.h"

/* The last kind: ns that reading took around a step. */
enum { COUNTERS_READING = BRICK_COUNTER_KINDS, COUNTERS_KINDS };

struct counters_sum {
	uint64_t steps; /* that have it */
	double sum, least, most;
};

struct counters {
	struct counters_sum phases[STEP_PHASES][COUNTERS_KINDS];
	uint64_t span_ns[STEP_PHASES]; /* of the steps whose task-clock is known */
};

/* The last step of a point's lane that had ended by then; NULL if another one has begun since. */
const struct run_step *counters_step_of(
	const struct run *run, const struct step_index *index, const struct run_point *point);

/* "cycles", ..., "counter-reading". */
const char *counters_kind_name(uint32_t kind);

void counters_measure(
	struct counters *counters, const struct run *run, const struct step_index *index);

/* Returns 1 if anything was counted. */
int counters_any(const struct counters *counters);

/* Sums over a brick's counted executions (brick_counted_begin) on all lanes. */
struct counters_brick {
	uint64_t counted, cycles, instructions, cache_misses;
};

struct counters_brick counters_of_brick(const struct run *run, uint32_t brick);

/* Mean of a step; negative: not counted. */
double counters_mean(const struct counters *counters, enum step_phase phase, uint32_t kind);

/* Instructions per cycle: of real counters, in the same steps; negative: not counted. */
double counters_ipc(const struct counters *counters, enum step_phase phase);
