/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each plain step is compared with the nearest step of its thread that was taken apart, in turns
 * the one before and the one after it, so that a context that grows falls out, by their time less
 * what others had the CPU for; the shift of all these differences is Hodges and Lehmann's. One with
 * one, since noise has a long tail: the mean of two has more of it than one by itself, and a cost
 * would be seen where none is. Logarithms, which lie evenly about it. Called by the distortion.
 */
#include "analysis/steps/plain_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/statistics.h"
#include "brick/abi/overhead.h"

/* Too many differences take long: their pairs are sorted. */
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

/* Less what others had its CPU for; that it waits for its team is part of a step. */
static double own_ns(const struct run *run, const struct run_step *step)
{
	struct run_off_times off =
		run_off_cpu_between(&run->lanes[step->lane], step->begin_ns, step->end_ns);
	return (double)(step->end_ns - step->begin_ns) - (double)off.preempted_ns;
}

/* The nearest of the same kind, one way; its time, or 0. */
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
 * The logarithms by which neighbours are longer; [run->step_count] or NULL. From its end on what
 * the other steps took: a cost is as long in each, and no share of what else happens to some.
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

/* Of a neighbour's time, what it takes longer by that logarithm. */
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
