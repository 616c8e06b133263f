/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces recordings to blocks: one each, or stretches until neighbours know little of each other.
 */
#include "analysis/compare/compare_blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/permutation.h"
#include "analysis/accounts/statistics.h"
#include "base/order.h"
#include "base/scope.h"

/* Neighbours that have more than this in common are too close. */
static const double correlated = 0.25;

struct maker {
	struct compare_blocks *blocks;
	const struct compare_series *series;
	size_t in_a, in_b;
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

bool compare_recordings_suffice(size_t in_a, size_t in_b)
{
	return permutation_labellings(in_a, in_b) * compare_family_alpha >= 2;
}

COMPARATOR(compare_ranked, struct ranked_cell, ORDER(x->ns, y->ns) ?: ORDER(x->cell, y->cell))

/* The cells of the quarter below the median time per token, or all; how many. NULL: no memory. */
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

/* Add a stretch to a block, of which it is the part `share`. */
static int add_stretch(struct compare_phase_blocks *b, size_t block, size_t names,
	const struct stretch *s, double share)
{
	const struct compare_cells *cells = &s->series->phases[s->phase];
	uint64_t tokens = 0, total = 0, all_tokens = 0, all = 0;
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
	}
	double per_token = share / (double)(tokens ? tokens : 1);
	b->time[block] += (double)total * per_token;
	b->rate[block] +=
		(double)all * cells->united * share / (double)(all_tokens ? all_tokens : 1);
	for (size_t k = 0; k < names; k++) {
		uint64_t ns = 0;
		for (size_t i = 0; i < count; i++)
			ns += compare_cell_ns(s->series, s->phase, chosen[i].cell, k);
		b->columns[block * names + k] += (double)ns * per_token;
	}
	return 0;
}

static int reduce_phase(struct compare_series *series, int phase)
{
	struct compare_cells *cells = &series->phases[phase];
	const struct stretch s = {series, phase, 0, cells->count};
	uint64_t tokens = 0, total = 0, all_tokens = 0, all = 0;
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
	}
	if (chosen) {
		/* what makes a rate of all steps out of the time of the typical ones */
		cells->united *= (double)all / (double)(all_tokens ? all_tokens : 1) *
				 (double)(tokens ? tokens : 1) / (double)(total ? total : 1);
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
	free(b->columns);
	*b = (struct compare_phase_blocks){.unit = b->unit, .steps = b->steps};
}

static int allocate_blocks(struct compare_phase_blocks *b, size_t in_a, size_t in_b, size_t names)
{
	size_t n = in_a + in_b;

	drop_blocks(b);
	b->time = calloc(n, sizeof(*b->time));
	b->rate = calloc(n, sizeof(*b->rate));
	b->columns = calloc(n * names + 1, sizeof(*b->columns));
	if (!b->time || !b->rate || !b->columns)
		return -ENOMEM;
	b->in_a = in_a;
	b->in_b = in_b;
	return 0;
}

/* Cells of the phase that all recordings have; *differ: some have more. */
static size_t common_cells(const struct maker *m, bool *differ)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < m->in_a + m->in_b; i++) {
		size_t count = m->series[i].phases[m->phase].count;
		*differ |= count != m->series[0].phases[m->phase].count;
		if (count < least)
			least = count;
	}
	return least;
}

static int one_block_a_recording(const struct maker *m, size_t common)
{
	struct compare_phase_blocks *b = &m->blocks->phases[m->phase];
	int rc = allocate_blocks(b, m->in_a, m->in_b, m->blocks->names);

	b->unit = COMPARE_RECORDINGS;
	for (size_t i = 0; i < m->in_a + m->in_b && rc == 0; i++) {
		size_t count = m->series[i].phases[m->phase].count;
		const struct stretch s = {
			&m->series[i], m->phase, 0, m->phase == STEP_DECODE ? common : count};
		rc = add_stretch(b, i, m->blocks->names, &s, 1);
	}
	return rc;
}

static int cut_into(const struct maker *m, size_t common, size_t stretches)
{
	struct compare_phase_blocks *b = &m->blocks->phases[m->phase];
	int rc = allocate_blocks(b, stretches, stretches, m->blocks->names);

	b->unit = COMPARE_STRETCHES;
	for (size_t i = 0; i < m->in_a + m->in_b; i++)
		for (size_t k = 0; k < stretches && rc == 0; k++) {
			const struct stretch s = {&m->series[i], m->phase, common * k / stretches,
				common * (k + 1) / stretches};
			bool is_b = i >= m->in_a;
			rc = add_stretch(b, is_b ? stretches + k : k, m->blocks->names, &s,
				1 / (double)(is_b ? m->in_b : m->in_a));
		}
	return rc;
}

/* Autocorrelation of the difference between the sides, along the run. */
static double neighbours(const struct compare_phase_blocks *b)
{
	double difference[COMPARE_STRETCHES_MAX];

	for (size_t k = 0; k < b->in_a; k++)
		difference[k] = log(b->time[b->in_a + k] / b->time[k]);
	return statistics_autocorrelation(difference, b->in_a);
}

/* Fewer and longer stretches until neighbours know little of each other. */
static int cut_into_stretches(const struct maker *m, size_t common)
{
	struct compare_phase_blocks *b = &m->blocks->phases[m->phase];
	size_t stretches = common / COMPARE_STRETCH_STEPS;

	if (stretches < COMPARE_STRETCHES_MIN)
		return one_block_a_recording(m, common);
	if (stretches > COMPARE_STRETCHES_MAX)
		stretches = COMPARE_STRETCHES_MAX;
	for (;; stretches = stretches * 3 / 4) {
		if (stretches < COMPARE_STRETCHES_MIN)
			stretches = COMPARE_STRETCHES_MIN;
		int rc = cut_into(m, common, stretches);
		if (rc < 0 || stretches == COMPARE_STRETCHES_MIN || neighbours(b) < correlated)
			return rc;
	}
}

static int make_phase(const struct maker *m)
{
	struct compare_phase_blocks *b = &m->blocks->phases[m->phase];
	bool differ = false;
	size_t common = common_cells(m, &differ);

	if (!common)
		return 0;
	if (differ && (m->phase == STEP_DECODE || m->blocks->unit == COMPARE_STRETCHES))
		for (size_t i = 0; i < m->in_a + m->in_b; i++)
			if (m->series[i].phases[m->phase].count == common)
				b->steps = m->series[i].phases[m->phase].steps;
	return m->blocks->unit == COMPARE_RECORDINGS ? one_block_a_recording(m, common)
						     : cut_into_stretches(m, common);
}

int compare_blocks_init(struct compare_blocks *blocks, const struct compare_series *series,
	size_t in_a, size_t in_b, size_t names)
{
	struct maker m = {blocks, series, in_a, in_b, 0};
	int rc = 0;

	*blocks = (struct compare_blocks){.names = names,
		.unit = compare_recordings_suffice(in_a, in_b) ? COMPARE_RECORDINGS
							       : COMPARE_STRETCHES};
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
