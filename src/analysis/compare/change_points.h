/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where the level of a series of values changes, whatever their distribution is: Pettitt's
 * test (1979), of ranks, in the series and then in both parts of it, as long as it finds a change.
 * In a series of independent values without a change it finds one with a probability of at most 1
 * %. If values depend on their neighbours the probability is higher. Equal input gives equal
 * output. Pure; any thread.
 */
#pragma once

#include <stddef.h>

enum { CHANGE_SEGMENT_MIN = 4 }; /* fewest values between two changes */

struct change_point {
	size_t at;	      /* place of the first value after the change */
	double before, after; /* medians of the values up to the neighbouring changes */
	double p;	      /* of Pettitt's test in the segment that was split */
};

/* Returns the number of points, or -ENOMEM. *points: by place, ascending; the caller frees. */
long change_points_find(struct change_point **points, const double *values, size_t n);
