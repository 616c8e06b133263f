/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How steps of a run differ: plain steps from their neighbours, and stretches of steps from each
 * other. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/steps/step_times.h"

/* Plain steps were recorded as one piece (`brick record --measure-distortion`). */
struct plain_steps {
	size_t count;		 /* plain steps with a neighbour */
	double share, low, high; /* recording's share of a neighbour's time; 95 % */
	double apart_ns; /* time of the phase's other steps, each counted as the median one */
};

/* Of one phase. False: there are too few for an interval, or there is no memory. */
bool plain_steps_compare(struct plain_steps *plain, const struct run *run, enum step_phase phase);

/*
 * By how much step times vary by themselves; smaller differences are noise. 95 % of the run's
 * stretches, each an eighth of it, lie within this share of the step time. For the steps of one
 * phase; for SUMMARY_ALL_PHASES, or where the phase has too few of one size, for the phase that
 * varies most. Negative: all phases have too few.
 */
double step_noise(const struct run *run, int phase);
