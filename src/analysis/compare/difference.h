/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A difference: by how much values of B are above values of A, and if that means anything. There is
 * one value of each run, a time (less is better) or a rate (more is better). The effect is the
 * Hodges-Lehmann shift of the logarithms, as a ratio less 1. Its interval is made by Student's t,
 * and misses the effect with the probability alpha. Tests that are made together get wider
 * intervals, so that identical sides lie beyond the threshold no more often.
 *
 * The interval decides alone: *slower* and *faster* mean that it lies beyond the threshold, *same*
 * that it lies within, *beyond zero* that it excludes zero only. Else the verdict is unsure: the
 * interval holds zero and reaches beyond the threshold. So sign, interval, verdict and exit code
 * agree. Where the medians go the other way
 * than the effect, the interval is widened until it holds zero.
 *
 * Few runs do not tell how much runs differ. Then runs of identical processes are assumed to have a
 * standard deviation of 10 %, and beside it the deviation that the caller says (`spread`). Single
 * runs then show only effects far beyond that. Data only; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum compare_verdict {
	COMPARE_UNSURE, /* not enough data: it holds zero and reaches beyond the threshold */
	COMPARE_BEYOND, /* the interval excludes zero, but not all effects within the threshold */
	COMPARE_SAME,	/* the interval lies within the threshold */
	COMPARE_FASTER, /* the interval lies beyond the threshold */
	COMPARE_SLOWER, /* the interval lies beyond the threshold */
	COMPARE_ONLY_A, /* no value above 0 in B */
	COMPARE_ONLY_B, /* no value above 0 in A */
};

enum difference_kind {
	DIFFERENCE_TIME,
	DIFFERENCE_RATE,
};

struct difference {
	enum difference_kind kind;
	double a, b;		  /* medians, in the unit of the values */
	double effect, low, high; /* b / a less 1, and its interval; NAN: not known */
	double p; /* probability of such an effect by chance, corrected for all tests; NAN */
	double threshold;  /* of the rule that made the verdict */
	double detectable; /* least effect on a time that 4 of 5 trials find, ratio less 1; NAN */
	enum compare_verdict verdict;
};

struct difference_rule {
	double threshold; /* smaller effects on a time do not matter; a ratio less 1 */
	double alpha;	  /* probability that any of the tests sees a difference by chance */
	size_t tests;	  /* number of tests that are made together; 0: one */
	double spread;	  /* least standard deviation of logarithms, where runs are few */
};

enum { DIFFERENCE_FREEDOM_MIN = 6 }; /* degrees of freedom: four runs a side have them */

/* True if there are so few runs that their spread is assumed. */
static inline bool difference_assumes(size_t in_a, size_t in_b)
{
	return in_a + in_b < DIFFERENCE_FREEDOM_MIN + 2;
}

/*
 * Makes the difference of in_a and in_b values, at least one a side. If a value is not above 0 or
 * not finite, the effect is NAN and the verdict COMPARE_UNSURE. -ENOMEM.
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

/* True if a gate fails: slower; a strict gate also fails where nothing can be said. */
static inline bool difference_fails(enum compare_verdict verdict, bool strict)
{
	return verdict == COMPARE_SLOWER ||
	       (strict && (verdict == COMPARE_UNSURE || verdict == COMPARE_BEYOND));
}
