/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each costs is booked half to leaving a CPU and half to getting one. One after the other they
 * hold up a step by all they take (high), spread over the CPUs by as much as each CPU takes (mean).
 * Where threads wait for each other, a step is held up by what the thread with the fewest has to
 * wait until it gets its CPU (low); the others' may fall together with it.
 */
#include "analysis/cost/switch_cost.h"

#include <math.h>
#include <stdbool.h>

static double between(const struct run_lane *lane, const struct run_step *step)
{
	return (double)(run_off_cpu_from(lane, step->end_ns) -
			run_off_cpu_from(lane, step->begin_ns));
}

/* Does it work for steps of other threads? */
static bool works_beside(const struct summary *summary, size_t lane)
{
	for (int i = 0; i < STEP_PHASES; i++)
		if (summary->hooked[lane].beside[i])
			return true;
	return false;
}

/* Of one lane in all steps that it works for. */
static double count_of(const struct summary *summary, size_t at, int phase)
{
	const struct run *run = summary->run;
	const struct run_lane *lane = &run->lanes[at];
	bool beside = works_beside(summary, at);
	double count = 0;

	for (size_t i = 0; lane->off_cpu_count && i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if ((step->lane == at ||
			    (beside && run->lanes[step->lane].process == lane->process)) &&
			(phase == SUMMARY_ALL_PHASES || (int)step_phase_of(step) == phase))
			count += between(lane, step);
	}
	return count;
}

/* For each that is there so many happened: two switches are a time off the CPU. */
static double missing(const struct run *run)
{
	double there = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		there += (double)run->lanes[i].off_cpu_count;
	return there > 0 ? 1 + (double)run->off_cpu.lost / 2 / there : 1;
}

struct switch_cost switch_cost_of(const struct summary *summary, int phase)
{
	const struct run *run = summary->run;
	double fewest = INFINITY, threads = 0, each = missing(run);
	struct switch_cost cost = {.is_known = run->off_cpu.cost_ns > 0};

	for (size_t i = 0; i < run->lane_count; i++) {
		double count = each * count_of(summary, i, phase);
		if (count <= 0)
			continue;
		threads++;
		fewest = fmin(fewest, count);
		cost.count += count;
	}
	if (cost.count <= 0)
		return cost;
	uint32_t cpus = run_usable_cpus(run);
	double at_once = cpus ? fmin(threads, cpus) : threads;
	cost.low_ns = fewest * (double)run->off_cpu.cost_low_ns / 2;
	cost.ns = cost.count * (double)run->off_cpu.cost_ns / at_once;
	cost.high_ns = cost.count * (double)run->off_cpu.cost_high_ns;
	return cost;
}
