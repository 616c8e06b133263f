/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One family after the other: shifts of logarithms with their intervals, one test for all. Where
 * blocks are stretches of one run, what neighbours still have in common makes intervals wider and t
 * smaller, as a series of first order would: by sqrt((1 + r) / (1 - r)).
 */
#include "analysis/compare/compare_effect.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/permutation.h"
#include "analysis/accounts/statistics.h"
#include "base/order.h"
#include "base/scope.h"

static const double alpha = 0.05;			       /* of intervals */
static const double z_interval = 1.959964, z_power = 0.841621; /* of 95 %; of 80 % */

void compare_effects_family(
	struct compare_effects *effects, size_t in_a, size_t in_b, enum compare_unit unit)
{
	/* Stretches of different phases have nothing to do with each other. */
	for (size_t i = 0; i < effects->families.count && unit == COMPARE_RECORDINGS; i++) {
		const struct compare_family *f = &effects->families.items[i];
		effects->current = i;
		if (f->unit == unit && f->in_a == in_a && f->in_b == in_b)
			return;
	}
	effects->current = effects->families.count;
	effects->failed |=
		array_push(&effects->families,
			(struct compare_family){.in_a = in_a, .in_b = in_b, .unit = unit}) != 0;
}

int compare_effects_add(struct compare_effects *effects, size_t row, const double *values)
{
	if (effects->failed)
		return -ENOMEM;
	struct compare_family *f = &effects->families.items[effects->current];
	size_t n = f->in_a + f->in_b;

	for (size_t i = 0; i < n; i++)
		if (!(values[i] > 0))
			return 0;
	if (array_push(&f->rows, row) || array_reserve(&f->values, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		f->values.items[f->values.count++] = log(values[i]);
	return 0;
}

/* Pairs become differences, in place of A's values. */
static void pair_up(struct compare_family *f)
{
	size_t n = f->in_a;

	for (size_t r = 0; r < f->rows.count; r++)
		for (size_t i = 0; i < n; i++) {
			const double *from = f->values.items + 2 * n * r;
			f->values.items[n * r + i] = from[n + i] - from[i];
		}
	f->values.count = n * f->rows.count;
}

static double widening(const double *differences, size_t n)
{
	/* Less its bias, and a standard deviation beyond: it is known from few. */
	double r = statistics_autocorrelation(differences, n) + 1 / (double)n + 1 / sqrt((double)n);

	r = r < 0 ? 0 : r > 0.9 ? 0.9 : r;
	return sqrt((1 + r) / (1 - r));
}

static void set_effect(struct compare_row *row, const struct statistics_shift *shift, double widen)
{
	row->effect = expm1(shift->shift);
	row->low = isinf(shift->low) ? shift->low
				     : expm1(shift->shift - widen * (shift->shift - shift->low));
	row->high = expm1(shift->shift + widen * (shift->high - shift->shift));
}

static double squares(const double *values, size_t n)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

/* Of Student's t, by which is tested: one odd run makes it much larger than the interval shows.
 * in_b is 0 where the values are of pairs. */
static double standard_error(const double *values, size_t in_a, size_t in_b)
{
	double a = (double)in_a, b = (double)in_b;

	if (!in_b)
		return in_a > 1 ? sqrt(squares(values, in_a) / (a - 1) / a) : INFINITY;
	double sum = squares(values, in_a) + squares(values + in_a, in_b);
	return a + b > 2 ? sqrt(sum / (a + b - 2) * (1 / a + 1 / b)) : INFINITY;
}

/* The least effect whose interval would be beyond the threshold, and whose test would find it. */
static void set_detectable(
	struct compare_row *row, double critical_t, double threshold, double error)
{
	double below = log1p(row->effect) - log1p(row->low);
	double above = log1p(row->high) - log1p(row->effect);
	double half = above > below ? above : below, deviation = half / z_interval;
	double seen = threshold + (z_interval + z_power) * deviation;
	double tested = (critical_t + z_power) * (error > deviation ? error : deviation);

	row->detectable = isfinite(half) ? expm1(seen > tested ? seen : tested) : INFINITY;
}

static int estimate(const struct compare_family *f, struct compare_row *rows, double *widen)
{
	bool paired = f->unit == COMPARE_STRETCHES;
	size_t n = paired ? f->in_a : f->in_a + f->in_b;
	int rc = 0;

	for (size_t r = 0; r < f->rows.count && rc == 0; r++) {
		const double *values = f->values.items + n * r;
		struct statistics_shift shift;
		widen[r] = paired ? widening(values, n) : 1;
		rc = paired ? statistics_shift_paired(&shift, values, n, alpha)
			    : statistics_shift(
				      &shift, values, f->in_a, values + f->in_a, f->in_b, alpha);
		if (rc == 0)
			set_effect(&rows[f->rows.items[r]], &shift, widen[r]);
	}
	return rc;
}

static bool can_tell(const struct compare_family *f)
{
	return f->rows.count &&
	       (f->unit == COMPARE_STRETCHES || compare_recordings_suffice(f->in_a, f->in_b));
}

static int test(struct compare_family *f, struct compare_row *rows, double threshold, double tests)
{
	bool paired = f->unit == COMPARE_STRETCHES;
	double critical_t;
	SCOPED double *p = calloc(f->rows.count, sizeof(*p));
	SCOPED double *widen = calloc(f->rows.count, sizeof(*widen));
	const struct permutation_family family = {f->values.items, f->rows.count,
		paired ? f->in_a : f->in_a + f->in_b, f->in_a, paired, widen};
	int rc = p && widen ? 0 : -ENOMEM;

	if (rc == 0 && paired)
		pair_up(f);
	if (rc == 0)
		rc = estimate(f, rows, widen);
	if (rc == 0 && can_tell(f))
		rc = permutation_test(&family, compare_family_alpha / tests, p, &critical_t);
	for (size_t r = 0; r < f->rows.count && rc == 0 && can_tell(f); r++) {
		struct compare_row *row = &rows[f->rows.items[r]];
		row->p = p[r] * tests < 1 ? p[r] * tests : 1;
		set_detectable(row, critical_t, threshold,
			widen[r] * standard_error(f->values.items + family.blocks * r, f->in_a,
					   paired ? 0 : f->in_b));
	}
	return rc;
}

int compare_effects_finish(
	struct compare_effects *effects, struct compare_row *rows, double threshold)
{
	double tests = 0;
	int rc = effects->failed ? -ENOMEM : 0;

	for (size_t i = 0; i < effects->families.count; i++)
		tests += can_tell(&effects->families.items[i]);
	for (size_t i = 0; i < effects->families.count && rc == 0; i++)
		if (effects->families.items[i].rows.count)
			rc = test(&effects->families.items[i], rows, threshold, tests);
	return rc;
}

void compare_effects_fini(struct compare_effects *effects)
{
	for (size_t i = 0; i < effects->families.count; i++) {
		array_fini(&effects->families.items[i].rows);
		array_fini(&effects->families.items[i].values);
	}
	array_fini(&effects->families);
}

struct pair {
	double ratio;
	size_t a, b; /* blocks */
};

COMPARATOR(compare_pairs, struct pair, ORDER(x->ratio, y->ratio))

/*
 * The pairs of blocks around the estimate, which is a median of all pairs: the middle half. What
 * parts differ by in them adds up to what steps differ by, near the estimate.
 */
static struct pair *middle_pairs(const struct compare_phase_blocks *b, size_t *count)
{
	size_t n = 0, skip;
	struct pair *pairs = calloc(b->in_a * b->in_b, sizeof(*pairs));

	for (size_t i = 0; i < b->in_a && pairs; i++)
		for (size_t k = 0; k < b->in_b; k++)
			if (b->unit == COMPARE_RECORDINGS || i == k)
				pairs[n++] = (struct pair){
					b->time[b->in_a + k] / b->time[i], i, b->in_a + k};
	if (!pairs)
		return NULL;
	qsort(pairs, n, sizeof(*pairs), compare_pairs);
	skip = n / 4;
	*count = n - 2 * skip;
	memmove(pairs, pairs + skip, *count * sizeof(*pairs));
	return pairs;
}

static double points_of(const struct compare_phase_blocks *b, size_t names, size_t column,
	const struct pair *pairs, size_t count)
{
	double points = 0;

	for (size_t i = 0; i < count; i++)
		points += (b->columns[pairs[i].b * names + column] -
				  b->columns[pairs[i].a * names + column]) /
			  b->time[pairs[i].a] / (double)count;
	return points;
}

int compare_effects_points(struct compare_row *rows, size_t row_count, double effect, int phase,
	const struct compare_blocks *blocks, const struct compare_names *names, double *residual)
{
	const struct compare_phase_blocks *b = &blocks->phases[phase];
	size_t count, column = 0;
	SCOPED struct pair *pairs = middle_pairs(b, &count);

	if (!pairs)
		return -ENOMEM;
	*residual = effect;
	for (size_t i = 0; i < row_count; i++) {
		struct compare_row *row = &rows[i];
		if (row->phase != phase || !row->name)
			continue;
		while (names->list[column].name != row->name)
			column++;
		if (row->kind == COMPARE_KERNEL)
			continue;
		row->points = points_of(b, blocks->names, column, pairs, count);
		*residual -= row->points;
	}
	return 0;
}

static enum compare_verdict judge_values(
	const struct compare_row *row, double threshold, double alpha_of_test)
{
	if (row->low >= -threshold && row->high <= threshold)
		return COMPARE_SAME;
	if (!(row->p <= alpha_of_test))
		return COMPARE_UNSURE;
	return row->low > threshold	? COMPARE_SLOWER
	       : row->high < -threshold ? COMPARE_FASTER
					: COMPARE_UNSURE;
}

int compare_effects_values(struct compare_row *row, const double *a, size_t in_a, const double *b,
	size_t in_b, double threshold, double alpha_of_test)
{
	size_t n = in_a + in_b;
	SCOPED double *logs = calloc(n, sizeof(*logs));
	double critical_t = INFINITY;
	const struct permutation_family one = {logs, 1, n, in_a, false, NULL};
	struct statistics_shift shift;

	*row = (struct compare_row){.measure = COMPARE_TIME, .phase = -1, .points = NAN, .p = NAN};
	if (!logs)
		return -ENOMEM;
	memcpy(logs, a, in_a * sizeof(*logs));
	memcpy(logs + in_a, b, in_b * sizeof(*logs));
	row->a = statistics_median(logs, in_a);
	row->b = statistics_median(logs + in_a, in_b);
	for (size_t i = 0; i < n; i++)
		logs[i] = log(logs[i]);
	int rc = statistics_shift(&shift, logs, in_a, logs + in_a, in_b, alpha);
	if (rc == 0)
		rc = permutation_test(&one, alpha_of_test, &row->p, &critical_t);
	if (rc == 0) {
		set_effect(row, &shift, 1);
		set_detectable(row, critical_t, threshold, standard_error(logs, in_a, in_b));
		row->verdict = judge_values(row, threshold, alpha_of_test);
	}
	return rc;
}
