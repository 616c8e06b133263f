/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost by measurement: steps that were recorded as one piece (`brick record
 * --measure-distortion`) held against their neighbours, which were taken apart. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/steps/step_times.h"

struct plain_steps {
	size_t count;		 /* that have such a neighbour */
	double share, low, high; /* of a neighbour's time; 95 % */
	double apart_ns; /* that is a share of: the middle of the phase's other steps, for each */
};

/* Of one phase. False: there are too few for an interval, or there is no memory. */
bool plain_steps_compare(struct plain_steps *plain, const struct run *run, enum step_phase phase);
