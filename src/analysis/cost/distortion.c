/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the costs of what recording did, and, on a machine that the program kept busy, the
 * recorder's CPU time, spread over the CPUs (estimate) or holding up all of them (high). Where
 * threads take turns on fewer CPUs a delay also moves which of them runs next, and a step may be
 * the shorter for it: the interval is wider by what steps move by themselves. Where a vendor's
 * library traces a device, the interval is wider by the most that this took on a device tried.
 */
#include "analysis/cost/distortion.h"

#include <math.h>
#include <string.h>

#include "analysis/accounts/queue_times.h"
#include "analysis/cost/step_differences.h"

/* Wider than this, an interval around 0 says nothing that is of use. */
static const double USELESS = 0.1;

static double wall_of(const struct summary *summary, int phase)
{
	if (!summary->run->step_count)
		return (double)summary->wall_ns;
	if (phase != SUMMARY_ALL_PHASES)
		return (double)summary->steps.phases[phase].total_ns;
	return (double)summary->steps.wall_ns;
}

/* The recorder costs the program only what the program would have used itself. */
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
}

/* They may have held up the program; where a CPU was free they took that. */
static void add_helpers(struct distortion *d, const struct summary *summary)
{
	double wall_ns = wall_of(summary, SUMMARY_ALL_PHASES);
	struct helper_cost cost = helper_cost_of(summary->run);

	d->helpers_ns = cost.ns;
	if (cost.ns <= 0 || d->share < 0 || wall_ns <= 0)
		return;
	d->helpers = cost;
	d->high = fmin(d->high + cost.most_ns / wall_ns, 1);
}

static void add_traced(struct distortion *d, const struct summary *summary, int phase)
{
	double wall_ns = wall_of(summary, phase);

	for (int p = 0; p <= STEP_PHASES; p++)
		if (phase == p || (phase == SUMMARY_ALL_PHASES &&
					  (p < STEP_PHASES || !summary->run->step_count)))
			d->traced += (double)summary->traced[p];
	if (d->share >= 0 && wall_ns > 0)
		d->high = fmin(d->high + d->traced * TRACED_MOST_NS / wall_ns, 1);
}

/* Times off the CPU are recorded of steps that were left whole, too. */
static void add_switches(struct distortion *d, const struct summary *summary, int phase)
{
	double wall_ns = wall_of(summary, phase);
	if (wall_ns <= 0 || d->share < 0)
		return;
	d->switches = switch_cost_of(summary, phase);
	if (d->switches.count <= 0 || !d->switches.each_ns)
		return;
	d->share = fmin(d->share + d->switches.ns / wall_ns, 1);
	d->low = fmin(d->low + d->switches.low_ns / wall_ns, d->share);
	d->high = fmin(d->high + d->switches.high_ns / wall_ns, 1);
}

static uint32_t taking_turns(const struct summary *summary, int phase)
{
	uint32_t cpus = run_usable_cpus(summary->run);
	uint32_t threads = hook_costs_threads(summary, phase);
	return cpus && threads > cpus ? threads : 0;
}

static void add_noise(struct distortion *d, const struct summary *summary, int phase)
{
	if (d->share < 0)
		return;
	d->turns = taking_turns(summary, phase);
	if (!d->turns)
		return;
	d->noise = step_noise(summary->run, phase);
	if (d->noise < 0) {
		d->share = -1;
		d->low = d->high = NAN;
		return;
	}
	d->low = fmax(d->low - d->noise, -1);
	d->high = fmin(d->high + d->noise, 1);
}

/* By the costs of what recording did. */
static void estimate(struct distortion *d, const struct summary *summary, int phase)
{
	double wall_ns = wall_of(summary, phase);
	struct hook_costs *costs = &d->costs;
	*d = (struct distortion){
		.share = -1, .low = NAN, .high = NAN, .pairs_share = -1, .hooks_share = -1};
	hook_costs_of(costs, summary, phase, wall_ns);
	bool counted = costs->pairs.count > 0 || costs->timed > 0;
	if (counted && costs->known && wall_ns > 0) {
		d->share = fmin(costs->ns / wall_ns, 1);
		d->low = fmin(costs->low_ns / wall_ns, d->share);
		d->high = fmin(costs->high_ns / wall_ns, 1);
		d->pairs_share = costs->pairs.ns / wall_ns;
		d->hooks_share = (costs->ns - costs->pairs.ns) / wall_ns;
	}
	add_noise(d, summary, phase);
}

/* By the steps of one phase that were left whole. */
static bool measure(struct distortion *d, const struct summary *summary, int phase)
{
	struct plain_steps plain;
	double wall_ns = wall_of(summary, phase);
	if (wall_ns <= 0 || !plain_steps_compare(&plain, summary->run, (enum step_phase)phase))
		return false;
	double apart = fmin(plain.apart_ns / wall_ns, 1);
	double least = taking_turns(summary, phase) ? -1 : 0; /* without turns, hooks only cost */
	*d = (struct distortion){.share = apart * fmax(plain.share, 0),
		.low = apart * fmax(plain.low, least),
		.high = apart * fmax(plain.high, 0),
		.pairs_share = -1,
		.hooks_share = -1,
		.is_measured = true};
	d->phases[phase] = DISTORTION_BY_PLAIN_STEPS;
	d->plain_steps[phase] = plain.count;
	return true;
}

/* Of all phases, each by its own method; false: none is measured, or one is not known. */
static bool join_phases(struct distortion *d, const struct summary *summary)
{
	struct distortion all = {.pairs_share = -1, .hooks_share = -1}, part;
	double whole_ns = wall_of(summary, SUMMARY_ALL_PHASES);
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		double weight = wall_of(summary, phase) / whole_ns;
		if (!(weight > 0))
			continue;
		if (!measure(&part, summary, phase))
			estimate(&part, summary, phase);
		if (part.share < 0)
			return false;
		all.share += weight * part.share;
		all.low += weight * part.low;
		all.high += weight * part.high;
		all.is_measured |= part.is_measured;
		all.phases[phase] =
			part.is_measured ? DISTORTION_BY_PLAIN_STEPS : DISTORTION_BY_COSTS;
		all.plain_steps[phase] = part.plain_steps[phase];
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
	add_traced(d, summary, phase);
	d->has_commands = queue_has_commands(summary->run, -1);
	d->has_timestamps = queue_has_commands(summary->run, BRICK_SOURCE_TIMESTAMP_QUERY);
}

bool distortion_is_hidden(const struct distortion *d)
{
	return d->share >= 0 && d->low < 0 && d->high - d->low > USELESS;
}
