/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows with a value of each recording; then the number of rows decides their intervals. */
#include "analysis/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/array.h"
#include "base/order.h"
#include "base/scope.h"

/* A row while the comparison is made. */
struct draft {
	size_t values; /* place in maker.values: in_a values of A, then in_b of B */
	size_t in_a, in_b;
	size_t first, columns; /* place and number in maker.columns: columns that it sums up */
	double spread;	       /* of struct difference_rule */
};

struct maker {
	struct compare *compare;
	const struct compare_blocks *blocks;
	const struct compare_series *series; /* of recorded runs only */
	const struct compare_names *names;
	size_t in_a, in_b; /* recorded runs of each side */
	double alpha;
	ARRAY(struct draft) drafts; /* of compare->rows, in the same order */
	ARRAY(double) values;
	ARRAY(size_t) columns;
};

static void compare_maker_fini(struct maker *m)
{
	array_fini(&m->drafts);
	array_fini(&m->values);
	array_fini(&m->columns);
}

/* The rows. */

/* Adds a row of in_a values of A and in_b of B. */
static int add_row_of(struct maker *m, const struct compare_row *like, const double *values,
	size_t in_a, size_t in_b, double spread)
{
	struct compare *c = m->compare;
	size_t n = in_a + in_b;
	const struct draft draft = {m->values.count, in_a, in_b, m->columns.count, 0, spread};

	if (array_reserve(&m->values, n) || array_push(&m->drafts, draft))
		return -ENOMEM;
	memcpy(m->values.items + m->values.count, values, n * sizeof(*values));
	m->values.count += n;
	c->rows[c->row_count] = *like;
	c->rows[c->row_count++].points = NAN;
	return 0;
}

/* Adds a row; values: one of each recording. */
static int compare_add_row(
	struct maker *m, const struct compare_row *like, const double *values, double spread)
{
	return add_row_of(m, like, values, m->in_a, m->in_b, spread);
}

static int add_ttft(struct maker *m)
{
	const struct compare_row like = {.measure = COMPARE_TTFT, .phase = -1};
	size_t n = m->in_a + m->in_b;
	SCOPED double *values = calloc(n, sizeof(*values));
	bool known = values != NULL;

	for (size_t i = 0; i < n && values; i++) {
		known &= m->series[i].ttft_ns != ANALYSIS_UNKNOWN;
		values[i] = (double)m->series[i].ttft_ns;
	}
	return known	? compare_add_row(m, &like, values, compare_spread_unknown)
	       : values ? 0
			: -ENOMEM;
}

/* Collects the values of plain runs; returns their number. 0: none, or some run has no value. */
static size_t plain_values(
	const struct compare_series *series, size_t count, bool is_printed, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		double value = is_printed ? series[i].printed : (double)series[i].wall_ns;
		if (!series[i].is_plain)
			continue;
		if (!(value > 0))
			return 0;
		out[n++] = value;
	}
	return n;
}

/* Adds what plain runs took, or printed. *is_added: both sides have some. */
static int add_plain(struct maker *m, const struct compare_series *series, size_t in_a, size_t in_b,
	bool is_printed, bool *is_added)
{
	SCOPED double *values = calloc(in_a + in_b, sizeof(*values));
	struct compare_row like = {
		.measure = is_printed ? COMPARE_PRINTED : COMPARE_WALL, .phase = -1};

	*is_added = false;
	if (!values)
		return -ENOMEM;
	size_t of_a = plain_values(series, in_a, is_printed, values);
	size_t of_b = plain_values(series + in_a, in_b, is_printed, values + of_a);
	if (!of_a || !of_b)
		return 0;
	*is_added = true;
	for (size_t i = 0; i < in_a && is_printed; i++)
		like.difference.kind = series[i].is_rate ? DIFFERENCE_RATE : like.difference.kind;
	return add_row_of(m, &like, values, of_a, of_b, 0);
}

/* Adds the wall time of recorded runs, if all know it. */
static int add_recorded_wall(struct maker *m)
{
	const struct compare_row like = {.measure = COMPARE_WALL, .phase = -1};
	size_t n = m->in_a + m->in_b;
	SCOPED double *values = calloc(n + 1, sizeof(*values));
	bool known = m->in_a && m->in_b;

	for (size_t i = 0; i < n && values; i++) {
		known &= m->series[i].wall_ns > 0;
		values[i] = (double)m->series[i].wall_ns;
	}
	return !values ? -ENOMEM
	       : known ? compare_add_row(m, &like, values, compare_spread_unknown)
		       : 0;
}

static int add_whole_runs(
	struct maker *m, const struct compare_series *series, size_t in_a, size_t in_b)
{
	bool has_wall = false, has_printed;
	int rc = add_plain(m, series, in_a, in_b, true, &has_printed);

	if (rc == 0)
		rc = add_plain(m, series, in_a, in_b, false, &has_wall);
	return rc == 0 && !has_wall ? add_recorded_wall(m) : rc;
}

static enum summary_basis basis_of(const struct maker *m)
{
	size_t n = m->in_a + m->in_b, know = 0;

	for (size_t i = 0; i < n; i++)
		know += m->series[i].knows_off;
	return know == n ? BASIS_CPU : know ? BASIS_MIXED : BASIS_WALL;
}

/* The sides that have a value above 0, a mask: 1 is A, 2 is B. */
static int sides_of(const struct maker *m, const double *values)
{
	int sides = 0;

	for (size_t i = 0; i < m->in_a + m->in_b; i++)
		sides |= values[i] > 0 ? i < m->in_a ? 1 : 2 : 0;
	return sides;
}

/* Columns of a phase that are one row: all of a pair, or a single one. */
struct group {
	const size_t *columns;
	size_t count;
};

/* Sums the work of one side's recordings in these columns. */
static struct compare_work compare_work_of(
	const struct maker *m, int phase, const struct group *group, bool of_b)
{
	size_t first = of_b ? m->in_a : 0, count = of_b ? m->in_b : m->in_a;
	struct compare_work sum = {0};

	for (size_t i = first; i < first + count; i++)
		for (size_t k = 0; k < group->count; k++) {
			const struct compare_series *s = &m->series[i];
			size_t column = group->columns[k];
			if (column >= s->columns || !s->phases[phase].work)
				continue;
			const struct compare_work *work = &s->phases[phase].work[column];
			sum.count += work->count / (double)count;
			sum.bytes += work->bytes / (double)count;
			sum.flops += work->flops / (double)count;
		}
	return sum;
}

/* Adds a row of a group. name: NULL takes the name of its only column. */
static int compare_add_columns(
	struct maker *m, int phase, const struct group *group, const char *name)
{
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	const struct compare_name *first = &m->names->list[group->columns[0]];
	SCOPED double *values = calloc(m->in_a + m->in_b, sizeof(*values));
	double spread = 0;
	int rc = values ? 0 : -ENOMEM;

	if (rc < 0)
		return rc;
	const double *columns = m->blocks->phases[phase].columns;
	for (size_t i = 0; i < m->in_a + m->in_b; i++)
		for (size_t k = 0; k < group->count; k++)
			values[i] += columns[i * m->blocks->names + group->columns[k]];
	int sides = sides_of(m, values);
	if (!sides)
		return 0;
	for (size_t k = 0; k < group->count && rc == 0; k++) {
		spread = fmax(spread, b->column_spread[group->columns[k]]);
		rc = array_push(&m->columns, group->columns[k]);
	}
	struct compare_row like = {.measure = COMPARE_COLUMN,
		.phase = phase,
		.kind = first->kind,
		.name = name ? name : first->name,
		.a = compare_work_of(m, phase, group, false),
		.b = compare_work_of(m, phase, group, true)};
	/* times off the CPU depend on the machine, so they come and go */
	if (first->kind == COMPARE_OFF_CPU)
		spread = INFINITY;
	else if (sides != 3)
		like.difference.verdict = sides == 1 ? COMPARE_ONLY_A : COMPARE_ONLY_B;
	m->columns.count -= group->count;
	if (rc == 0)
		rc = compare_add_row(m, &like, values, spread);
	if (rc == 0) {
		m->columns.count += group->count;
		m->drafts.items[m->drafts.count - 1].columns = group->count;
	}
	return rc;
}

/* Renamed and fused bricks. */

static int sides_of_column(const struct maker *m, int phase, size_t column)
{
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	int sides = 0;

	for (size_t i = 0; i < m->in_a + m->in_b; i++)
		if (b->columns[i * m->blocks->names + column] > 0)
			sides |= i < m->in_a ? 1 : 2;
	return sides;
}

/* "UpProjection + GateProjection -> GateUp"; owned by the comparison. NULL: no memory. */
static const char *name_pair(struct maker *m, const struct group *group, size_t in_a)
{
	size_t bytes = 1, at = 0;

	for (size_t i = 0; i < group->count; i++)
		bytes += strlen(m->names->list[group->columns[i]].name) + 4;
	char *name = malloc(bytes);
	for (size_t i = 0; i < group->count && name; i++)
		at += (size_t)snprintf(name + at, bytes - at, "%s%s",
			!i	    ? ""
			: i == in_a ? " -> "
				    : " + ",
			m->names->list[group->columns[i]].name);
	if (name && array_push(&m->compare->names, name)) {
		free(name);
		return NULL;
	}
	return name;
}

/*
 * Adds a row of all bricks that only one side has and whose category is the column's, and marks
 * them in is_done. Does nothing if all of them are of the same side. -ENOMEM.
 */
static int compare_add_pair(
	struct maker *m, int phase, size_t column, const int *sides, bool *is_done)
{
	const struct compare_name *list = m->names->list;
	SCOPED size_t *columns = calloc(m->names->count, sizeof(*columns));
	size_t count = 0, in_a = 0;

	if (!columns)
		return -ENOMEM;
	for (int side = 1; side <= 2; side++)
		for (size_t k = 0; k < m->names->count; k++)
			if (sides[k] == side && list[k].category &&
				!strcmp(list[k].category, list[column].category)) {
				columns[count++] = k;
				in_a += side == 1;
			}
	if (!in_a || in_a == count)
		return 0;
	const struct group group = {columns, count};
	const char *name = name_pair(m, &group, in_a);
	for (size_t i = 0; i < count; i++)
		is_done[columns[i]] = true;
	return name ? compare_add_columns(m, phase, &group, name) : -ENOMEM;
}

static int compare_add_parts(struct maker *m, int phase)
{
	SCOPED int *sides = calloc(m->names->count + 1, sizeof(*sides));
	SCOPED bool *is_done = calloc(m->names->count + 1, sizeof(*is_done));
	int rc = sides && is_done ? 0 : -ENOMEM;

	for (size_t k = 0; k < m->names->count && rc == 0; k++)
		sides[k] = sides_of_column(m, phase, k);
	for (size_t k = 0; k < m->names->count && rc == 0; k++) {
		const struct compare_name *name = &m->names->list[k];
		const struct group alone = {&k, 1};
		if (name->kind == COMPARE_OFF_CPU && m->compare->basis != BASIS_CPU)
			continue;
		if (!is_done[k] && name->category && (sides[k] == 1 || sides[k] == 2))
			rc = compare_add_pair(m, phase, k, sides, is_done);
		if (rc == 0 && !is_done[k])
			rc = compare_add_columns(m, phase, &alone, NULL);
	}
	return rc;
}

/* True if all recordings know the time between steps, and in some it is more than a trifle. */
static bool has_between(const struct maker *m, int phase)
{
	const double much = 1.02;
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	bool any = false;

	for (size_t i = 0; i < m->in_a + m->in_b; i++) {
		if (!m->series[i].phases[phase].between_ns)
			return false;
		any |= b->elapsed[i] > much * b->rate[i];
	}
	return any;
}

static int compare_add_phase(struct maker *m, int phase)
{
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	const struct compare_row rate = {.measure = COMPARE_RATE, .phase = phase};
	const struct compare_row time = {.measure = COMPARE_TIME, .phase = phase};
	const struct compare_row elapsed = {.measure = COMPARE_ELAPSED, .phase = phase};

	m->compare->phases[phase] = (struct compare_phase){b->time != NULL, b->steps, 0};
	if (!b->time)
		return 0;
	SCOPED double *rates = calloc(m->in_a + m->in_b, sizeof(*rates));
	bool is_known = true; /* steps of no length have no rate */
	for (size_t i = 0; i < m->in_a + m->in_b && rates; i++) {
		is_known &= b->rate[i] > 0;
		rates[i] = 1e9 / b->rate[i];
	}
	int rc = rates ? 0 : -ENOMEM;
	if (rc == 0 && is_known)
		rc = compare_add_row(m, &rate, rates, b->spread[1]);
	if (rc == 0)
		rc = compare_add_row(m, &time, b->time, b->spread[0]);
	if (rc == 0 && has_between(m, phase))
		rc = compare_add_row(m, &elapsed, b->elapsed, b->spread[2]);
	return rc == 0 ? compare_add_parts(m, phase) : rc;
}

/* Their differences. */

static int compare_judge_pair(struct maker *m, size_t at, size_t tests)
{
	struct compare_row *row = &m->compare->rows[at];
	const struct draft *draft = &m->drafts.items[at];
	const double *values = m->values.items + draft->values;
	enum compare_verdict only = row->difference.verdict;
	const struct difference_rule rule = {
		m->compare->threshold, m->alpha / 2, tests, draft->spread};
	bool is_part = row->name && row->kind != COMPARE_KERNEL;
	enum difference_kind kind =
		row->measure == COMPARE_RATE ? DIFFERENCE_RATE : row->difference.kind;
	int rc = difference_of(&row->difference, kind, values, draft->in_a, values + draft->in_a,
		draft->in_b, &rule);

	if (only != COMPARE_UNSURE) {
		row->difference.verdict = only;
	} else if (is_part && m->compare->basis == BASIS_MIXED) {
		/* one side's times hold time off the CPU: no interval says what that adds */
		row->difference.verdict = COMPARE_UNSURE;
		row->difference.low = row->difference.high = row->difference.p = NAN;
		row->difference.detectable = NAN;
	}
	return rc;
}

static int judge_all(struct maker *m)
{
	struct compare *c = m->compare;
	size_t whole = 0, named = 0;
	int rc = 0;

	/* some comparisons know neither the time between steps nor wall time: others' intervals are
	 * the same in them */
	for (size_t i = 0; i < c->row_count; i++)
		whole += !c->rows[i].name && c->rows[i].measure != COMPARE_ELAPSED &&
			 c->rows[i].measure != COMPARE_WALL;
	whole++; /* wall time */
	for (size_t i = 0; i < c->row_count; i++)
		named += c->rows[i].name != NULL;
	for (size_t i = 0; i < c->row_count && rc == 0; i++)
		rc = compare_judge_pair(m, i, c->rows[i].name ? named : whole);
	return rc;
}

struct pair {
	double ratio;
	size_t a, b; /* recordings */
};

COMPARATOR(by_ratio, struct pair, ORDER(x->ratio, y->ratio))

/*
 * The middle half of the pairs of recordings, around the estimate, which is a median of all pairs.
 * In these the differences of the parts add up to the difference of the steps, near the estimate.
 */
static struct pair *middle_pairs(
	const struct compare_blocks *blocks, const struct compare_phase_blocks *b, size_t *count)
{
	size_t n = 0, skip, in_a = blocks->in_a, in_b = blocks->in_b;
	struct pair *pairs = calloc(in_a * in_b, sizeof(*pairs));

	for (size_t i = 0; i < in_a && pairs; i++)
		for (size_t k = in_a; k < in_a + in_b; k++)
			pairs[n++] = (struct pair){b->time[k] / b->time[i], i, k};
	if (!pairs)
		return NULL;
	qsort(pairs, n, sizeof(*pairs), by_ratio);
	skip = n / 4;
	*count = n - 2 * skip;
	memmove(pairs, pairs + skip, *count * sizeof(*pairs));
	return pairs;
}

static double points_of(const struct maker *m, int phase, const struct draft *draft,
	const struct pair *pairs, size_t count)
{
	const struct compare_phase_blocks *b = &m->blocks->phases[phase];
	size_t names = m->blocks->names;
	double points = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < draft->columns; k++) {
			size_t column = m->columns.items[draft->first + k];
			points += (b->columns[pairs[i].b * names + column] -
					  b->columns[pairs[i].a * names + column]) /
				  b->time[pairs[i].a] / (double)count;
		}
	return points;
}

static int compare_add_points(struct maker *m, int phase)
{
	struct compare *c = m->compare;
	const struct compare_row *time = compare_find(c, phase, COMPARE_TIME);
	double *residual = &c->phases[phase].residual;
	size_t count;

	if (!time || isnan(time->difference.effect))
		return 0;
	SCOPED struct pair *pairs = middle_pairs(m->blocks, &m->blocks->phases[phase], &count);
	if (!pairs)
		return -ENOMEM;
	*residual = time->difference.effect;
	for (size_t i = 0; i < c->row_count; i++) {
		struct compare_row *row = &c->rows[i];
		if (row->phase != phase || !row->name || row->kind == COMPARE_KERNEL)
			continue;
		row->points = points_of(m, phase, &m->drafts.items[i], pairs, count);
		*residual -= row->points;
	}
	return 0;
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
	double by =
		x_kernel ? (y->difference.a + y->difference.b) - (x->difference.a + x->difference.b)
			 : fabs(y->points) - fabs(x->points);
	return by > 0 ? 1 : by < 0 ? -1 : strcmp(x->name, y->name);
}

static int fill_phases(struct maker *m)
{
	struct compare *c = m->compare;
	int rc = add_ttft(m);

	c->basis = basis_of(m);
	for (int phase = 0; phase < STEP_PHASES && rc == 0; phase++)
		rc = compare_add_phase(m, phase);
	return rc;
}

static int compare_fill(
	struct maker *m, const struct compare_series *series, size_t in_a, size_t in_b)
{
	struct compare *c = m->compare;
	int rc = add_whole_runs(m, series, in_a, in_b);

	if (rc == 0 && m->in_a && m->in_b)
		rc = fill_phases(m);
	if (rc == 0)
		rc = judge_all(m);
	for (int phase = 0; phase < STEP_PHASES && rc == 0; phase++)
		rc = compare_add_points(m, phase);
	qsort(c->rows, c->row_count, sizeof(*c->rows), compare_rows);
	return rc;
}

/* Puts the recorded runs of a side at `to`; returns their number. */
static size_t take_recorded(
	struct compare_series *to, const struct compare_series *series, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!series[i].is_plain)
			to[n++] = series[i];
	return n;
}

static size_t compare_disturbed(const struct compare_series *series, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += series[i].is_disturbed;
	return n;
}

int compare_create(struct compare **out, const struct compare_series *series, size_t in_a,
	size_t in_b, const struct compare_names *names, const struct compare_rule *rule)
{
	SCOPED_BY(compare_blocks_fini) struct compare_blocks blocks = {0};
	SCOPED struct compare_series *recorded = calloc(in_a + in_b, sizeof(*recorded));
	struct compare *c = calloc(1, sizeof(*c));
	int rc = c && recorded ? 0 : -ENOMEM;
	size_t of_a = rc == 0 ? take_recorded(recorded, series, in_a) : 0;
	size_t of_b = rc == 0 ? take_recorded(recorded + of_a, series + in_a, in_b) : 0;
	SCOPED_BY(compare_maker_fini)
	struct maker m = {c, &blocks, recorded, names, of_a, of_b,
		rule->alpha > 0 ? rule->alpha : compare_family_alpha, {0}, {0}, {0}};

	if (rc == 0 && of_a && of_b)
		rc = compare_blocks_init(&blocks, recorded, of_a, of_b, names->count);
	if (rc == 0) {
		c->runs[0] =
			(struct compare_runs){of_a, in_a - of_a, compare_disturbed(series, in_a)};
		c->runs[1] = (struct compare_runs){
			of_b, in_b - of_b, compare_disturbed(series + in_a, in_b)};
		c->is_disturbed = !rule->even_disturbed && (2 * c->runs[0].disturbed > in_a ||
								   2 * c->runs[1].disturbed > in_b);
		c->assumes = of_a && of_b ? difference_assumes(of_a, of_b)
					  : difference_assumes(in_a, in_b);
		c->threshold = rule->threshold >= 0 ? rule->threshold : 0.01;
		c->rows = calloc(3 + STEP_PHASES * (names->count + 3), sizeof(*c->rows));
		rc = c->rows ? compare_fill(&m, series, in_a, in_b) : -ENOMEM;
	}
	if (rc < 0) {
		compare_destroy(c);
	} else {
		compare_judge(c, rule->metric);
		*out = c;
	}
	return rc;
}

void compare_destroy(struct compare *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->names.count; i++)
		free(c->names.items[i]);
	array_fini(&c->names);
	free(c->rows);
	free(c);
}
