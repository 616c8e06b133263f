/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick bisect`, and its forms. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "analysis/compare/difference.h"
#include "ui/text/diff.h"

/* The builds that were run, in that order. */
struct bisect_step {
	const char *build, *fault; /* fault: why it could not be judged, or NULL */
	size_t runs;
	struct difference difference; /* against the first build */
	bool is_bad, is_doubtful;     /* doubtful: its interval allows both sides, and this is the
					 nearer one */
};

struct bisect_view {
	const char *first, *last;  /* of all builds */
	const char *good, *bad;	   /* the last good and the first bad one; NULL: nothing is bad */
	size_t builds, between;	   /* between: skipped builds that may be the first bad one */
	const char *phase, *brick; /* the measure; brick NULL: the whole token */
	const struct bisect_step *steps;
	size_t step_count;	      /* the last build comes first */
	const struct diff_view *diff; /* the first bad one against the first; NULL: there is none */
};

void bisect_text(const struct bisect_view *view, FILE *out);
void bisect_json(const struct bisect_view *view, FILE *out);
