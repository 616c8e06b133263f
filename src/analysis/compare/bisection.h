/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halves a list of builds, of which the first ones are good and all others bad, until the first bad
 * one is known. Builds that cannot be judged are passed over: then it may remain unknown among
 * several. Data only; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "analysis/compare/difference.h"

struct bisection {
	size_t good;		/* the last build that is known to be good */
	size_t bad;		/* the first build that is known to be bad; above good */
	const bool *is_skipped; /* by build: cannot be judged */
};

enum { BISECTION_END = -1 };

/*
 * True if the interval of a build's difference from the first one lies on both sides of its
 * threshold, or is not known: neither "bad" nor "good" is certain then.
 */
bool bisection_is_doubtful(const struct difference *d);

/* The build to judge next, the nearest to the middle; BISECTION_END: none is left between. */
long bisection_next(const struct bisection *b);

/* Notes the result of a build between good and bad. */
void bisection_note(struct bisection *b, size_t build, bool is_bad);
