/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts come from the summary, by phase; the costs of one come from the run. Where threads wait
 * for each other only the shortest of their delays is sure to hold up the step (low), and all of
 * them may (high).
 */
#include "analysis/cost/recording_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/walk/step_index.h"

/* The cost of a call or a split that no clock sees may be so many times the cost that one sees. */
static const double UNSEEN = 3;

/* Older recordings tell less about the upper end. */
static void add_pairs_high(
	struct pair_costs *costs, const struct run_process *process, double pairs)
{
	double ns = process->pair_cost_ns, high_ns = process->pair_cost_high_ns;
	double streamed_ns = process->pair_cost_streamed_ns, cold_ns = process->pair_cost_cold_ns;
	if (!(process->pair_stream_ns > 0)) {
		costs->high_ns += pairs * (high_ns > 0 ? high_ns : ns);
		return;
	}
	costs->high_ns += pairs * 2 * ns;
	costs->stream_ns = fmax(costs->stream_ns, process->pair_stream_ns);
	costs->slope = fmax(costs->slope, streamed_ns / process->pair_stream_ns);
	costs->cold_ns = fmax(costs->cold_ns, cold_ns);
	costs->streamed_ns += pairs * fmax(streamed_ns - ns, 0);
	costs->most_ns += cold_ns > 0 ? pairs * fmax(cold_ns - 2 * ns, 0) : INFINITY;
}

void pair_costs_add(struct pair_costs *costs, const struct run_process *process, double pairs)
{
	double ns = process->pair_cost_ns, low_ns = process->pair_cost_low_ns;
	if (pairs <= 0)
		return;
	if (!(ns > 0)) {
		costs->unknown = true;
		return;
	}
	costs->count += pairs;
	costs->ns += pairs * ns;
	costs->low_ns += pairs * (low_ns > 0 ? low_ns : ns);
	add_pairs_high(costs, process, pairs);
}

void pair_costs_place(struct pair_costs *costs, double time_ns)
{
	if (!(costs->slope > 0) || !(time_ns > 0))
		return;
	costs->between_ns = time_ns / costs->count;
	if (costs->between_ns >= costs->stream_ns)
		costs->ns += costs->streamed_ns;
	costs->high_ns += fmin(costs->slope * time_ns, costs->most_ns);
}

static double sum_of(const uint64_t *counts, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)counts[i];
	return sum;
}

/* The count of the phase that is asked for; the last of the counts lies in no step. */
static double within(const struct summary *summary, const uint64_t *counts, int phase)
{
	if (!summary->run->step_count)
		return (double)counts[STEP_PHASES];
	return phase != SUMMARY_ALL_PHASES ? (double)counts[phase] : sum_of(counts, STEP_PHASES);
}

static double costs_steps_of(const struct summary *summary, int phase)
{
	double steps = 0;

	for (int i = 0; i < STEP_PHASES; i++)
		if (phase == SUMMARY_ALL_PHASES || phase == i)
			steps += (double)summary->steps.phases[i].count;
	return steps;
}

/* True if a lane works for steps that other threads run. */
static bool works_beside(const struct summary *summary, size_t lane)
{
	return sum_of(summary->hooked[lane].beside, STEP_PHASES) > 0;
}

static bool is_team(const struct summary *summary)
{
	for (size_t i = 0; i < summary->run->lane_count; i++)
		if (works_beside(summary, i))
			return true;
	return false;
}

/*
 * The profiler's own work between hooks was recorded like the program's. Each piece took at least
 * as long as the shortest. Other threads get ready one after the other, and the step's own waits
 * for all of them, unless it is late itself (low).
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

/*
 * The evaluation callback has each node that it times computed as a graph of its own: of n nodes
 * n - 1 graphs are its doing, and each step has one graph at least. Each costs as long as the
 * shortest node without work at least (low), and as their mean (estimate). Three times as much
 * again may be there for what it displaces in caches, as with hooks, but all together no more than
 * the graphs took (high). Digests are taken within the graphs, and nothing says how long that
 * takes. With several threads that is not known: these are started or woken for each graph, but not
 * for one without work. PyTorch's observers are callbacks, too: they split nothing, but no
 * clock sees the slower path that PyTorch takes for an observed operator.
 */
static void add_splits(struct hook_costs *costs, const struct summary *summary,
	const struct summary_pairs *hooked, int phase)
{
	double nodes = within(summary, hooked->inflated, phase);
	if (nodes <= 0)
		return;
	if (run_note_find(summary->run, "torch.version")) {
		costs->has_observers = true;
		costs->known = false;
		return;
	}
	const char *threads = run_note_find(summary->run, "callback.threads");
	costs->nodes += nodes;
	costs->has_team |= threads && strcmp(threads, "1") != 0;
	if (!hooked->split_count || costs->has_team) {
		costs->known = false;
		return;
	}
	double ns = (double)hooked->split_ns / (double)hooked->split_count;
	double more = fmax(nodes - costs_steps_of(summary, phase), 0);
	if (!costs->splits || (double)hooked->split_min_ns < costs->split_min_ns)
		costs->split_min_ns = (double)hooked->split_min_ns;
	costs->splits += (double)hooked->split_count;
	costs->split_ns += (double)hooked->split_ns;
	costs->ns += more * ns;
	costs->low_ns += more * (double)hooked->split_min_ns;
	double most_ns = fmax(within(summary, hooked->inflated_ns, phase),
		within(summary, hooked->inflated_nodes_ns, phase) + more * ns);
	costs->has_digests = summary->run->digest_count > 0;
	costs->high_ns += costs->has_digests ? most_ns : fmin(most_ns, more * ns * (1 + UNSEEN));
}

/*
 * Adds the calls of hooks on the step's thread. Half a pair (one reading of the clock) is added and
 * taken off, since timing a call in place counts a part of the timing. A call takes longer in place
 * than a pair in warm caches, as its cache lines must come. Three times as much again may be there
 * (high): for the lines on the way into it, which no clock inside of it sees; for the engine's
 * lines that it pushes out, one for each that it brings in; and for calls that are led on untimed.
 */
static void costs_add_calls(struct hook_costs *costs, const struct run_lane *lane, double calls,
	double pair_ns, bool team)
{
	double mean_ns = (double)lane->hook_ns / (double)lane->hook_timed;
	double spread_ns = pair_ns / 2, unseen_ns = UNSEEN * fmax(mean_ns - pair_ns, 0);
	double least_ns = fmax(mean_ns - spread_ns, 0);
	costs->calls += calls;
	costs->timed += (double)lane->hook_timed;
	costs->timed_ns += (double)lane->hook_ns;
	costs->unseen_ns += calls * unseen_ns;
	costs->ns += calls * mean_ns;
	costs->low_ns += calls * (team ? fmin(least_ns, spread_ns) : least_ns);
	costs->high_ns += calls * (mean_ns + spread_ns + unseen_ns);
}

static void costs_add_lane(
	struct hook_costs *costs, const struct summary *summary, size_t i, int phase, bool team)
{
	const struct run *run = summary->run;
	const struct run_lane *lane = &run->lanes[i];
	const struct run_process *process = &run->processes[lane->process];
	const struct summary_pairs *hooked = &summary->hooked[i];
	double all = sum_of(hooked->count, STEP_PHASES + 1);
	double here = within(summary, hooked->count, phase);
	double beside = within(summary, hooked->beside, phase);
	bool is_whole = lane->stats || (run->selected && run->complete);

	if (beside > 0 && lane->hook_timed) /* its delays may hold up the step in full */
		costs->high_ns += (double)lane->hook_calls * beside / all * (double)lane->hook_ns /
				  (double)lane->hook_timed;
	add_own(costs, summary, hooked, phase);
	add_splits(costs, summary, hooked, phase);
	if (here <= 0)
		return;
	if (is_whole && !lane->hook_calls) /* the program handed in samples of its own */
		pair_costs_add(&costs->pairs, process, here);
	else if (!lane->hook_timed) /* the file ends before it tells their cost */
		costs->known = false;
	else
		costs_add_calls(costs, lane, (double)lane->hook_calls * here / all,
			process->pair_cost_ns, team);
}

void hook_costs_of(
	struct hook_costs *costs, const struct summary *summary, int phase, double wall_ns)
{
	struct pair_costs *pairs = &costs->pairs;
	bool team = is_team(summary);

	*costs = (struct hook_costs){.known = true};
	for (size_t i = 0; i < summary->run->process_count; i++)
		pair_costs_add(pairs, &summary->run->processes[i],
			within(summary, summary->pairs[i].count, phase));
	for (size_t i = 0; i < summary->run->lane_count; i++)
		costs_add_lane(costs, summary, i, phase, team);
	pair_costs_place(pairs, wall_ns);
	costs->ns += pairs->ns;
	costs->low_ns += pairs->low_ns;
	costs->high_ns += pairs->high_ns;
	costs->known &= !pairs->unknown;
}

/* In the process that has most of them, one after the other included. */
static uint32_t hooked_threads(const struct summary *summary, int phase)
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

uint32_t hook_costs_threads(const struct summary *summary, int phase, uint32_t enough)
{
	const struct run *run = summary->run;
	uint32_t most = hooked_threads(summary, phase), at_once = 0;

	if (most <= enough || !run->step_count)
		return most;
	for (size_t i = 0; i < run->step_count && at_once < most; i++) {
		const struct run_step *step = &run->steps[i];
		if (phase != SUMMARY_ALL_PHASES && (int)step_phase_of(step) != phase)
			continue;
		uint32_t threads = 1 + step_index_threads_beside(run, step);
		at_once = threads > at_once ? threads : at_once;
	}
	return at_once < most ? at_once : most;
}

/* Times off the CPU of one lane in all steps that it works for. */
static double off_count(const struct summary *summary, size_t at, int phase)
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
			count += (double)(run_off_cpu_from(lane, step->end_ns) -
					  run_off_cpu_from(lane, step->begin_ns));
	}
	return count;
}

/* How many times off the CPU each one in the file stands for: two switches are one of them. */
static double off_each(const struct run *run)
{
	double there = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		there += (double)run->lanes[i].off_cpu_count;
	return there > 0 ? 1 + (double)run->off_cpu.lost / 2 / there : 1;
}

/*
 * One after the other, switches hold up a step by all they take (high); spread over the CPUs, by as
 * much as each CPU takes (estimate). Where threads wait for each other, half of what the thread
 * with the fewest of them takes is sure (low): the time to get its CPU.
 */
struct switch_cost switch_cost_of(const struct summary *summary, int phase)
{
	const struct run *run = summary->run;
	double fewest = INFINITY, threads = 0, each = off_each(run);
	struct switch_cost cost = {.each_ns = run->off_cpu.cost_ns};

	for (size_t i = 0; i < run->lane_count; i++) {
		double count = each * off_count(summary, i, phase);
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
	cost.is_many = cost.count >= costs_steps_of(summary, phase);
	cost.low_ns = fewest * (double)run->off_cpu.cost_low_ns / 2;
	cost.ns = cost.count * (double)run->off_cpu.cost_ns / at_once;
	cost.high_ns = cost.count * (double)run->off_cpu.cost_high_ns;
	return cost;
}

static const char digits[] = "0123456789";

static bool same_thread(const struct run_note *a, const struct run_note *b)
{
	return a->process == b->process && !strcmp(a->key, b->key) &&
	       !strncmp(a->value, b->value, strcspn(a->value, digits));
}

/* The newest note of each thread has all of its time. */
static double helpers_ns(const struct run *run)
{
	double sum_ns = 0;
	for (size_t i = 0; i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		bool is_last = !strcmp(note->key, "helper.cpu");
		for (size_t j = i + 1; j < run->note_count && is_last; j++)
			is_last = !same_thread(note, &run->notes[j]);
		if (is_last)
			sum_ns += strtod(note->value + strcspn(note->value, digits), NULL);
	}
	return sum_ns;
}

/* A thread holds up others only while all CPUs are busy: for no more than all use of them / CPUs.
 */
struct helper_cost helper_cost_of(const struct run *run)
{
	double used_ns = fmax((double)run->machine.busy_ns + (double)run->machine.steal_ns,
		(double)run->program_cpu_ns + (double)run->consumer_cpu_ns);
	double ns = helpers_ns(run), most_ns = ns;

	if (run->cpus && used_ns > 0)
		most_ns = fmin(ns, used_ns / run->cpus);
	return (struct helper_cost){ns, most_ns};
}
