/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the costs of recording. If the CPUs had no idle time, the recorder's CPU time is added:
 * spread over the CPUs (share), or holding up the program in full (high). Where threads take turns
 * on fewer CPUs, a delay also changes which of them runs next, and a step may be shorter for it:
 * the interval becomes wider by the noise of steps. Where a vendor's library traces a device, its
 * modelled cost is added (traced_costs.h); where there is no model of it, nothing is known.
 */
#include "analysis/cost/distortion.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/queue_times.h"
#include "analysis/statistics/statistics.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/overhead.h"

/*
 * Plain steps: each is compared with the nearest step of its thread that was recorded with all its
 * bricks. The neighbour is taken from before and from after the plain step in turns, because a
 * growing context makes later steps longer, and this cancels out. The estimate of the shift is
 * Hodges and Lehmann's. Each plain step has a single neighbour: noise has a long tail, the mean of
 * two has more of that tail, and it would show a cost where there is none. Differences are between
 * logarithms of times, because these lie evenly around the shift, as the estimate assumes.
 *
 * Noise: the time of a step is divided by the mean of all steps with as many tokens, so a change of
 * batch size is not counted as noise. The variance between stretches is half the mean square of the
 * differences between neighbours (von Neumann), so a growing context is not counted either.
 */

/* Plain steps were recorded as one piece (`brick record --measure-distortion`). */
struct plain_steps {
	size_t count;		 /* plain steps with a neighbour */
	double share, low, high; /* recording's share of a neighbour's time; 95 % */
	double apart_ns; /* time of the phase's other steps, each counted as the median one */
};

enum {
	MAX_DISTANCE = 16,     /* steps between a plain step and its neighbour */
	MAX_DIFFERENCES = 600, /* few, because all pairs of differences are sorted */
};

/* The sample of a plain step is followed by one of the brick that stands for all of its work. */
static bool distortion_is_plain(
	const struct run *run, const struct run_step *step, uint32_t plain_brick)
{
	if (step->lane >= run->lane_count)
		return false;
	const struct run_lane *lane = &run->lanes[step->lane];
	return step->sample + (size_t)1 < lane->sample_count &&
	       run->sites[lane->samples[step->sample + 1].site].brick == plain_brick;
}

/*
 * The step's time without preemption; time in which it was blocked counts (waiting for its team).
 */
static double distortion_own_ns(const struct run *run, const struct run_step *step)
{
	struct run_off_times off =
		run_off_cpu_between(&run->lanes[step->lane], step->begin_ns, step->end_ns);
	return (double)(step->end_ns - step->begin_ns) - (double)off.preempted_ns;
}

/* The time of the nearest step on one side of a left step that is otherwise alike; 0: none. */
static double neighbour_of_left_ns(
	const struct run *run, const struct run_left_step *left, int direction)
{
	size_t at = BISECT(i, 0, run->step_count, run->steps[i].begin_ns < left->begin_ns);

	at -= direction < 0;
	for (int i = 0; i < MAX_DISTANCE && at < run->step_count; i++, at += (size_t)direction) {
		const struct run_step *near = &run->steps[at];
		if (near->lane == left->lane && near->phase == left->phase &&
			near->tokens == left->tokens && !near->open && !near->outcome)
			return distortion_own_ns(run, near);
	}
	return 0;
}

/* The time of the nearest step on one side that is not plain but otherwise alike; 0: none. */
static double neighbour_ns(const struct run *run, size_t at, int direction, uint32_t plain_brick)
{
	const struct run_step *step = &run->steps[at];
	for (int i = 1; i <= MAX_DISTANCE; i++) {
		size_t other = at + (size_t)(direction * i);
		if (other >= run->step_count)
			break;
		const struct run_step *near = &run->steps[other];
		if (near->lane == step->lane && near->phase == step->phase &&
			near->tokens == step->tokens && !near->open && !near->outcome &&
			!distortion_is_plain(run, near, plain_brick))
			return distortion_own_ns(run, near);
	}
	return 0;
}

/*
 * Lists log(neighbour / plain step) from the front, plain->count of them; NULL: no memory. The
 * other steps' times fill the same list from its end. Their total is their number times their
 * median, because recording costs the same in each of them and a few may be long for other reasons.
 */
static double *log_ratios(struct plain_steps *plain, const struct run *run, enum step_phase phase,
	uint32_t plain_brick)
{
	size_t room = run->step_count + run->left_step_count;
	double *list = malloc((room + 1) * sizeof(*list));
	size_t apart_count = 0;
	for (size_t i = 0; list && i < run->left_step_count; i++) {
		const struct run_left_step *left = &run->left_steps[i];
		if ((enum step_phase)left->phase != phase)
			continue;
		double ns = (double)(left->end_ns - left->begin_ns) - (double)left->preempted_ns;
		double other = neighbour_of_left_ns(run, left, plain->count & 1 ? 1 : -1);
		if (ns > 0 && other > 0)
			list[plain->count++] = log(other / ns);
	}
	for (size_t i = 0; list && i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->open || step->outcome || step_phase_of(step) != phase)
			continue;
		double ns = distortion_own_ns(run, step);
		if (!distortion_is_plain(run, step, plain_brick)) {
			list[room - ++apart_count] = ns;
			continue;
		}
		int direction = plain->count & 1 ? 1 : -1;
		double other = neighbour_ns(run, i, direction, plain_brick);
		if (ns > 0 && other > 0)
			list[plain->count++] = log(other / ns);
	}
	if (apart_count)
		plain->apart_ns = (double)apart_count *
				  statistics_median(list + room - apart_count, apart_count);
	return list;
}

/* Keeps differences from evenly spread places of the run; returns how many. */
static size_t thin_out(double *list, size_t n)
{
	size_t kept = n < MAX_DIFFERENCES ? n : MAX_DIFFERENCES;
	for (size_t i = 0; i < kept; i++)
		list[i] = list[i * n / kept];
	return kept;
}

/* The cost of recording as a share of the neighbour's time. */
static double recording_share(double shift)
{
	return 1 - exp(-shift);
}

/* Fills in one phase. False: its steps are too few for an interval, or memory is short. */
static bool plain_steps_compare(
	struct plain_steps *plain, const struct run *run, enum step_phase phase)
{
	struct statistics_shift shift = {0, -INFINITY, INFINITY};
	uint32_t plain_brick = run_brick_find(run, BRICK_PLAIN_NAME);
	memset(plain, 0, sizeof(*plain));
	SCOPED double *list = plain_brick == RUN_NONE && !run->left_step_count
				      ? NULL
				      : log_ratios(plain, run, phase, plain_brick);
	int error = -1;
	if (plain->count)
		error = statistics_shift_paired(&shift, list, thin_out(list, plain->count), 0.05);
	plain->share = recording_share(shift.shift);
	plain->low = recording_share(shift.low);
	plain->high = recording_share(shift.high);
	return !error && isfinite(shift.low) && isfinite(shift.high);
}

enum { STRETCHES = 8, STRETCH_STEPS_MIN = 4 };

/* Student's t for 95 %: eight stretches leave some five degrees of freedom, as pairs overlap. */
static const double STUDENT_T = 2.57;

struct sized_step {
	uint64_t tokens;
	size_t at; /* index in run->steps */
	double ns;
};

COMPARATOR(distortion_by_place, struct sized_step, ORDER(x->at, y->at))
COMPARATOR(distortion_by_tokens, struct sized_step,
	x->tokens != y->tokens ? ORDER(x->tokens, y->tokens) : ORDER(x->at, y->at))

static size_t distortion_gather(struct sized_step *list, const struct run *run, int phase)
{
	size_t n = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (!step->open && !step->outcome && (int)step_phase_of(step) == phase)
			list[n++] = (struct sized_step){
				step->tokens, i, (double)(step->end_ns - step->begin_ns)};
	}
	return n;
}

/* Divides each time by the mean for its size; drops sizes with fewer steps than stretches. */
static size_t divide_by_size(struct sized_step *list, size_t n)
{
	size_t kept = 0;

	qsort(list, n, sizeof(*list), distortion_by_tokens);
	for (size_t i = 0, end; i < n; i = end) {
		double sum = 0;
		for (end = i; end < n && list[end].tokens == list[i].tokens; end++)
			sum += list[end].ns;
		if (end - i < STRETCHES || sum <= 0)
			continue;
		double mean = sum / (double)(end - i);
		for (size_t k = i; k < end; k++)
			list[kept++] =
				(struct sized_step){list[k].tokens, list[k].at, list[k].ns / mean};
	}
	qsort(list, kept, sizeof(*list), distortion_by_place);
	return kept;
}

static double mean_of(const struct sized_step *list, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += list[i].ns;
	return sum / (double)n;
}

static double phase_noise(const struct run *run, int phase, struct sized_step *list)
{
	size_t n = divide_by_size(list, distortion_gather(list, run, phase));
	double before = 0, squares = 0;

	if (n < (size_t)STRETCHES * STRETCH_STEPS_MIN)
		return -1;
	for (size_t i = 0; i < STRETCHES; i++) {
		size_t from = i * n / STRETCHES, end = (i + 1) * n / STRETCHES;
		double mean = mean_of(list + from, end - from);
		squares += i ? (mean - before) * (mean - before) : 0;
		before = mean;
	}
	return STUDENT_T * sqrt(squares / 2 / (STRETCHES - 1));
}

double step_noise(const struct run *run, int phase)
{
	SCOPED struct sized_step *list = calloc(run->step_count + 1, sizeof(*list));
	double own = -1, most = -1;

	for (int i = 0; list && i < STEP_PHASES; i++) {
		double noise = phase_noise(run, i, list);
		most = fmax(most, noise);
		own = i == phase ? noise : own;
	}
	return own >= 0 ? own : most;
}

/* Width of an interval around 0, as a share of the wall time, from which it is of no use. */
static const double USELESS = 0.1;

static double wall_of(const struct summary *summary, int phase)
{
	if (!summary->run->step_count)
		return (double)summary->wall_ns;
	if (phase != SUMMARY_ALL_PHASES)
		return (double)summary->steps.phases[phase].total_ns;
	return (double)summary->steps.wall_ns;
}

/* The recorder costs the program only time that the program would have used itself. */
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
	if (all <= 0 ||
		cpus < run->cpus) /* idle CPUs that the program may not use do not help it */
		d->idle = fmin(d->idle * run->cpus / cpus,
			fmax(1 - (double)run->program_cpu_ns / all_ns, 0));
	d->saturated = d->idle < 0.1;
	if (d->saturated && d->share >= 0) {
		d->share += d->consumer_share;
		d->high += d->consumer_share * cpus;
	}
}

/* Brick's threads in the program may have held it up, unless a CPU was free for them: high only. */
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

/*
 * A device's work hides costs of hooks, too: at least so much of them is sure as of what tracing
 * costs. Launches may wait for a flush in full, beyond the CPU time that it takes: high only.
 */
static void add_traced(struct distortion *d, const struct summary *summary, int phase)
{
	const struct traced_costs *costs = summary->traced;
	double wall_ns = wall_of(summary, phase), all_ns = wall_of(summary, SUMMARY_ALL_PHASES);
	struct traced_cost *traced = &d->traced;

	for (int p = 0; p <= STEP_PHASES; p++) {
		const struct traced_cost *of = &costs->phases[p];
		if (phase != p && (phase != SUMMARY_ALL_PHASES ||
					  (p == STEP_PHASES && summary->run->step_count)))
			continue;
		traced->commands += of->commands;
		traced->spent_ns += of->spent_ns;
		traced->ns += of->ns;
		traced->low_ns += of->low_ns;
		traced->high_ns += of->high_ns;
	}
	d->tracing = costs;
	if (traced->commands <= 0 || d->share < 0 || wall_ns <= 0)
		return;
	if (!costs->known) {
		d->share = -1;
		d->low = d->high = NAN;
		return;
	}
	double shown = traced->spent_ns > 0 ? fmin(traced->ns / traced->spent_ns, 1) : 1;
	double flush_ns = fmax(costs->flush_ns - d->helpers_ns, 0) * wall_ns / all_ns;
	d->share = fmin(d->share + traced->ns / wall_ns, 1);
	d->low = fmin((d->low > 0 ? d->low * shown : d->low) + traced->low_ns / wall_ns, d->share);
	d->high = fmin(d->high + (traced->high_ns + flush_ns) / wall_ns, 1);
}

/* Adds the cost of switches, which are recorded in steps that were left whole, too. */
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
	uint32_t threads = hook_costs_threads(summary, phase, cpus);
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

/* Estimates the distortion by the costs of recording. */
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

/* Measures the distortion by the steps of one phase that were left whole. */
static bool distortion_measure(struct distortion *d, const struct summary *summary, int phase)
{
	struct plain_steps plain;
	double wall_ns = wall_of(summary, phase);
	if (wall_ns <= 0 || !plain_steps_compare(&plain, summary->run, (enum step_phase)phase))
		return false;
	double apart = fmin(plain.apart_ns / wall_ns, 1);
	double least =
		taking_turns(summary, phase) ? -1 : 0; /* without turns, recording cannot help */
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

/* The part of the steps' time in which the steps have bricks. */
static double with_bricks(const struct summary *summary, int phase)
{
	const struct run *run = summary->run;
	double left_ns = 0, wall_ns = wall_of(summary, phase);

	for (size_t i = 0; i < run->left_step_count; i++) {
		const struct run_left_step *left = &run->left_steps[i];
		if (phase == SUMMARY_ALL_PHASES || (int)left->phase == phase)
			left_ns += (double)(left->end_ns - left->begin_ns);
	}
	return left_ns > 0 && wall_ns > 0 ? wall_ns / (wall_ns + left_ns) : 1;
}

/* Joins all phases, each by its own method; false: none is measured, or one is not known. */
static bool join_phases(struct distortion *d, const struct summary *summary)
{
	struct distortion all = {.pairs_share = -1, .hooks_share = -1}, part;
	double whole_ns = wall_of(summary, SUMMARY_ALL_PHASES);
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		double wall_ns = wall_of(summary, phase);
		if (wall_ns <= 0 || whole_ns <= 0)
			continue;
		double weight = wall_ns / whole_ns;
		if (!distortion_measure(&part, summary, phase))
			estimate(&part, summary, phase);
		if (part.share < 0)
			return false;
		all.share += weight * part.share;
		all.low += weight * part.low;
		all.high += weight * part.high;
		all.is_measured |= part.is_measured;
		if (part.turns && part.noise >= all.noise) {
			all.turns = part.turns;
			all.noise = part.noise;
		}
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
	if (phase == SUMMARY_ALL_PHASES ? !join_phases(d, summary)
					: !distortion_measure(d, summary, phase))
		estimate(d, summary, phase);
	double part = with_bricks(summary, phase);
	if (d->share >= 0) {
		d->share *= part;
		d->low *= part;
		d->high *= part;
		d->pairs_share *= part;
		d->hooks_share *= part;
	}
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
