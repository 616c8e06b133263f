/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that train: those with a backward pass, or a change of weights, and how long their phases
 * took on the threads that ran them, waiting included. A loss that a program computes between two
 * modules, for instance, is in none of the phases. Pure; any thread.
 */
#pragma once

#include "analysis/steps/step_index.h"

struct training_times {
	uint64_t count, tokens; /* of the steps that train */
	uint64_t total_ns;	/* from their begins to their ends */
	uint64_t forward_ns, backward_ns, optimizer_ns;
};

void training_times_of_run(
	struct training_times *times, const struct run *run, const struct step_index *index);
