/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the shift between values of two sides, with an interval that assumes no distribution:
 * Hodges and Lehmann's estimate, with the bounds that the exact test of Mann and Whitney (two
 * sides) or of Wilcoxon (pairs) does not reject. Ties make the interval wider, never narrower.
 * Functions return 0 or -ENOMEM where they return int. Pure; any thread.
 */
#pragma once

#include <stddef.h>

struct statistics_shift {
	double shift;	  /* the median of all differences */
	double low, high; /* -INFINITY, INFINITY: too few values for any bounds */
};

/*
 * Estimates how far b is above a; each has at least one value. alpha: the probability that the
 * interval misses the shift, both tails together. -ENOMEM.
 */
int statistics_shift(struct statistics_shift *out, const double *a, size_t a_count, const double *b,
	size_t b_count, double alpha);

/* Estimates the shift of n pairs from their differences, at least one. -ENOMEM. */
int statistics_shift_paired(
	struct statistics_shift *out, const double *differences, size_t n, double alpha);

/*
 * The greatest u at which Mann and Whitney's U (or Wilcoxon's signed rank sum) is in the lower tail
 * of at most `tail`; -1: none is. Exact up to 100 values (60 pairs), by the normal distribution
 * beyond. -ENOMEM.
 */
int statistics_rank_sum_bound(size_t a_count, size_t b_count, double tail);
int statistics_signed_rank_bound(size_t n, double tail);

/*
 * Student's t with `freedom` degrees of freedom. tails: the probability that a value is further
 * from 0 than t, in both directions together. bound: the t of a probability.
 */
double statistics_t_tails(double t, unsigned freedom);
double statistics_t_bound(double tails, unsigned freedom);

/* Median of n values, n > 0. The first sorts `values`; the second sorts a copy in scratch[n]. */
double statistics_median(double *values, size_t n);
double statistics_median_of(const double *values, size_t n, double *scratch);

/* Spread of one side's values, for programs that were run several times. */
struct statistics_spread {
	double mean;
	double sigma; /* standard deviation of a sample (n - 1); NAN: one value */
	double min, median, max;
	size_t count;
	size_t outliers; /* further from the median than 3.5 robust standard deviations */
};

/* Sorts n values and measures their spread; with no values all results are NAN. -ENOMEM. */
int statistics_spread(struct statistics_spread *out, double *values, size_t n);
