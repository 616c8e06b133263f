/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of many measures of the same blocks at once: how probable it is, if the labels A and B mean
 * nothing, that any of them would differ as much as this one does. The labels of whole blocks are
 * permuted (the sign of a pair's difference is flipped), so that whatever the measures have to do
 * with each other is in the answer; step-down maxT of Westfall and Young (1993), which rejects all
 * that Holm's method would and knows no more than 2 / (number of labellings) as its least answer.
 * Statistic: Student's t. All labellings are tried where they are few, else a fixed sequence of
 * random ones: equal input gives equal output. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct permutation_family {
	const double *values; /* [measures][blocks]: A's blocks first; paired: differences B - A */
	size_t measures, blocks;
	size_t in_a; /* blocks of A; paired: not used */
	bool paired;
	const double *widen; /* [measures], t is divided by it; NULL: by 1 */
};

/*
 * p: [measures], adjusted for all of them. *critical_t: what t had to be beyond for p <= alpha of
 * the least of them; INFINITY: there are too few blocks for any. -ENOMEM.
 */
int permutation_test(
	const struct permutation_family *family, double alpha, double *p, double *critical_t);

/* Labellings that there are of so many blocks, INFINITY if they are too many to count. */
double permutation_labellings(size_t a, size_t b);
