/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step is held against all of its size, by tokens, so that batches of changing sizes are no
 * noise. The variance of stretches is half the mean square of the differences of neighbours (von
 * Neumann), so that a context that grows is none either. Called by the distortion.
 */
#include "analysis/steps/step_noise.h"

#include <math.h>
#include <stdlib.h>
#include "analysis/accounts/summary.h"
#include "base/order.h"
#include "base/scope.h"

enum { STRETCHES = 8, STEPS_LEAST = 4 }; /* of a stretch */

/* Student's, of 95 %, for some five degrees of freedom: differences of eight overlap. */
static const double STUDENT = 2.57;

struct one {
	uint64_t tokens;
	size_t at; /* its place among all */
	double ns;
};

COMPARATOR(by_place, struct one, ORDER(x->at, y->at))
COMPARATOR(by_tokens, struct one,
	x->tokens != y->tokens ? ORDER(x->tokens, y->tokens) : ORDER(x->at, y->at))

static size_t gather(struct one *list, const struct run *run, int phase)
{
	size_t n = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (!step->open && !step->outcome && (int)step_phase_of(step) == phase)
			list[n++] = (struct one){
				step->tokens, i, (double)(step->end_ns - step->begin_ns)};
	}
	return n;
}

/* Of each its part of the mean of its size; sizes that are too rare for all stretches go. */
static size_t divide_by_size(struct one *list, size_t n)
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
			list[kept++] = (struct one){list[k].tokens, list[k].at, list[k].ns / mean};
	}
	qsort(list, kept, sizeof(*list), by_place);
	return kept;
}

static double mean_of(const struct one *list, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += list[i].ns;
	return sum / (double)n;
}

static double noise_of(const struct run *run, int phase, struct one *list)
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
	SCOPED struct one *list = calloc(run->step_count + 1, sizeof(*list));
	double own = -1, most = -1;

	for (int i = 0; list && i < STEP_PHASES; i++) {
		double noise = noise_of(run, i, list);
		most = fmax(most, noise);
		own = i == phase ? noise : own;
	}
	return own >= 0 ? own : most;
}
