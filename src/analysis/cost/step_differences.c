/* SPDX-License-Identifier: Apache-2.0 */
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
#include "analysis/cost/step_differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/statistics.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/overhead.h"

/* MAX_DIFFERENCES is low because all pairs of differences are sorted. MAX_DISTANCE is in steps. */
enum { MAX_DISTANCE = 16, MAX_DIFFERENCES = 600 };

/* The sample of a plain step is followed by one of the brick that stands for all of its work. */
static bool is_plain(const struct run *run, const struct run_step *step, uint32_t plain_brick)
{
	if (step->lane >= run->lane_count)
		return false;
	const struct run_lane *lane = &run->lanes[step->lane];
	return step->sample + (size_t)1 < lane->sample_count &&
	       run->sites[lane->samples[step->sample + 1].site].brick == plain_brick;
}

/* Time in which others had the CPU does not count; waiting for the thread's team does. */
static double own_ns(const struct run *run, const struct run_step *step)
{
	struct run_off_times off =
		run_off_cpu_between(&run->lanes[step->lane], step->begin_ns, step->end_ns);
	return (double)(step->end_ns - step->begin_ns) - (double)off.preempted_ns;
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
			!is_plain(run, near, plain_brick))
			return own_ns(run, near);
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
	double *list = malloc((run->step_count + 1) * sizeof(*list));
	size_t apart_count = 0;
	for (size_t i = 0; list && i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->open || step->outcome || step_phase_of(step) != phase)
			continue;
		double ns = own_ns(run, step);
		if (!is_plain(run, step, plain_brick)) {
			list[run->step_count - ++apart_count] = ns;
			continue;
		}
		int direction = plain->count & 1 ? 1 : -1;
		double other = neighbour_ns(run, i, direction, plain_brick);
		if (ns > 0 && other > 0)
			list[plain->count++] = log(other / ns);
	}
	if (apart_count)
		plain->apart_ns =
			(double)apart_count *
			statistics_median(list + run->step_count - apart_count, apart_count);
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

bool plain_steps_compare(struct plain_steps *plain, const struct run *run, enum step_phase phase)
{
	struct statistics_shift shift = {0, -INFINITY, INFINITY};
	uint32_t plain_brick = run_brick_find(run, BRICK_PLAIN_NAME);
	memset(plain, 0, sizeof(*plain));
	SCOPED double *list =
		plain_brick == RUN_NONE ? NULL : log_ratios(plain, run, phase, plain_brick);
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

COMPARATOR(by_place, struct sized_step, ORDER(x->at, y->at))
COMPARATOR(by_tokens, struct sized_step,
	x->tokens != y->tokens ? ORDER(x->tokens, y->tokens) : ORDER(x->at, y->at))

static size_t gather(struct sized_step *list, const struct run *run, int phase)
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

	qsort(list, n, sizeof(*list), by_tokens);
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
	qsort(list, kept, sizeof(*list), by_place);
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
	size_t n = divide_by_size(list, gather(list, run, phase));
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
