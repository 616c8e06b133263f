/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it cost the steps that the kernel recorded when their threads were off their CPUs: engines
 * whose threads sleep at barriers are that thousands of times a step. Pure; any thread.
 */
#pragma once

#include "analysis/accounts/summary.h"

struct switch_cost {
	double count; /* times off the CPU within the steps, of all threads that work for them */
	double low_ns, ns, high_ns; /* of the steps' wall time */
	int is_known;		    /* else what each costs was not measured */
};

/* Of the steps of one phase, or SUMMARY_ALL_PHASES. */
struct switch_cost switch_cost_of(const struct summary *summary, int phase);
