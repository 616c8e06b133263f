/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost the run that was recorded, as shares of the wall time of its steps. Computed
 * from what was measured in that very run: the cost of a begin/end pair (timed in each process at
 * start), the cost of the attached hooks (timed in place, a sample of their calls) and the CPU time
 * of the recorder. Where steps were left whole for it, it is a measurement instead
 * (src/analysis/steps/plain_steps.h). Pure; any thread.
 */
#pragma once

#include "analysis/accounts/summary.h"
#include "trace/run.h"

struct distortion {
	double share;	  /* negative when nothing was measured that would tell */
	double low, high; /* then not a number; low below 0: it may have been faster */
	double pairs_share, hooks_share; /* what `share` is made of, besides the recorder's part */
	double consumer_share;		 /* of the CPU time of the machine that the recorder took */
	double helpers_ns;		 /* CPU time of our threads inside of the programs */
	int is_measured;   /* by steps that were left whole, all of it or of some phases */
	double idle;	   /* of the CPUs' time nobody used; not known: that the program did not */
	int saturated;	   /* next to nothing of it, so that the recorder took from the program */
	char method[1024]; /* how it was obtained, one sentence */
};

/*
 * phase: of the steps of one phase, or SUMMARY_ALL_PHASES. The hooks' calls are those of the phase
 * by the samples that they recorded in it.
 */
void distortion_estimate(struct distortion *distortion, const struct summary *summary, int phase);
