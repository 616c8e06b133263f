/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording, as shares of the wall time of the run's steps: an estimate and an
 * interval. It comes from measurements in that very run: the costs of recording (recording_costs.h)
 * and the recorder's CPU time. Where steps were left whole for it, it is a measurement instead:
 * these are compared with their neighbours. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/summary.h"
#include "analysis/cost/recording_costs.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

enum distortion_method {
	DISTORTION_OF_NO_STEPS, /* the phase has none */
	DISTORTION_BY_COSTS,
	DISTORTION_BY_PLAIN_STEPS,
};

struct distortion {
	double share;	  /* negative when nothing was measured that would tell */
	double low, high; /* then not a number; low below 0: it may have been faster */
	double pairs_share, hooks_share; /* the parts of `share`, besides the recorder's */
	double consumer_share;		 /* of the CPU time of the machine that the recorder took */
	double helpers_ns;		 /* CPU time of our threads inside of the programs */
	bool is_measured; /* by steps that were left whole, all of it or of some phases */
	bool saturated;	  /* CPUs had next to no idle time: the recorder took from the program */
	double idle;	  /* of the CPUs' time nobody used; not known: that the program did not */
	/* the method by phase */
	enum distortion_method phases[STEP_PHASES]; /* where it is measured */
	size_t plain_steps[STEP_PHASES];	    /* so many were left whole */
	struct hook_costs costs;		    /* where it is not */
	uint32_t turns; /* threads that took turns on fewer CPUs; 0: none had to */
	double noise;	/* by which steps move by themselves then; negative: too few to see */
	struct switch_cost switches;
	struct helper_cost helpers;
	bool has_commands;   /* of devices: only steps on CPUs can be left whole */
	bool has_timestamps; /* that devices wrote: their time for that is not in it */
	double traced;	     /* commands that the driver's own tracing (CUPTI) told of */
};

/*
 * CUPTI's cost to the program for each command, which cannot be seen in the run. On an H100 with
 * CUPTI 13.0 it was 1.1 us in a loop of launches, 1.6 us for a kernel of a replayed graph, and 2.7
 * us for launches of llama.cpp (docs/PERFORMANCE.md).
 */
enum { TRACED_MOST_NS = 3000 };

/*
 * phase: of the steps of one phase, or SUMMARY_ALL_PHASES. The hooks' calls are those of the phase
 * by the samples that they recorded in it.
 */
void distortion_estimate(struct distortion *distortion, const struct summary *summary, int phase);

/* Steps move too much on this machine for the share to say anything: the interval has 0 in it. */
bool distortion_is_hidden(const struct distortion *distortion);

/*
 * The share by which step times vary by themselves; smaller differences are noise. 95 % of the
 * run's stretches, each an eighth of it, lie within this share of the step time. For the steps of
 * one phase; for SUMMARY_ALL_PHASES, or where the phase has too few of one size, for the phase that
 * varies most. Negative: all phases have too few.
 */
double step_noise(const struct run *run, int phase);
