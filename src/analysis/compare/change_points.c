/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pettitt's K is the largest |U(t)|. Over all pairs of a value up to t and a value after t, U(t) is
 * how often the first is larger, less how often it is smaller. By ranks R:
 *
 *   U(t) = 2 (R(1) + ... + R(t)) - t (n + 1)
 */
#include "analysis/compare/change_points.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/statistics.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"

enum {
	PERMUTED_MAX = 200,  /* values; for more, Pettitt's approximation is good enough */
	PERMUTATIONS = 1999, /* with the series itself 2000, so p is a multiple of 1 / 2000 */
};

static const double change_points_alpha = 0.01;

struct ranked {
	double value, rank;
	size_t at;
};

struct search {
	const double *values;
	struct ranked *ranked; /* values of a segment, sorted */
	double *ranks;	       /* of a segment, by place */
	double *scratch;
	ARRAY(struct change_point) found;
};

COMPARATOR(compare_values, struct ranked, ORDER(x->value, y->value))

/* Equal values share the mean of their ranks. */
static void change_points_rank(struct search *s, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->ranked[i] = (struct ranked){values[i], 0, i};
	qsort(s->ranked, n, sizeof(*s->ranked), compare_values);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && s->ranked[end].value == s->ranked[i].value; end++)
			;
		for (size_t k = i; k < end; k++)
			s->ranks[s->ranked[k].at] = (double)(i + end + 1) / 2;
	}
}

/* K of n ranks; *at: the t of this K, which is the number of values before the change. */
static double statistic(const double *ranks, size_t n, size_t *at)
{
	double sum = 0, most = -1;

	for (size_t t = 1; t < n; t++) {
		sum += ranks[t - 1];
		double u = fabs(2 * sum - (double)t * (double)(n + 1));
		if (u > most) {
			most = u;
			*at = t;
		}
	}
	return most;
}

/* The probability of a K of at least k in a series without a change. Pseudo-random, by n alone. */
static double chance(const struct search *s, size_t n, double k)
{
	double all = (double)n;
	size_t at, beyond = 1;
	uint64_t state = n;

	if (n > PERMUTED_MAX)
		return fmin(1, 2 * exp(-6 * k * k / (all * all * all + all * all)));
	memcpy(s->scratch, s->ranks, n * sizeof(*s->scratch));
	for (int round = 0; round < PERMUTATIONS; round++) {
		for (size_t i = n - 1; i > 0; i--) {
			state = hash_add(state, i);
			size_t other = (size_t)(state % (i + 1));
			double kept = s->scratch[i];
			s->scratch[i] = s->scratch[other];
			s->scratch[other] = kept;
		}
		beyond += statistic(s->scratch, n, &at) >= k;
	}
	return (double)beyond / (PERMUTATIONS + 1);
}

/* Adds the changes in [first, end), by place. -ENOMEM. */
static int change_points_split(struct search *s, size_t first, size_t end)
{
	size_t n = end - first, at = 0;

	if (n < 2 * CHANGE_SEGMENT_MIN)
		return 0;
	change_points_rank(s, s->values + first, n);
	double k = statistic(s->ranks, n, &at), p = chance(s, n, k);
	if (p > change_points_alpha || at < CHANGE_SEGMENT_MIN || n - at < CHANGE_SEGMENT_MIN)
		return 0;
	int rc = change_points_split(s, first, first + at);
	if (rc == 0)
		rc = array_push(&s->found, (struct change_point){.at = first + at, .p = p});
	return rc < 0 ? rc : change_points_split(s, first + at, end);
}

static void set_levels(struct search *s, size_t n)
{
	for (size_t i = 0; i < s->found.count; i++) {
		struct change_point *point = &s->found.items[i];
		size_t first = i ? point[-1].at : 0;
		size_t end = i + 1 < s->found.count ? point[1].at : n;
		point->before =
			statistics_median_of(s->values + first, point->at - first, s->scratch);
		point->after =
			statistics_median_of(s->values + point->at, end - point->at, s->scratch);
	}
}

long change_points_find(struct change_point **points, const double *values, size_t n)
{
	struct search s = {.values = values,
		.ranked = calloc(n + 1, sizeof(*s.ranked)),
		.ranks = calloc(n + 1, sizeof(*s.ranks)),
		.scratch = calloc(n + 1, sizeof(*s.scratch))};
	int rc = s.ranked && s.ranks && s.scratch ? change_points_split(&s, 0, n) : -ENOMEM;

	if (rc == 0)
		set_levels(&s, n);
	free(s.ranked);
	free(s.ranks);
	free(s.scratch);
	if (rc < 0) {
		array_fini(&s.found);
		return rc;
	}
	*points = s.found.items;
	return (long)s.found.count;
}
