/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimate is what pairs and hooks cost (src/analysis/cost/hook_costs.c); times off the CPU,
 * which the kernel records (src/analysis/cost/switch_cost.c); and, on a machine that the program
 * kept busy, the recorder's CPU time spread over the CPUs (estimate) or holding up all of them
 * (high). Where threads take turns on fewer CPUs, what a delay does to their turns is in none of
 * these and may be either way: the interval is wider by what steps move by themselves
 * (src/analysis/steps/step_noise.h). Called by the report.
 */
#include "analysis/cost/distortion.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cost/helper_cost.h"
#include "analysis/cost/hook_costs.h"
#include "analysis/steps/plain_steps.h"
#include "analysis/accounts/queue_times.h"
#include "analysis/steps/step_noise.h"
#include "analysis/cost/switch_cost.h"
#include "brick/export.h"

static double wall_of(const struct summary *summary, int phase)
{
	if (!summary->run->step_count)
		return (double)summary->wall_ns;
	if (phase != SUMMARY_ALL_PHASES)
		return (double)summary->steps.phases[phase].total_ns;
	return (double)summary->steps.wall_ns;
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

static void say_pairs(struct distortion *d, const struct hook_costs *costs)
{
	char text[sizeof d->method];
	pair_costs_text(&costs->pairs, text, sizeof text);
	if (costs->pairs.count > 0)
		append(d, "%s", text);
}

static void say_splits(struct distortion *d, const struct hook_costs *costs)
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

static void say_costs(struct distortion *d, const struct hook_costs *costs, const struct run *run)
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
	bool is_said =
		cost.count >= hook_costs_steps(summary, phase); /* else it is next to nothing */
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

/*
 * How many threads take turns on fewer CPUs; 0: none do. Then a delay also moves which of them runs
 * next, and a step may be the shorter for it.
 */
static uint32_t taking_turns(const struct summary *summary, int phase)
{
	uint32_t cpus = run_usable_cpus(summary->run);
	uint32_t threads = hook_costs_threads(summary, phase);
	return cpus && threads > cpus ? threads : 0;
}

static void add_noise(struct distortion *d, const struct summary *summary, int phase)
{
	uint32_t threads = taking_turns(summary, phase);
	if (d->share < 0 || !threads)
		return;
	double noise = step_noise(summary->run, phase);
	append(d, "%" PRIu32 " threads took turns on fewer CPUs", threads);
	if (noise < 0) {
		d->share = -1, d->low = d->high = NAN;
		append(d, "too few steps to see by how much they move by themselves");
		return;
	}
	d->low = fmax(d->low - noise, -1);
	d->high = fmin(d->high + noise, 1);
	append(d, "steps move by %.1f%% by themselves, and less than that cannot be told",
		100 * noise);
}

static void estimate(struct distortion *d, const struct summary *summary, int phase)
{
	struct hook_costs costs;
	double wall_ns = wall_of(summary, phase);
	memset(d, 0, sizeof(*d));
	d->share = d->pairs_share = d->hooks_share = -1;
	d->low = d->high = NAN;
	hook_costs_of(&costs, summary, phase, wall_ns);
	bool counted = costs.pairs.count > 0 || costs.timed > 0;
	if (counted && costs.known && wall_ns > 0) {
		d->share = fmin(costs.ns / wall_ns, 1);
		d->low = fmin(costs.low_ns / wall_ns, d->share);
		d->high = fmin(costs.high_ns / wall_ns, 1);
		d->pairs_share = costs.pairs.ns / wall_ns;
		d->hooks_share = (costs.ns - costs.pairs.ns) / wall_ns;
	}
	say_costs(d, &costs, summary->run);
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
