/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain steps: each is compared with the nearest step of its thread that was taken apart, in turns
 * the one before and the one after it, so that a growing context falls out. The shift of all these
 * differences is Hodges and Lehmann's. Single steps are compared, since noise has a long tail: the
 * mean of two has more of it than one, and would show a cost where there is none. Logarithms of
 * times lie evenly.
 *
 * Noise: a step is compared with all of its size, by tokens, so that changing batches are no noise.
 * The variance of stretches is half the mean square of the differences of neighbours (von Neumann),
 * so that a growing context is none either.
 */
#include "analysis/cost/step_differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/statistics.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/overhead.h"

/* Pairs of differences are sorted: more of them would take long. */
enum { MAX_DISTANCE = 16, MAX_DIFFERENCES = 600 };

/* Right behind the step's own sample lies that of the piece. */
static bool is_plain(const struct run *run, const struct run_step *step, uint32_t brick)
{
	if (step->lane >= run->lane_count)
		return false;
	const struct run_lane *lane = &run->lanes[step->lane];
	return step->sample + (size_t)1 < lane->sample_count &&
	       run->sites[lane->samples[step->sample + 1].site].brick == brick;
}

/* Without the time that others had its CPU; waiting for its team is part of a step. */
static double own_ns(const struct run *run, const struct run_step *step)
{
	struct run_off_times off =
		run_off_cpu_between(&run->lanes[step->lane], step->begin_ns, step->end_ns);
	return (double)(step->end_ns - step->begin_ns) - (double)off.preempted_ns;
}

/* Time of the nearest step of the same kind on one side; 0: there is none. */
static double neighbour_ns(const struct run *run, size_t at, int way, uint32_t brick)
{
	const struct run_step *step = &run->steps[at];
	for (int i = 1; i <= MAX_DISTANCE; i++) {
		size_t other = at + (size_t)(way * i);
		if (other >= run->step_count)
			break;
		const struct run_step *near = &run->steps[other];
		if (near->lane == step->lane && near->phase == step->phase &&
			near->tokens == step->tokens && !near->open && !near->outcome &&
			!is_plain(run, near, brick))
			return own_ns(run, near);
	}
	return 0;
}

/*
 * The logarithms by which neighbours are longer; [run->step_count] or NULL. The end of the list is
 * used for the times of the other steps: a cost is as long in each of them, so their median counts,
 * not what else happens to some.
 */
static double *differences(
	struct plain_steps *plain, const struct run *run, enum step_phase phase, uint32_t brick)
{
	double *list = malloc((run->step_count + 1) * sizeof(*list));
	size_t aparts = 0;
	for (size_t i = 0; list && i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->open || step->outcome || step_phase_of(step) != phase)
			continue;
		double ns = own_ns(run, step);
		if (!is_plain(run, step, brick)) {
			list[run->step_count - ++aparts] = ns;
			continue;
		}
		int way = plain->count & 1 ? 1 : -1;
		double other = neighbour_ns(run, i, way, brick);
		if (ns > 0 && other > 0)
			list[plain->count++] = log(other / ns);
	}
	if (aparts)
		plain->apart_ns =
			(double)aparts * statistics_median(list + run->step_count - aparts, aparts);
	return list;
}

/* Evenly spread over the run; how many are left. */
static size_t thin_out(double *list, size_t n)
{
	size_t kept = n < MAX_DIFFERENCES ? n : MAX_DIFFERENCES;
	for (size_t i = 0; i < kept; i++)
		list[i] = list[i * n / kept];
	return kept;
}

/* The part of a neighbour's time that it takes longer. */
static double share_of(double shift)
{
	return 1 - exp(-shift);
}

bool plain_steps_compare(struct plain_steps *plain, const struct run *run, enum step_phase phase)
{
	struct statistics_shift shift = {0, -INFINITY, INFINITY};
	uint32_t brick = run_brick_find(run, BRICK_PLAIN_NAME);
	memset(plain, 0, sizeof(*plain));
	SCOPED double *list = brick == RUN_NONE ? NULL : differences(plain, run, phase, brick);
	int error = -1;
	if (plain->count)
		error = statistics_shift_paired(&shift, list, thin_out(list, plain->count), 0.05);
	plain->share = share_of(shift.shift);
	plain->low = share_of(shift.low);
	plain->high = share_of(shift.high);
	return !error && isfinite(shift.low) && isfinite(shift.high);
}

enum { STRETCHES = 8, STEPS_LEAST = 4 }; /* of a stretch */

/* Student's, of 95 %, for some five degrees of freedom: differences of eight overlap. */
static const double STUDENT = 2.57;

struct sized_step {
	uint64_t tokens;
	size_t at; /* its place among all */
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

/* Divide each by the mean of its size; sizes that are too rare for all stretches are dropped. */
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

static double noise_of(const struct run *run, int phase, struct sized_step *list)
{
	size_t n = divide_by_size(list, gather(list, run, phase));
	double before = 0, squares = 0;

	if (n < (size_t)STRETCHES * STEPS_LEAST)
		return -1;
	for (size_t i = 0; i < STRETCHES; i++) {
		size_t from = i * n / STRETCHES, end = (i + 1) * n / STRETCHES;
		double mean = mean_of(list + from, end - from);
		squares += i ? (mean - before) * (mean - before) : 0;
		before = mean;
	}
	return STUDENT * sqrt(squares / 2 / (STRETCHES - 1));
}

double step_noise(const struct run *run, int phase)
{
	SCOPED struct sized_step *list = calloc(run->step_count + 1, sizeof(*list));
	double own = -1, most = -1;

	for (int i = 0; list && i < STEP_PHASES; i++) {
		double noise = noise_of(run, i, list);
		most = fmax(most, noise);
		own = i == phase ? noise : own;
	}
	return own >= 0 ? own : most;
}
