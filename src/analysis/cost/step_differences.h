/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How steps of a run differ: those that were recorded in one piece from their neighbours, and
 * stretches of steps from each other. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/steps/step_times.h"

/* Plain steps were recorded as one piece (`brick record --measure-distortion`). */
struct plain_steps {
	size_t count;		 /* that have a neighbour which was taken apart */
	double share, low, high; /* of a neighbour's time that recording took; 95 % */
	double apart_ns; /* time of the phase's other steps, each taken to be as the middle one */
};

/* Of one phase. False: there are too few for an interval, or there is no memory. */
bool plain_steps_compare(struct plain_steps *plain, const struct run *run, enum step_phase phase);

/*
 * By how much steps move by themselves: differences below that cannot be told. 95 % of the run's
 * stretches, an eighth of it each, lie within this share of the step time. Of the steps of one
 * phase; of SUMMARY_ALL_PHASES, or where the phase has too few of one size, of the phase that moves
 * most. Negative: all phases have too few.
 */
double step_noise(const struct run *run, int phase);
