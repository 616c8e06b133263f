/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What begin/end pairs and attached hooks cost the steps, from what one was timed to take and how
 * many there were. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/cost/pair_costs.h"
#include "analysis/accounts/summary.h"

struct hook_costs {
	struct pair_costs pairs;
	double calls, timed, timed_ns, unseen_ns;
	double own_ns, beside_ns;		      /* of the step's thread, of others */
	double nodes, splits, split_ns, split_min_ns; /* by the evaluation callback */
	double ns, low_ns, high_ns; /* of all but pairs until these are all there */
	bool known;		    /* all that was counted has a cost */
};

/* Of the steps of one phase, or SUMMARY_ALL_PHASES, that took wall_ns. */
void hook_costs_of(
	struct hook_costs *costs, const struct summary *summary, int phase, double wall_ns);

/* How many they are. */
double hook_costs_steps(const struct summary *summary, int phase);

/* Threads of one process that hooks were called on: of the process that has most of them. */
uint32_t hook_costs_threads(const struct summary *summary, int phase);
