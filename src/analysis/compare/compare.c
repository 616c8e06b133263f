/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a comparison, their effects and verdicts. Called by `brick diff`. */
#include "analysis/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/compare_effect.h"
#include "analysis/accounts/statistics.h"
#include "analysis/accounts/unknown.h"
#include "base/scope.h"

struct maker {
	struct compare *compare;
	struct compare_effects *effects;
	const struct compare_blocks *blocks;
	const struct compare_series *series;
	const struct compare_names *names;
	size_t in_a, in_b;
	bool differs;
};

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[] = {
		[COMPARE_UNSURE] = "not enough data",
		[COMPARE_SAME] = "same",
		[COMPARE_FASTER] = "faster",
		[COMPARE_SLOWER] = "slower",
		[COMPARE_ONLY_A] = "only in A",
		[COMPARE_ONLY_B] = "only in B",
	};
	return names[verdict];
}

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
	return compare_effects_add(m->effects, c->row_count++, values);
}

/* One value for each recording; what a single one was says nothing of noise. */
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
		compare_effects_family(m->effects, m->in_a, m->in_b, COMPARE_RECORDINGS);
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
	compare_effects_family(m->effects, b->in_a, b->in_b, b->unit);
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
	return compare_effects_points(c->rows, c->row_count, time->effect, phase, m->blocks,
		m->names, &c->phases[phase].residual);
}

/* differs: whether slower and faster may be said. */
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
 * One that got worse decides; a faster one does not need the others to be the same. Of what there
 * are too few values for any bounds nothing is expected.
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
		rc = compare_effects_finish(m->effects, c->rows, c->threshold);
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
	struct compare_effects effects = {0};
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
	compare_effects_fini(&effects);
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
