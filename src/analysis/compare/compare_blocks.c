/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces each recording to one value, and its stretches to the spread of such values. */
#include "analysis/compare/compare_blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/difference.h"
#include "base/order.h"
#include "base/scope.h"

enum {
	STRETCHES_MIN = 4, /* of a recording; fewer do not tell a spread */
	STRETCHES_MAX = 8,
	STRETCH_STEPS = 3, /* fewest cells of a stretch, for a median */
};

struct maker {
	struct compare_blocks *blocks;
	const struct compare_series *series;
	size_t recordings;
	int phase;
};

/* A stretch of cells of one recording. */
struct stretch {
	const struct compare_series *series;
	int phase;
	size_t first, end;
};

struct ranked_cell {
	double ns;
	size_t cell;
};

COMPARATOR(compare_ranked, struct ranked_cell, ORDER(x->ns, y->ns) ?: ORDER(x->cell, y->cell))

/*
 * Chooses the typical cells: of decode the quarter below the median time per token, else all.
 * *count: their number. The caller frees. NULL: no memory.
 */
static struct ranked_cell *choose_cells(const struct stretch *s, size_t *count)
{
	const struct compare_cells *cells = &s->series->phases[s->phase];
	size_t n = s->end - s->first, skip = s->phase == STEP_DECODE ? n / 4 : 0;
	size_t end = s->phase == STEP_DECODE ? (n + 1) / 2 : n;
	struct ranked_cell *ranked = calloc(n + 1, sizeof(*ranked));

	if (!ranked)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		uint64_t tokens = cells->tokens[s->first + i];
		ranked[i].cell = s->first + i;
		ranked[i].ns =
			(double)cells->total_ns[s->first + i] / (double)(tokens ? tokens : 1);
	}
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	*count = end - skip;
	memmove(ranked, ranked + skip, *count * sizeof(*ranked));
	return ranked;
}

/* Fills place `at` of all arrays of b with the values of a stretch. */
static int take_stretch(
	struct compare_phase_blocks *b, size_t at, size_t names, const struct stretch *s)
{
	const struct compare_cells *cells = &s->series->phases[s->phase];
	uint64_t tokens = 0, total = 0, all_tokens = 0, all = 0, between = 0;
	size_t count;
	SCOPED struct ranked_cell *chosen = choose_cells(s, &count);

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		tokens += cells->tokens[chosen[i].cell];
		total += cells->total_ns[chosen[i].cell];
	}
	for (size_t i = s->first; i < s->end; i++) {
		all_tokens += cells->tokens[i];
		all += cells->total_ns[i];
		between += cells->between_ns ? cells->between_ns[i] : 0;
	}
	double per_token = 1 / (double)(tokens ? tokens : 1);
	b->time[at] = (double)total * per_token;
	b->rate[at] = (double)all * cells->united / (double)(all_tokens ? all_tokens : 1);
	b->elapsed[at] = b->rate[at] + (double)between / (double)(all_tokens ? all_tokens : 1);
	for (size_t k = 0; k < names; k++) {
		uint64_t ns = 0;
		for (size_t i = 0; i < count; i++)
			ns += compare_cell_ns(s->series, s->phase, chosen[i].cell, k);
		b->columns[at * names + k] = (double)ns * per_token;
	}
	return 0;
}

static int reduce_phase(struct compare_series *series, int phase)
{
	struct compare_cells *cells = &series->phases[phase];
	const struct stretch s = {series, phase, 0, cells->count};
	uint64_t tokens = 0, total = 0, all_tokens = 0, all = 0, between = 0;
	SCOPED uint64_t *columns = calloc(series->columns + 1, sizeof(*columns));
	size_t count = 0;
	SCOPED struct ranked_cell *chosen = columns ? choose_cells(&s, &count) : NULL;

	for (size_t i = 0; i < count && chosen; i++) {
		tokens += cells->tokens[chosen[i].cell];
		total += cells->total_ns[chosen[i].cell];
		for (size_t k = 0; k < series->columns; k++)
			columns[k] += compare_cell_ns(series, phase, chosen[i].cell, k);
	}
	for (size_t i = 0; i < cells->count; i++) {
		all_tokens += cells->tokens[i];
		all += cells->total_ns[i];
		between += cells->between_ns ? cells->between_ns[i] : 0;
	}
	if (chosen) {
		/* the factor that makes a rate of all steps out of the time of the typical ones */
		cells->united *= (double)all / (double)(all_tokens ? all_tokens : 1) *
				 (double)(tokens ? tokens : 1) / (double)(total ? total : 1);
		if (cells->between_ns)
			cells->between_ns[0] = (uint64_t)((double)between * (double)tokens /
							  (double)(all_tokens ? all_tokens : 1));
		cells->tokens[0] = tokens;
		cells->total_ns[0] = total;
		memcpy(cells->column_ns, columns, series->columns * sizeof(*columns));
		cells->count = 1;
	}
	return chosen ? 0 : -ENOMEM;
}

int compare_series_reduce(struct compare_series *series)
{
	int rc = 0;

	for (int phase = 0; phase < STEP_PHASES && rc == 0; phase++)
		if (series->phases[phase].count)
			rc = reduce_phase(series, phase);
	return rc;
}

static void drop_blocks(struct compare_phase_blocks *b)
{
	free(b->time);
	free(b->rate);
	free(b->elapsed);
	free(b->columns);
	free(b->column_spread);
	*b = (struct compare_phase_blocks){.steps = b->steps};
}

static int allocate_blocks(struct compare_phase_blocks *b, size_t n, size_t names)
{
	b->time = calloc(n, sizeof(*b->time));
	b->rate = calloc(n, sizeof(*b->rate));
	b->elapsed = calloc(n, sizeof(*b->elapsed));
	b->columns = calloc(n * names + 1, sizeof(*b->columns));
	b->column_spread = calloc(names + 1, sizeof(*b->column_spread));
	return b->time && b->rate && b->elapsed && b->columns && b->column_spread ? 0 : -ENOMEM;
}

/* The least number of cells of the phase in a recording; *differ: some recordings have more. */
static size_t common_cells(const struct maker *m, bool *differ)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < m->recordings; i++) {
		size_t count = m->series[i].phases[m->phase].count;
		*differ |= count != m->series[0].phases[m->phase].count;
		if (count < least)
			least = count;
	}
	return least;
}

static struct stretch compare_blocks_whole_of(
	const struct maker *m, size_t recording, size_t common)
{
	size_t count = m->series[recording].phases[m->phase].count;

	return (struct stretch){
		&m->series[recording], m->phase, 0, m->phase == STEP_DECODE ? common : count};
}

/* Adds squared deviations of the logarithms of n values; *sum is NAN if a value is not above 0. */
static void add_squares(double *sum, const double *values, size_t n, size_t apart)
{
	double mean = 0;

	for (size_t i = 0; i < n; i++)
		mean += log(values[i * apart]) / (double)n;
	for (size_t i = 0; i < n; i++) {
		double by = log(values[i * apart]) - mean;
		*sum += by * by;
	}
	if (!isfinite(*sum))
		*sum = NAN;
}

/* Adds one recording's stretches. Returns its degrees of freedom, 0: too few stretches; -ENOMEM. */
static int add_recording(const struct maker *m, const struct stretch *whole)
{
	struct compare_phase_blocks *to = &m->blocks->phases[m->phase];
	size_t names = m->blocks->names, steps = whole->end - whole->first;
	size_t n = steps / STRETCH_STEPS < STRETCHES_MAX ? steps / STRETCH_STEPS : STRETCHES_MAX;
	SCOPED_BY(drop_blocks) struct compare_phase_blocks b = {0};

	if (n < STRETCHES_MIN)
		return 0;
	int rc = allocate_blocks(&b, n, names);
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct stretch s = {whole->series, whole->phase, whole->first + steps * i / n,
			whole->first + steps * (i + 1) / n};
		rc = take_stretch(&b, i, names, &s);
	}
	if (rc < 0)
		return rc;
	add_squares(&to->spread[0], b.time, n, 1);
	add_squares(&to->spread[1], b.rate, n, 1);
	add_squares(&to->spread[2], b.elapsed, n, 1);
	for (size_t k = 0; k < names; k++)
		add_squares(&to->column_spread[k], b.columns + k, n, names);
	return (int)n - 1;
}

/* INFINITY: the value is missing in some stretch, so it comes and goes. */
static double compare_blocks_spread_of(double squares, double freedom)
{
	return !(freedom > 0)	   ? compare_spread_unknown
	       : isfinite(squares) ? sqrt(squares / freedom)
				   : INFINITY;
}

/* Measures how values of stretches vary around the means of their recordings. */
static int measure_spread(const struct maker *m, size_t common)
{
	struct compare_phase_blocks *b = &m->blocks->phases[m->phase];
	double freedom = 0;

	for (size_t i = 0; i < m->recordings; i++) {
		const struct stretch whole = compare_blocks_whole_of(m, i, common);
		int more = add_recording(m, &whole);
		if (more < 0)
			return more;
		freedom += more;
	}
	for (int i = 0; i < 3; i++)
		b->spread[i] = compare_blocks_spread_of(b->spread[i], freedom);
	for (size_t k = 0; k < m->blocks->names; k++)
		b->column_spread[k] = compare_blocks_spread_of(b->column_spread[k], freedom);
	return 0;
}

static int make_phase(const struct maker *m)
{
	struct compare_phase_blocks *b = &m->blocks->phases[m->phase];
	bool differ = false;
	size_t common = common_cells(m, &differ);

	if (!common)
		return 0;
	for (size_t i = 0; i < m->recordings && differ && m->phase == STEP_DECODE; i++)
		if (m->series[i].phases[m->phase].count == common)
			b->steps = m->series[i].phases[m->phase].steps;
	int rc = allocate_blocks(b, m->recordings, m->blocks->names);
	for (size_t i = 0; i < m->recordings && rc == 0; i++) {
		const struct stretch whole = compare_blocks_whole_of(m, i, common);
		rc = take_stretch(b, i, m->blocks->names, &whole);
	}
	return rc == 0 && difference_assumes(m->blocks->in_a, m->blocks->in_b)
		       ? measure_spread(m, common)
		       : rc;
}

int compare_blocks_init(struct compare_blocks *blocks, const struct compare_series *series,
	size_t in_a, size_t in_b, size_t names)
{
	struct maker m = {blocks, series, in_a + in_b, 0};
	int rc = 0;

	*blocks = (struct compare_blocks){.in_a = in_a, .in_b = in_b, .names = names};
	for (m.phase = 0; m.phase < STEP_PHASES && rc == 0; m.phase++)
		if (m.phase != STEP_WARM_UP)
			rc = make_phase(&m);
	if (rc < 0)
		compare_blocks_fini(blocks);
	return rc;
}

void compare_blocks_fini(struct compare_blocks *blocks)
{
	for (int p = 0; p < STEP_PHASES; p++)
		drop_blocks(&blocks->phases[p]);
}
