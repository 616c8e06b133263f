/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A difference: by how much values of B are above those of A, and if that means anything. One value
 * of each run, times (less is better) or rates (more is better). The effect is the Hodges-Lehmann
 * shift of the logarithms, as a ratio less 1. Its interval is that of Student's t, and misses the
 * effect with the probability alpha. Many tests together get wider intervals, so that identical
 * sides lie beyond the threshold no more often.
 *
 * The interval decides alone: *slower* and *faster* mean that it lies beyond the threshold, *same*
 * that it lies within, *beyond zero* that it excludes zero only. It is unsure if and only if it
 * holds zero. So sign, interval, verdict and exit code agree. Where the medians go the other way
 * than the effect, the interval is widened until it holds zero.
 *
 * Few runs do not tell how much runs differ. So identical processes are assumed to differ by 10 %,
 * and also by as much as the caller says (`spread`). Single runs then show only effects far beyond
 * that. Data only; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum compare_verdict {
	COMPARE_UNSURE, /* not enough data: the interval holds zero */
	COMPARE_BEYOND, /* beyond zero, and perhaps within the threshold */
	COMPARE_SAME,
	COMPARE_FASTER,
	COMPARE_SLOWER,
	COMPARE_ONLY_A,
	COMPARE_ONLY_B,
};

enum difference_kind {
	DIFFERENCE_TIME,
	DIFFERENCE_RATE,
};

struct difference {
	enum difference_kind kind;
	double a, b; /* medians, in the unit of the values */
	/* B against A, ratios less 1 of that unit; NAN: not known */
	double effect, low, high;
	double p; /* the probability that no effect looks like this, over all tests together */
	double threshold;  /* that the verdict is of */
	double detectable; /* least effect on a time that is found in 4 of 5 trials; NAN */
	enum compare_verdict verdict;
};

struct difference_rule {
	double threshold; /* smaller effects on a time do not matter; a ratio less 1 */
	double alpha;  /* the probability that one of the tests sees a difference that is not there
			*/
	size_t tests;  /* that are made together; 0: one */
	double spread; /* standard deviation of logarithms that runs have at least */
};

enum { DIFFERENCE_FREEDOM_MIN = 6 }; /* that of four runs a side */

/* True if so few runs do not tell how much runs differ. */
static inline bool difference_assumes(size_t in_a, size_t in_b)
{
	return in_a + in_b < DIFFERENCE_FREEDOM_MIN + 2;
}

/*
 * A value each, at least one a side. Values that are not above 0 have no effect. -ENOMEM; NULL
 * values are none.
 */
int difference_of(struct difference *d, enum difference_kind kind, const double *a, size_t in_a,
	const double *b, size_t in_b, const struct difference_rule *rule);

/* "slower", "faster", "same", "beyond zero", "not enough data", "only in A", "only in B". */
const char *compare_verdict_name(enum compare_verdict verdict);

/* True if the row is judged: slower or faster. */
static inline bool difference_differs(const struct difference *d)
{
	return d->verdict == COMPARE_SLOWER || d->verdict == COMPARE_FASTER;
}

/* True if a gate fails: slower; or, when it is strict, not judged. */
static inline bool difference_fails(enum compare_verdict verdict, bool strict)
{
	return verdict == COMPARE_SLOWER ||
	       (strict && (verdict == COMPARE_UNSURE || verdict == COMPARE_BEYOND));
}
