/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs x cost of a pair + hook calls x mean cost of a call, on the threads that
 * run steps. The interval: that of the pairs (src/analysis/cost/pair_costs.h); half a pair (one
 * reading of the clock) up and down per hook call, because timing a call in place counts part of
 * the timing; where threads wait for each other, no more than that reading (low), since of the
 * delays of all only the shortest holds them up for sure. What a call takes longer in place than a
 * pair in warm caches is what its lines take to come. Three times as much again may be there
 * (high): for the lines on the way into it, which no clock inside of it sees; for those of the
 * engine that it pushes out, since each that it brings in pushes out one at most; and for calls
 * that are led on untimed (barriers of a team, what jumps lead astray). The hooks of the step's
 * other threads, whose delays hold up all at the next barrier unless they fall together (high).
 *
 * Nodes that were timed by the evaluation callback were computed as graphs of their own. Each took
 * as long for that as the shortest node without work at least (low), as their mean (estimate), and
 * all together no longer than the graphs (high). Called by the distortion.
 */
#include "analysis/cost/hook_costs.h"

#include <math.h>
#include <string.h>

static double sum_of(const uint64_t *counts, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)counts[i];
	return sum;
}

/* What fell into the wall time that the estimate is about; counts by phase, the last: of none. */
static double within(const struct summary *summary, const uint64_t *counts, int phase)
{
	if (!summary->run->step_count)
		return (double)counts[STEP_PHASES];
	if (phase != SUMMARY_ALL_PHASES)
		return (double)counts[phase];
	return sum_of(counts, STEP_PHASES);
}

double hook_costs_steps(const struct summary *summary, int phase)
{
	double steps = 0;

	for (int i = 0; i < STEP_PHASES; i++)
		if (phase == SUMMARY_ALL_PHASES || phase == i)
			steps += (double)summary->steps.phases[i].count;
	return steps;
}

/* Delays of a thread that works for a step beside the one that runs it: they may count in full. */
static void add_beside(
	struct hook_costs *costs, const struct summary *summary, size_t i, double all, int phase)
{
	const struct run_lane *lane = &summary->run->lanes[i];
	double beside = within(summary, summary->hooked[i].beside, phase);
	if (beside > 0 && lane->hook_timed)
		costs->high_ns += (double)lane->hook_calls * beside / all * (double)lane->hook_ns /
				  (double)lane->hook_timed;
}

/*
 * The profiler's own work that was recorded like the program's. Each took as long as the shortest
 * at least; not while it was preempted. Other threads get ready one after the other, and the
 * step's own waits for all, unless it is late itself (low).
 */
static void add_own(struct hook_costs *costs, const struct summary *summary,
	const struct summary_pairs *hooked, int phase)
{
	double own_ns = within(summary, hooked->own_ns, phase);
	double beside_ns = within(summary, hooked->own_beside_ns, phase);
	costs->own_ns += own_ns;
	costs->beside_ns += beside_ns;
	costs->ns += own_ns + beside_ns;
	costs->low_ns += within(summary, hooked->own_count, phase) * (double)hooked->own_min_ns;
	costs->high_ns += own_ns + beside_ns;
}

/* Of a graph of n nodes n - 1 graphs are the callback's doing; each step has one graph at least. */
static void add_splits(struct hook_costs *costs, const struct summary *summary,
	const struct summary_pairs *hooked, int phase)
{
	double nodes = within(summary, hooked->inflated, phase);
	if (nodes <= 0)
		return;
	costs->nodes += nodes;
	if (!hooked->split_count) {
		costs->known = false;
		return;
	}
	double ns = (double)hooked->split_ns / (double)hooked->split_count;
	double more = fmax(nodes - hook_costs_steps(summary, phase), 0);
	if (!costs->splits || (double)hooked->split_min_ns < costs->split_min_ns)
		costs->split_min_ns = (double)hooked->split_min_ns;
	costs->splits += (double)hooked->split_count;
	costs->split_ns += (double)hooked->split_ns;
	costs->ns += more * ns;
	costs->low_ns += more * (double)hooked->split_min_ns;
	costs->high_ns += fmax(within(summary, hooked->inflated_ns, phase), more * ns);
}

/* Do other threads work for the steps? */
static bool is_team(const struct summary *summary)
{
	double beside = 0;
	for (size_t i = 0; i < summary->run->lane_count; i++)
		beside += sum_of(summary->hooked[i].beside, STEP_PHASES);
	return beside > 0;
}

static void add_hooks(struct hook_costs *costs, const struct summary *summary, int phase)
{
	const struct run *run = summary->run;
	bool team = is_team(summary);
	for (size_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		const uint64_t *counts = summary->hooked[i].count;
		double all = sum_of(counts, STEP_PHASES + 1);
		double here = within(summary, counts, phase);
		add_beside(costs, summary, i, all, phase);
		add_own(costs, summary, &summary->hooked[i], phase);
		add_splits(costs, summary, &summary->hooked[i], phase);
		if (here <= 0)
			continue;
		bool is_whole = lane->stats || (run->selected && run->complete);
		if (is_whole && !lane->hook_calls) {
			/* No hooks: the program handed in samples of its own. */
			pair_costs_add(&costs->pairs, &run->processes[lane->process], here);
			continue;
		}
		if (!lane->hook_timed) {
			costs->known = false; /* the file ends before it says what they cost */
			continue;
		}
		double calls = (double)lane->hook_calls * here / all;
		double mean_ns = (double)lane->hook_ns / (double)lane->hook_timed;
		const struct run_process *process = &run->processes[lane->process];
		double spread_ns = process->pair_cost_ns / 2;
		double cold_ns = fmax(mean_ns - process->pair_cost_ns, 0);
		double unseen_ns = 3 * cold_ns;
		double least_ns = fmax(mean_ns - spread_ns, 0);
		costs->calls += calls;
		costs->timed += (double)lane->hook_timed;
		costs->timed_ns += (double)lane->hook_ns;
		costs->ns += calls * mean_ns;
		costs->low_ns += calls * (team ? fmin(least_ns, spread_ns) : least_ns);
		costs->high_ns += calls * (mean_ns + spread_ns + unseen_ns);
		costs->unseen_ns += calls * unseen_ns;
	}
}

static void add_all_pairs(struct hook_costs *costs, double wall_ns)
{
	struct pair_costs *pairs = &costs->pairs;
	pair_costs_place(pairs, wall_ns);
	costs->ns += pairs->ns;
	costs->low_ns += pairs->low_ns;
	costs->high_ns += pairs->high_ns;
	costs->known &= !pairs->unknown;
}

uint32_t hook_costs_threads(const struct summary *summary, int phase)
{
	const struct run *run = summary->run;
	uint32_t most = 0;

	for (uint32_t process = 0; process < run->process_count; process++) {
		uint32_t count = 0;
		for (size_t i = 0; i < run->lane_count; i++)
			count += run->lanes[i].process == process &&
				 (within(summary, summary->hooked[i].count, phase) > 0 ||
					 within(summary, summary->hooked[i].beside, phase) > 0);
		most = count > most ? count : most;
	}
	return most;
}

void hook_costs_of(
	struct hook_costs *costs, const struct summary *summary, int phase, double wall_ns)
{
	*costs = (struct hook_costs){.known = true};
	for (size_t i = 0; i < summary->run->process_count; i++)
		pair_costs_add(&costs->pairs, &summary->run->processes[i],
			within(summary, summary->pairs[i].count, phase));
	add_hooks(costs, summary, phase);
	add_all_pairs(costs, wall_ns);
}
