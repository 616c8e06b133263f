/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long steps are on the CPU when nobody interrupts them. A step in which a thread that worked
 * for it was preempted, if only for 20 us, takes longer on the CPU than it would have, and so does
 * the next one, as others used the caches meanwhile (docs/PERFORMANCE.md). The
 * first of the two tells that by itself it would have taken at least what it had used by then. To
 * leave it out would be wrong: longer steps are interrupted more often. The one behind it says
 * nothing, and is left out, whatever it took. So steps that get longer in the course of a run are
 * left out more often at its end: where many are interrupted and the run's halves are not alike
 * nothing is estimated (it was 26 % too low). Pure.
 */
#pragma once

#include "analysis/steps/step_times.h"

struct undisturbed_step {
	uint64_t cpu_ns; /* its thread's time on the CPU until one was preempted, or to its end */
	int interrupted; /* a thread that recorded in it was preempted in it */
	int is_behind;	 /* or since the step before it on its lane began */
};

/* step: by number. Where switches were not recorded nothing was interrupted. */
struct undisturbed_step undisturbed_step(const struct run *run, size_t step);

/* ANALYSIS_UNKNOWN where there are too few that ended, or too many were interrupted, to say. */
struct undisturbed_percentiles {
	uint64_t p50_ns, p95_ns, p99_ns;
};

struct undisturbed {
	/* steps; of these interrupted; of the others behind one. ANALYSIS_UNKNOWN: context switches
	 * were not recorded, not of all steps */
	uint64_t count, interrupted, behind;
	struct undisturbed_percentiles cpu;   /* of all, interrupted or not, to their ends */
	struct undisturbed_percentiles alone; /* had none been: percentile_censored() */
	int is_drifting; /* the estimate is not known since the run's two halves are not alike */
};

/* Of the steps of one phase. -ENOMEM. */
int undisturbed_of_phase(struct undisturbed *u, const struct run *run,
	const struct step_times *times, enum step_phase phase);
