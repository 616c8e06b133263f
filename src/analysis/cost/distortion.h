/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording, as a share of the wall time of the run's steps: an estimate and an
 * interval. By default it follows from costs measured in the same run (recording_costs.h) and the
 * recorder's CPU time. If some steps were recorded as one piece ("plain steps", brick record
 * --measure-distortion), it is measured: their times are compared with their neighbours'. Pure; any
 * thread.
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
	double share; /* of the wall time, 0 to 1; negative: not known */
	double low,
		high; /* interval of `share`; low < 0: steps may have been faster; NAN: not known */
	double pairs_share, hooks_share; /* parts of `share`; negative: not known, or measured */
	double consumer_share; /* CPU time of the recorder, of that of all usable CPUs; negative:
				  not known */
	double helpers_ns;     /* CPU time of Brick's threads inside of the programs */
	bool is_measured;      /* by plain steps, in all phases or in some */
	bool saturated; /* CPUs had next to no idle time: the recorder took from the program */
	double idle; /* share of the CPUs' time that nobody used; if not known, that the program did
			not use */
	enum distortion_method phases[STEP_PHASES]; /* valid with is_measured */
	size_t plain_steps[STEP_PHASES]; /* that had a neighbour; valid with is_measured */
	struct hook_costs costs;	 /* valid without is_measured */
	uint32_t turns;			 /* threads that took turns on fewer CPUs; 0: none had to */
	double noise;			 /* step_noise(), if `turns`; negative: too few steps */
	struct switch_cost switches;
	struct helper_cost helpers;
	bool has_commands;   /* of devices; plain steps exist on CPUs only */
	bool has_timestamps; /* devices wrote timestamps, whose cost is not in `share` */
	struct traced_cost
		traced; /* what the driver's own tracing (CUPTI) took; a part of `share` */
	const struct traced_costs *tracing; /* of the whole run; as long as the summary */
};

/*
 * phase: an enum step_phase, or SUMMARY_ALL_PHASES. Calls of hooks are counted per lane only: a
 * phase gets the part of them that it has of the lane's samples.
 */
void distortion_estimate(struct distortion *distortion, const struct summary *summary, int phase);

/*
 * True if steps vary too much for the share to say anything: the interval is wide and has 0 in it.
 */
bool distortion_is_hidden(const struct distortion *distortion);

/*
 * The share by which step times vary by themselves; smaller differences are noise. 95 % of the
 * run's stretches, each an eighth of it, lie within this share of the step time. For the steps of
 * one phase; for SUMMARY_ALL_PHASES, or where the phase has too few of one size, for the phase that
 * varies most. Negative: all phases have too few.
 */
double step_noise(const struct run *run, int phase);
