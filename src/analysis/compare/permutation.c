/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each measure is centred and scaled to length 1; then |t| grows with |sum over A|, the score,
 * which is all that a labelling has to compute. Pairs have signs instead of sides and are not
 * centred.
 */
#include "analysis/compare/permutation.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"

enum { LABELLINGS_MAX = 20000 };

struct test {
	const struct permutation_family *family;
	double *scaled;	     /* [blocks][measures] */
	double *scores;	     /* [measures]: of a labelling */
	double *observed;    /* [measures]: scores */
	size_t *order;	     /* of measures: highest observed score first */
	size_t *reached;     /* [measures]: labellings in which the rest scored as much */
	double *highest;     /* [labellings] */
	signed char *labels; /* [blocks]: 1 in A (or: as it is), 0 in B (or -1: flipped) */
	size_t count;	     /* of labellings so far */
	uint64_t random;
};

double permutation_labellings(size_t a, size_t b)
{
	double count = 1;

	for (size_t i = 1; i <= b; i++)
		count = count * (double)(a + i) / (double)i;
	return round(count);
}

/* Block by block, so that sums of neighbours are computed together. */
static void score(struct test *t)
{
	size_t measures = t->family->measures;

	memset(t->scores, 0, measures * sizeof(*t->scores));
	for (size_t i = 0; i < t->family->blocks; i++) {
		const double *scaled = t->scaled + i * measures;
		double label = t->labels[i];
		for (size_t m = 0; m < measures && label != 0; m++)
			t->scores[m] += label * scaled[m];
	}
	for (size_t m = 0; m < measures; m++)
		t->scores[m] = fabs(t->scores[m]);
}

static void scale(struct test *t, size_t measure)
{
	const struct permutation_family *f = t->family;
	const double *from = f->values + measure * f->blocks;
	double *to = t->scaled + measure, mean = 0, squares = 0;

	for (size_t i = 0; i < f->blocks && !f->paired; i++)
		mean += from[i] / (double)f->blocks;
	for (size_t i = 0; i < f->blocks; i++) {
		to[i * f->measures] = from[i] - mean;
		squares += to[i * f->measures] * to[i * f->measures];
	}
	for (size_t i = 0; i < f->blocks; i++)
		to[i * f->measures] = squares > 0 ? to[i * f->measures] / sqrt(squares) : 0;
}

/* The square of the highest score that there can be, and the degrees of freedom of t. */
static double limit(const struct permutation_family *f)
{
	double a = (double)f->in_a, n = (double)f->blocks;

	return f->paired ? n : a * (n - a) / n;
}

static double freedom(const struct permutation_family *f)
{
	return (double)f->blocks - (f->paired ? 1 : 2);
}

static double t_of_score(const struct permutation_family *f, double s)
{
	double share = s * s / limit(f);

	return share < 1 - 1e-9 ? sqrt(freedom(f) * share / (1 - share)) : INFINITY;
}

static double score_of_t(const struct permutation_family *f, double t)
{
	return sqrt(limit(f) * (isinf(t) ? 1 : t * t / (freedom(f) + t * t)));
}

static void count_labelling(struct test *t)
{
	const struct permutation_family *f = t->family;
	double highest = 0;

	score(t);
	for (size_t k = f->measures; k-- > 0;) {
		size_t measure = t->order[k];
		double s = t->scores[measure];
		if (s > highest)
			highest = s;
		if (highest >= t->observed[measure] - 1e-9)
			t->reached[measure]++;
	}
	t->highest[t->count++] = highest;
}

/* The next choice of as many blocks for A, in the order of numbers; false: that was the last. */
static bool next_sides(signed char *labels, size_t n)
{
	size_t i = n - 1, ones = 0;

	while (i > 0 && !(labels[i - 1] && !labels[i]))
		i--;
	if (!i)
		return false;
	for (size_t k = i; k < n; k++)
		ones += (size_t)labels[k];
	labels[i - 1] = 0;
	for (size_t k = i; k < n; k++)
		labels[k] = k - i <= ones;
	return true;
}

static bool next_signs(signed char *labels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		labels[i] = (signed char)-labels[i];
		if (labels[i] < 0)
			return true;
	}
	return false;
}

/* splitmix64 */
static uint64_t draw(struct test *t)
{
	uint64_t z = t->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void shuffle(struct test *t)
{
	size_t n = t->family->blocks;

	for (size_t i = n; i-- > 0;) {
		size_t other = (size_t)(draw(t) % (i + 1));
		signed char swap = t->labels[i];
		if (t->family->paired) {
			t->labels[i] = draw(t) & 1 ? 1 : -1;
			continue;
		}
		t->labels[i] = t->labels[other];
		t->labels[other] = swap;
	}
}

/* The labelling that was found is the first one, and one of them. */
static void try_labellings(struct test *t, double all)
{
	const struct permutation_family *f = t->family;

	for (size_t i = 0; i < f->blocks; i++)
		t->labels[i] = f->paired || i < f->in_a;
	if (all > LABELLINGS_MAX) {
		for (int i = 0; i < LABELLINGS_MAX; i++, shuffle(t))
			count_labelling(t);
		return;
	}
	do
		count_labelling(t);
	while (f->paired ? next_signs(t->labels, f->blocks) : next_sides(t->labels, f->blocks));
}

static void observe(struct test *t)
{
	const struct permutation_family *f = t->family;

	for (size_t i = 0; i < f->blocks; i++)
		t->labels[i] = f->paired || i < f->in_a;
	for (size_t m = 0; m < f->measures; m++)
		scale(t, m);
	score(t);
	for (size_t m = 0; m < f->measures; m++) {
		double s = t->scores[m];
		if (f->widen && f->widen[m] > 1)
			s = score_of_t(f, t_of_score(f, s) / f->widen[m]);
		t->observed[m] = s;
		size_t k = m;
		for (; k > 0 && t->observed[t->order[k - 1]] < s; k--)
			t->order[k] = t->order[k - 1];
		t->order[k] = m;
	}
}

static void answer(struct test *t, double alpha, double *p, double *critical_t)
{
	double least = 0;
	size_t allowed = (size_t)(alpha * (double)t->count + 1e-9);

	for (size_t k = 0; k < t->family->measures; k++) {
		size_t measure = t->order[k];
		double own = (double)t->reached[measure] / (double)t->count;
		least = own > least ? own : least;
		p[measure] = least;
	}
	qsort(t->highest, t->count, sizeof(*t->highest), order_doubles);
	*critical_t = allowed ? t_of_score(t->family, t->highest[t->count - allowed]) : INFINITY;
}

int permutation_test(
	const struct permutation_family *family, double alpha, double *p, double *critical_t)
{
	size_t n = family->measures, blocks = family->blocks;
	double all = family->paired ? pow(2, (double)blocks)
				    : permutation_labellings(family->in_a, blocks - family->in_a);
	struct test t = {.family = family,
		.scaled = calloc(n * blocks + 1, sizeof(*t.scaled)),
		.scores = calloc(n + 1, sizeof(*t.scores)),
		.observed = calloc(n + 1, sizeof(*t.observed)),
		.order = calloc(n + 1, sizeof(*t.order)),
		.reached = calloc(n + 1, sizeof(*t.reached)),
		.highest = calloc(LABELLINGS_MAX, sizeof(*t.highest)),
		.labels = calloc(blocks + 1, sizeof(*t.labels)),
		.random = 1};
	int rc = t.scaled && t.scores && t.observed && t.order && t.reached && t.highest && t.labels
			 ? 0
			 : -ENOMEM;
	if (rc == 0) {
		observe(&t);
		try_labellings(&t, all);
		answer(&t, alpha, p, critical_t);
	}
	free(t.scaled);
	free(t.scores);
	free(t.observed);
	free(t.order);
	free(t.reached);
	free(t.highest);
	free(t.labels);
	return rc;
}
