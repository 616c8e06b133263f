/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimate is pairs x cost of a pair + hook calls x mean cost of a call, on the threads that
 * run steps. Its interval: that of the pairs (analysis/pair_costs.h); half a pair (one reading of
 * the clock) up and down per hook call, because timing a call in place counts part of the timing;
 * where threads wait for each other, no more than that reading (low), since of the delays of all
 * only the shortest holds them up for sure. What a call takes longer in place than a pair in warm
 * caches is what its lines take to come. Three times as much again may be there (high): for the
 * lines on the way into it, which no clock inside of it sees; for those of the engine that it
 * pushes out, since each that it brings in pushes out one at most; and for calls that are led on
 * untimed (barriers of a team, what jumps lead astray). The hooks of the step's other threads,
 * whose delays hold up all at the next barrier unless they fall together (high); times off the CPU,
 * which the kernel records (analysis/switch_cost.c); and, on a machine that the program kept busy,
 * the recorder's CPU time spread over the CPUs (estimate) or holding up all of them (high).
 *
 * Nodes that were timed by the evaluation callback were computed as graphs of their own. Each took
 * as long for that as the shortest node without work at least (low), as their mean (estimate), and
 * all together no longer than the graphs (high). Called by the report.
 */
#include "analysis/distortion.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/helper_cost.h"
#include "analysis/pair_costs.h"
#include "analysis/plain_steps.h"
#include "analysis/queue_times.h"
#include "analysis/switch_cost.h"
#include "brick/export.h"

struct costs {
	struct pair_costs pairs;
	double calls, timed, timed_ns, unseen_ns;
	double own_ns, beside_ns;		      /* of the step's thread, of others */
	double nodes, splits, split_ns, split_min_ns; /* by the evaluation callback */
	double ns, low_ns, high_ns; /* of all but pairs until these are all there */
	bool known;		    /* all that was counted has a cost */
};

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

static double wall_of(const struct summary *summary, int phase)
{
	if (!summary->run->step_count)
		return (double)summary->wall_ns;
	if (phase != SUMMARY_ALL_PHASES)
		return (double)summary->steps.phases[phase].total_ns;
	return (double)summary->steps.wall_ns;
}

static double steps_of(const struct summary *summary, int phase)
{
	double steps = 0;
	for (int i = 0; i < STEP_PHASES; i++)
		if (phase == SUMMARY_ALL_PHASES || phase == i)
			steps += (double)summary->steps.phases[i].count;
	return steps;
}

/* Delays of a thread that works for a step beside the one that runs it: they may count in full. */
static void add_beside(
	struct costs *costs, const struct summary *summary, size_t i, double all, int phase)
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
static void add_own(struct costs *costs, const struct summary *summary,
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
static void add_splits(struct costs *costs, const struct summary *summary,
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
	double more = fmax(nodes - steps_of(summary, phase), 0);
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

static void add_hooks(struct costs *costs, const struct summary *summary, int phase)
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

static void add_all_pairs(struct costs *costs, double wall_ns)
{
	struct pair_costs *pairs = &costs->pairs;
	pair_costs_place(pairs, wall_ns);
	costs->ns += pairs->ns;
	costs->low_ns += pairs->low_ns;
	costs->high_ns += pairs->high_ns;
	costs->known &= !pairs->unknown;
}

static BRICK_PRINTF(2, 3) void append(struct distortion *d, const char *format, ...)
{
	size_t size = sizeof(d->method), used = strlen(d->method);
	va_list arguments;
	used += (size_t)snprintf(d->method + used, size - used, "%s", used ? "; " : "");
	if (used >= size)
		return;
	va_start(arguments, format);
	vsnprintf(d->method + used, size - used, format, arguments);
	va_end(arguments);
}

/* The recorder's part: it costs the program only what the program would have used itself. */
static void add_consumer(struct distortion *d, const struct run *run)
{
	const struct machine_use *use = &run->machine;
	double cpus = run_usable_cpus(run);
	double all_ns = ((double)run->end_ns - (double)run->start_ns) * cpus;
	double all = (double)(use->busy_ns + use->steal_ns + use->idle_ns);
	d->consumer_share = -1;
	if (all_ns <= 0 || !run->program_cpu_ns)
		return;
	d->consumer_share = (double)run->consumer_cpu_ns / all_ns;
	d->idle = all > 0 ? (double)use->idle_ns / all : 1;
	if (all <= 0 || cpus < run->cpus) /* what other CPUs did is of no use */
		d->idle = fmin(d->idle * run->cpus / cpus,
			fmax(1 - (double)run->program_cpu_ns / all_ns, 0));
	d->saturated = d->idle < 0.1;
	if (d->saturated && d->share >= 0) {
		d->share += d->consumer_share;
		d->high += d->consumer_share * cpus;
	}
	append(d, "the recorder took %.2f%% of the CPUs' time (%.0f%% was idle%s)",
		100 * d->consumer_share, 100 * d->idle,
		d->saturated ? ": counted as taken from the program" : "");
}

/* They may have held up the program; where a CPU was free they took that. */
static void add_helpers(struct distortion *d, const struct summary *summary)
{
	double wall_ns = wall_of(summary, SUMMARY_ALL_PHASES);
	struct helper_cost cost = helper_cost_of(summary->run);

	d->helpers_ns = cost.ns;
	if (cost.ns <= 0 || d->share < 0 || wall_ns <= 0)
		return;
	d->high = fmin(d->high + cost.most_ns / wall_ns, 1);
	append(d,
		"Brick's own threads inside of the program took %.3f ms of the CPUs, at most %.3f "
		"of that from it",
		cost.ns / 1e6, cost.most_ns / 1e6);
}

static void say_pairs(struct distortion *d, const struct costs *costs)
{
	char text[sizeof d->method];
	pair_costs_text(&costs->pairs, text, sizeof text);
	if (costs->pairs.count > 0)
		append(d, "%s", text);
}

static void say_splits(struct distortion *d, const struct costs *costs)
{
	if (costs->splits <= 0)
		return;
	append(d,
		"the evaluation callback had %.0f nodes computed as graphs of their own: at least "
		"%.1f us each, %.1f in the mean, by %.0f without work, and at most all that the "
		"graphs took",
		costs->nodes, costs->split_min_ns / 1e3, costs->split_ns / costs->splits / 1e3,
		costs->splits);
}

static void say_costs(struct distortion *d, const struct costs *costs, const struct run *run)
{
	say_pairs(d, costs);
	if (costs->timed > 0)
		append(d,
			"%.0f hook calls at %.1f ns, by %.0f timed in place; for the way into them "
			"and what they do to caches at most %.1f ns more each%s",
			costs->calls, costs->timed_ns / costs->timed, costs->timed,
			costs->unseen_ns / costs->calls,
			queue_has_commands(run, -1) /* only steps on CPUs can be left whole */
				? ""
				: " (--measure-distortion measures it)");
	if (costs->own_ns > 0)
		append(d, "%.3f ms looking up graphs that were built anew", costs->own_ns / 1e6);
	if (costs->beside_ns > 0)
		append(d, "%.3f ms getting other threads ready to record", costs->beside_ns / 1e6);
	if (costs->nodes > 0 && !costs->splits)
		append(d,
			"the evaluation callback splits graphs, and no node without work was there "
			"to see what that costs the engine");
	else if (!costs->known)
		append(d, "some costs were not measured");
	say_splits(d, costs);
}

/* Only hosts' time is known: a device that writes timestamps between commands takes its own for it.
 */
static void say_devices(struct distortion *d, const struct run *run)
{
	if (queue_has_commands(run, BRICK_SOURCE_TIMESTAMP_QUERY))
		append(d, "what it takes a device to write timestamps is not in it: compare with a "
			  "run without Brick");
}

/* Times off the CPU are recorded of steps that were left whole, too. */
static void add_switches(struct distortion *d, const struct summary *summary, int phase)
{
	struct switch_cost cost = switch_cost_of(summary, phase);
	double wall_ns = wall_of(summary, phase);
	bool is_said = cost.count >= steps_of(summary, phase); /* else it is next to nothing */
	if (cost.count <= 0 || wall_ns <= 0 || d->share < 0)
		return;
	if (!cost.is_known && is_said)
		append(d, "what the records of %.0f switches off the CPU took was not measured",
			cost.count);
	if (!cost.is_known)
		return;
	d->share = fmin(d->share + cost.ns / wall_ns, 1);
	d->low = fmin(d->low + cost.low_ns / wall_ns, d->share);
	d->high = fmin(d->high + cost.high_ns / wall_ns, 1);
	if (is_said)
		append(d,
			"the records of %.0f switches off the CPU took %" PRIu64
			" ns each, timed at the end",
			cost.count, summary->run->off_cpu.cost_ns);
}

static void estimate(struct distortion *d, const struct summary *summary, int phase)
{
	struct costs costs = {.known = true};
	double wall_ns = wall_of(summary, phase);
	memset(d, 0, sizeof(*d));
	d->share = d->low = d->high = d->pairs_share = d->hooks_share = -1;
	for (size_t i = 0; i < summary->run->process_count; i++)
		pair_costs_add(&costs.pairs, &summary->run->processes[i],
			within(summary, summary->pairs[i].count, phase));
	add_hooks(&costs, summary, phase);
	add_all_pairs(&costs, wall_ns);
	bool counted = costs.pairs.count > 0 || costs.timed > 0;
	if (counted && costs.known && wall_ns > 0) {
		d->share = fmin(costs.ns / wall_ns, 1);
		d->low = fmin(costs.low_ns / wall_ns, d->share);
		d->high = fmin(costs.high_ns / wall_ns, 1);
		d->pairs_share = costs.pairs.ns / wall_ns;
		d->hooks_share = (costs.ns - costs.pairs.ns) / wall_ns;
	}
	say_costs(d, &costs, summary->run);
}

/* By the steps of one phase that were left whole. */
static bool measure(struct distortion *d, const struct summary *summary, int phase)
{
	struct plain_steps plain;
	double wall_ns = wall_of(summary, phase);
	if (wall_ns <= 0 || !plain_steps_compare(&plain, summary->run, (enum step_phase)phase))
		return false;
	double apart = fmin(plain.apart_ns / wall_ns, 1);
	*d = (struct distortion){.share = apart * plain.share,
		.low = apart * plain.low,
		.high = apart * plain.high,
		.pairs_share = -1,
		.hooks_share = -1,
		.is_measured = 1};
	snprintf(d->method, sizeof(d->method),
		"%s by %zu steps left whole, against their neighbours", step_phase_name(phase),
		plain.count);
	return true;
}

/* What the phases have, each by its own method; false: none is measured, or one is not known. */
static bool join_phases(struct distortion *d, const struct summary *summary)
{
	struct distortion all = {.pairs_share = -1, .hooks_share = -1}, part;
	double whole_ns = wall_of(summary, SUMMARY_ALL_PHASES);
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		double weight = wall_of(summary, phase) / whole_ns;
		if (!(weight > 0))
			continue;
		if (!measure(&part, summary, phase)) {
			estimate(&part, summary, phase);
			snprintf(part.method, sizeof(part.method), "%s by hooks timed in place",
				step_phase_name(phase));
		}
		if (part.share < 0)
			return false;
		all.share += weight * part.share;
		all.low += weight * part.low;
		all.high += weight * part.high;
		all.is_measured |= part.is_measured;
		append(&all, "%s", part.method);
	}
	if (all.is_measured)
		*d = all;
	return all.is_measured;
}

void distortion_estimate(struct distortion *d, const struct summary *summary, int phase)
{
	if (phase == SUMMARY_ALL_PHASES ? !join_phases(d, summary) : !measure(d, summary, phase))
		estimate(d, summary, phase);
	add_switches(d, summary, phase);
	add_consumer(d, summary->run);
	add_helpers(d, summary);
	say_devices(d, summary->run);
}
