/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halves a list of builds, of which the first ones are good and all others bad, until the first bad
 * one is known. Builds that cannot be judged are passed over: then it may remain unknown among
 * several. Data only; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bisection {
	size_t good, bad;	/* the last one known to be good, the first one known to be bad */
	const bool *is_skipped; /* of all builds */
};

enum { BISECTION_END = -1 };

/* The build to judge next, the nearest to the middle; BISECTION_END: there is none. */
long bisection_next(const struct bisection *b);

/* A build was judged. */
void bisection_note(struct bisection *b, size_t build, bool is_bad);
