/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank statistics. The null distributions are counted, as every table of them was: the ways to draw
 * ranks that have a given sum.
 */
#include "analysis/statistics/statistics.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"
#include "base/scope.h"

/* up to so many values, or pairs, distributions are counted; beyond they are taken as normal */
enum { EXACT_VALUES = 100, EXACT_PAIRS = 60 };

static double middle(const double *sorted, size_t n)
{
	return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double statistics_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), order_doubles);
	return middle(values, n);
}

double statistics_median_of(const double *values, size_t n, double *scratch)
{
	memcpy(scratch, values, n * sizeof(*values));
	return statistics_median(scratch, n);
}

enum { OUTLIERS_FROM = 5 }; /* fewest values: of fewer, the median distance is chance */

/* Iglewicz and Hoaglin: the median of the distances from the median stands for sigma. */
static int count_outliers(struct statistics_spread *out, const double *values, size_t n)
{
	static const double normal = 0.6745, far = 3.5;
	SCOPED double *distances = calloc(n, sizeof(*distances));

	if (!distances)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		distances[i] = fabs(values[i] - out->median);
	double usual = statistics_median(distances, n);
	for (size_t i = 0; i < n && usual > 0; i++)
		out->outliers += normal * distances[i] / usual > far;
	return 0;
}

int statistics_spread(struct statistics_spread *out, double *values, size_t n)
{
	double sum = 0, squares = 0;

	*out = (struct statistics_spread){NAN, NAN, NAN, NAN, NAN, n, 0};
	if (!n)
		return 0;
	out->median = statistics_median(values, n);
	out->min = values[0];
	out->max = values[n - 1];
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	out->mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - out->mean) * (values[i] - out->mean);
	if (n > 1)
		out->sigma = sqrt(squares / (double)(n - 1));
	return n < OUTLIERS_FROM ? 0 : count_outliers(out, values, n);
}

/* The greatest sum whose lower tail has at most that share of all ways. */
static int bound_of(const double *ways, size_t sums, double tail)
{
	double all = 0, below = 0;
	size_t s = 0;

	for (size_t i = 0; i < sums; i++)
		all += ways[i];
	while (s < sums && below + ways[s] <= tail * all * (1 + 1e-12))
		below += ways[s++];
	return (int)s - 1;
}

/* z with that much of the normal distribution below it, by bisection; tail < 0.5. */
static double normal_quantile(double tail)
{
	double low = -40, high = 0;

	for (int i = 0; i < 100; i++) {
		double at = (low + high) / 2;
		*(erfc(-at / sqrt(2)) / 2 < tail ? &low : &high) = at;
	}
	return low;
}

static int normal_bound(double mean, double variance, double tail)
{
	double bound = floor(mean + normal_quantile(tail) * sqrt(variance) - 0.5);

	return bound > INT_MAX ? INT_MAX : bound < -1 ? -1 : (int)bound;
}

/*
 * ways[k][u]: to choose k of the values that came so far for A so that u pairs have A's value
 * above B's: a value that goes to A is above all of B's before it.
 */
static void count_rank_sums(double *ways, size_t a, size_t b)
{
	size_t width = a * b + 1;

	ways[0] = 1;
	for (size_t seen = 0; seen < a + b; seen++)
		for (size_t k = seen < a ? seen + 1 : a; k > 0; k--) {
			size_t above = seen - (k - 1);
			for (size_t u = above; above <= b && u < width; u++)
				ways[k * width + u] += ways[(k - 1) * width + u - above];
		}
}

int statistics_rank_sum_bound(size_t a, size_t b, double tail)
{
	double pairs = (double)a * (double)b;

	if (a + b > EXACT_VALUES)
		return normal_bound(pairs / 2, pairs * (double)(a + b + 1) / 12, tail);
	SCOPED double *ways = calloc((a + 1) * (a * b + 1), sizeof(*ways));
	if (!ways)
		return -ENOMEM;
	count_rank_sums(ways, a, b);
	return bound_of(ways + a * (a * b + 1), a * b + 1, tail);
}

int statistics_signed_rank_bound(size_t n, double tail)
{
	double sum = (double)n * (double)(n + 1) / 2;

	if (n > EXACT_PAIRS)
		return normal_bound(sum / 2, sum * (double)(2 * n + 1) / 12, tail);
	size_t sums = n * (n + 1) / 2 + 1;
	SCOPED double *ways = calloc(sums, sizeof(*ways));
	if (!ways)
		return -ENOMEM;
	ways[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t s = sums - 1; s >= rank; s--)
			ways[s] += ways[s - rank];
	return bound_of(ways, sums, tail);
}

/* bound: how many differences to leave out at each end, less one; differences are put in order. */
static void shift_of(struct statistics_shift *out, double *differences, size_t n, int bound)
{
	qsort(differences, n, sizeof(*differences), order_doubles);
	out->shift = middle(differences, n);
	out->low = bound < 0 ? -INFINITY : differences[bound];
	out->high = bound < 0 ? INFINITY : differences[n - 1 - (size_t)bound];
}

int statistics_shift(struct statistics_shift *out, const double *a, size_t a_count, const double *b,
	size_t b_count, double alpha)
{
	int bound = statistics_rank_sum_bound(a_count, b_count, alpha / 2);
	SCOPED double *differences = calloc(a_count * b_count, sizeof(*differences));

	if (!differences || bound < -1)
		return -ENOMEM;
	for (size_t i = 0; i < a_count; i++)
		for (size_t k = 0; k < b_count; k++)
			differences[i * b_count + k] = b[k] - a[i];
	shift_of(out, differences, a_count * b_count, bound);
	return 0;
}

int statistics_shift_paired(
	struct statistics_shift *out, const double *differences, size_t n, double alpha)
{
	int bound = statistics_signed_rank_bound(n, alpha / 2);
	size_t count = 0;
	SCOPED double *averages = calloc(n * (n + 1) / 2, sizeof(*averages));

	if (!averages || bound < -1)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i; k < n; k++)
			averages[count++] = (differences[i] + differences[k]) / 2;
	shift_of(out, averages, count, bound);
	return 0;
}

/* Abramowitz and Stegun 26.7.3 and 26.7.4: a sum that ends, as degrees of freedom are whole. */
double statistics_t_tails(double t, unsigned freedom)
{
	double angle = atan(t / sqrt(freedom)), cosine = cos(angle), term = 1, sum = 0;
	bool odd = freedom % 2;

	if (odd)
		term = cosine;
	for (unsigned k = odd ? 3 : 2; k <= freedom; k += 2) {
		sum += term;
		term *= cosine * cosine * (k - 1) / k;
	}
	double inside = odd ? 2 / M_PI * (angle + sin(angle) * sum) : sin(angle) * sum;
	return inside < 1 ? 1 - inside : 0;
}

double statistics_t_bound(double tails, unsigned freedom)
{
	double low = 0, high = 1;

	while (statistics_t_tails(high, freedom) > tails && high < 1e9)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double at = (low + high) / 2;
		*(statistics_t_tails(at, freedom) > tails ? &low : &high) = at;
	}
	return high;
}
