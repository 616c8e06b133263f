/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a comparison, their effects and verdicts. One family of rows of the same blocks after the
 * other: shifts of logarithms with their intervals, one test for all. Where blocks are stretches of
 * one run, neighbours have something in common, which makes intervals wider and t smaller, as a
 * series of first order would: by sqrt((1 + r) / (1 - r)).
 */
#include "analysis/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/statistics.h"
#include "analysis/accounts/unknown.h"
#include "analysis/compare/permutation.h"
#include "base/array.h"
#include "base/order.h"
#include "base/scope.h"

/* Rows that are tested together. */
struct family {
	size_t in_a, in_b;
	enum compare_unit unit;
	ARRAY(size_t) rows;
	ARRAY(double) values; /* of each row: [in_a + in_b] logarithms */
};

/* All zero is none. */
struct effects {
	ARRAY(struct family) families;
	size_t current;
	bool failed; /* there was not enough memory */
};

static const double alpha = 0.05;			       /* of intervals */
static const double z_interval = 1.959964, z_power = 0.841621; /* of 95 %; of 80 % */

/* Rows that are added from here on have such blocks: the same family where there is one. */
static void effects_family(
	struct effects *effects, size_t in_a, size_t in_b, enum compare_unit unit)
{
	/* Stretches of different phases have nothing to do with each other. */
	for (size_t i = 0; i < effects->families.count && unit == COMPARE_RECORDINGS; i++) {
		const struct family *f = &effects->families.items[i];
		effects->current = i;
		if (f->unit == unit && f->in_a == in_a && f->in_b == in_b)
			return;
	}
	effects->current = effects->families.count;
	effects->failed |= array_push(&effects->families,
				   (struct family){.in_a = in_a, .in_b = in_b, .unit = unit}) != 0;
}

/* A row without values that are 0 is tested; others have no effect. -ENOMEM. */
static int effects_add(struct effects *effects, size_t row, const double *values)
{
	if (effects->failed)
		return -ENOMEM;
	struct family *f = &effects->families.items[effects->current];
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
static void pair_up(struct family *f)
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

/*
 * The standard error of Student's t, which the test uses: one odd run makes it much larger than the
 * interval shows. in_b is 0 where the values are of pairs.
 */
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

static int estimate(const struct family *f, struct compare_row *rows, double *widen)
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

static bool can_tell(const struct family *f)
{
	return f->rows.count &&
	       (f->unit == COMPARE_STRETCHES || compare_recordings_suffice(f->in_a, f->in_b));
}

static int test(struct family *f, struct compare_row *rows, double threshold, double tests)
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

/* Fill in effect, low, high, p and detectable. -ENOMEM. */
static int effects_finish(struct effects *effects, struct compare_row *rows, double threshold)
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

static void effects_fini(struct effects *effects)
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

COMPARATOR(by_ratio, struct pair, ORDER(x->ratio, y->ratio))

/*
 * The middle half of the pairs of blocks, around the estimate, which is a median of all pairs. In
 * these the differences of the parts add up to the difference of the steps, near the estimate.
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
	qsort(pairs, n, sizeof(*pairs), by_ratio);
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

/*
 * Fill in the points of a phase's rows, which stand in the order of the names. effect: on its time.
 * *residual: the part of it in no points. -ENOMEM.
 */
static int effects_points(struct compare_row *rows, size_t row_count, double effect, int phase,
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

int compare_values(struct compare_row *row, const double *a, size_t in_a, const double *b,
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

/* The rows. */

struct maker {
	struct compare *compare;
	struct effects *effects;
	const struct compare_blocks *blocks;
	const struct compare_series *series;
	const struct compare_names *names;
	size_t in_a, in_b;
	bool differs;
};

const struct compare_row *compare_find(
	const struct compare *compare, int phase, enum compare_measure measure)
{
	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].phase == phase && compare->rows[i].measure == measure)
			return &compare->rows[i];
	return NULL;
}

/* values: of A's blocks, then of B's. */
static int add_row(struct maker *m, const struct compare_row *like, const double *values,
	size_t in_a, size_t in_b)
{
	struct compare *c = m->compare;
	struct compare_row *row = &c->rows[c->row_count];
	SCOPED double *scratch = calloc(in_a + in_b, sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	*row = *like;
	row->a = statistics_median_of(values, in_a, scratch);
	row->b = statistics_median_of(values + in_a, in_b, scratch);
	row->effect = row->p = row->points = NAN;
	row->low = -INFINITY;
	row->high = row->detectable = INFINITY;
	return effects_add(m->effects, c->row_count++, values);
}

/* One value for each recording; a single one says nothing about noise. */
static int add_ttft(struct maker *m)
{
	const struct compare_row like = {.measure = COMPARE_TTFT, .phase = -1};
	size_t n = m->in_a + m->in_b;
	SCOPED double *values = calloc(n, sizeof(*values));
	int rc = values ? 0 : -ENOMEM;
	bool known = true;

	for (size_t i = 0; i < n && rc == 0; i++) {
		known &= m->series[i].ttft_ns != ANALYSIS_UNKNOWN;
		values[i] = (double)m->series[i].ttft_ns;
	}
	if (rc == 0 && known) {
		effects_family(m->effects, m->in_a, m->in_b, COMPARE_RECORDINGS);
		rc = add_row(m, &like, values, m->in_a, m->in_b);
	}
	return rc;
}

static enum summary_basis basis_of(const struct maker *m)
{
	size_t n = m->in_a + m->in_b, know = 0;

	for (size_t i = 0; i < n; i++)
		know += m->series[i].knows_off;
	return know == n ? BASIS_CPU : know ? BASIS_MIXED : BASIS_WALL;
}

static int add_column(struct maker *m, int phase, size_t column)
{
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	const struct compare_name *name = &m->names->list[column];
	if (name->kind == COMPARE_OFF_CPU && m->compare->basis != BASIS_CPU)
		return 0;
	size_t n = b->in_a + b->in_b, in_a = 0, in_b = 0;
	SCOPED double *values = calloc(n, sizeof(*values));
	int rc = values ? 0 : -ENOMEM;
	struct compare_row like = {
		.measure = COMPARE_COLUMN, .phase = phase, .kind = name->kind, .name = name->name};

	for (size_t i = 0; i < n && rc == 0; i++) {
		values[i] = b->columns[i * m->blocks->names + column];
		*(i < b->in_a ? &in_a : &in_b) += values[i] > 0;
	}
	if (rc == 0 && in_a + in_b) {
		like.verdict = !in_b ? COMPARE_ONLY_A : !in_a ? COMPARE_ONLY_B : COMPARE_UNSURE;
		rc = add_row(m, &like, values, b->in_a, b->in_b);
	}
	return rc;
}

static int add_phase(struct maker *m, int phase)
{
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	const struct compare_row rate = {.measure = COMPARE_RATE, .phase = phase};
	const struct compare_row time = {.measure = COMPARE_TIME, .phase = phase};

	m->compare->phases[phase] = (struct compare_phase){b->in_a, b->in_b, b->steps, 0};
	if (!b->in_a || !b->in_b)
		return 0;
	effects_family(m->effects, b->in_a, b->in_b, b->unit);
	int rc = add_row(m, &rate, b->rate, b->in_a, b->in_b);
	if (rc == 0)
		rc = add_row(m, &time, b->time, b->in_a, b->in_b);
	for (size_t k = 0; k < m->blocks->names && rc == 0; k++)
		rc = add_column(m, phase, k);
	return rc;
}

static int add_points(struct maker *m, int phase)
{
	struct compare *c = m->compare;
	const struct compare_row *time = compare_find(c, phase, COMPARE_TIME);

	if (!time || isnan(time->effect))
		return 0;
	return effects_points(c->rows, c->row_count, time->effect, phase, m->blocks, m->names,
		&c->phases[phase].residual);
}

/* differs: slower and faster may be said. */
static void judge(struct compare_row *row, double threshold, bool differs, enum summary_basis basis)
{
	if (row->verdict != COMPARE_UNSURE || isnan(row->effect))
		return;
	if (row->name && row->kind != COMPARE_KERNEL && basis == BASIS_MIXED)
		return;
	if (row->low >= -threshold && row->high <= threshold)
		row->verdict = COMPARE_SAME;
	else if (differs && row->p <= compare_family_alpha && row->low > threshold)
		row->verdict = COMPARE_SLOWER;
	else if (differs && row->p <= compare_family_alpha && row->high < -threshold)
		row->verdict = COMPARE_FASTER;
}

/*
 * One that got worse decides; a faster one does not need the others to be the same. Rows with too
 * few values for any bounds do not count.
 */
static enum compare_verdict verdict_of_whole(const struct compare *c)
{
	size_t rows[COMPARE_SLOWER + 1] = {0}, all = 0;

	for (size_t i = 0; i < c->row_count; i++)
		if (!c->rows[i].name && isfinite(c->rows[i].low)) {
			rows[c->rows[i].verdict]++;
			all++;
		}
	return rows[COMPARE_SLOWER]		  ? COMPARE_SLOWER
	       : rows[COMPARE_FASTER]		  ? COMPARE_FASTER
	       : all && rows[COMPARE_SAME] == all ? COMPARE_SAME
						  : COMPARE_UNSURE;
}

static int compare_rows(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	bool x_kernel = x->kind == COMPARE_KERNEL, y_kernel = y->kind == COMPARE_KERNEL;

	if (x->phase != y->phase)
		return x->phase - y->phase;
	if (x->measure != y->measure)
		return (int)x->measure - (int)y->measure;
	if (!x->name || x_kernel != y_kernel)
		return x_kernel - y_kernel;
	double by = x_kernel ? (y->a + y->b) - (x->a + x->b) : fabs(y->points) - fabs(x->points);
	return by > 0 ? 1 : by < 0 ? -1 : strcmp(x->name, y->name);
}

static int fill(struct maker *m)
{
	struct compare *c = m->compare;
	c->basis = basis_of(m);
	int rc = add_ttft(m);

	for (int phase = 0; phase < STEP_PHASES && rc == 0; phase++)
		rc = add_phase(m, phase);
	if (rc == 0)
		rc = effects_finish(m->effects, c->rows, c->threshold);
	for (int phase = 0; phase < STEP_PHASES && rc == 0; phase++)
		rc = add_points(m, phase);
	for (size_t i = 0; i < c->row_count && rc == 0; i++)
		judge(&c->rows[i], c->threshold, m->differs, c->basis);
	qsort(c->rows, c->row_count, sizeof(*c->rows), compare_rows);
	c->verdict = verdict_of_whole(c);
	return rc;
}

int compare_create(struct compare **out, const struct compare_series *series, size_t in_a,
	size_t in_b, const struct compare_names *names, double threshold)
{
	struct effects effects = {0};
	struct compare_blocks blocks;
	struct compare *c = calloc(1, sizeof(*c));
	struct maker m = {c, &effects, &blocks, series, names, in_a, in_b, false};
	int rc = c ? compare_blocks_init(&blocks, series, in_a, in_b, names->count) : -ENOMEM;

	if (rc < 0) {
		free(c);
		return rc;
	}
	c->unit = blocks.unit;
	m.differs = c->unit == COMPARE_RECORDINGS || threshold >= 0;
	c->threshold = threshold >= 0 ? threshold : c->unit == COMPARE_RECORDINGS ? 0.01 : 0.03;
	c->rows = calloc(1 + STEP_PHASES * (names->count + 2), sizeof(*c->rows));
	rc = c->rows ? fill(&m) : -ENOMEM;
	effects_fini(&effects);
	compare_blocks_fini(&blocks);
	if (rc < 0)
		compare_destroy(c);
	else
		*out = c;
	return rc;
}

void compare_destroy(struct compare *c)
{
	if (c)
		free(c->rows);
	free(c);
}
