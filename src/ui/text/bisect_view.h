/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick bisect`, and its forms. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "analysis/compare/difference.h"
#include "ui/text/diff.h"

/* A build that was run. */
struct bisect_step {
	const char *build;
	const char *fault; /* why it could not be judged; NULL: it was judged */
	size_t runs;
	struct difference difference; /* against the first build */
	bool is_bad;		      /* slower than the threshold */
	bool is_doubtful; /* the interval allows both verdicts; is_bad is the likelier */
};

struct bisect_view {
	const char *first, *last; /* of all builds */
	const char *good, *bad;	  /* the last good and the first bad build; NULL: no build is bad */
	size_t builds;		  /* all */
	size_t between;		  /* skipped builds that may be the first bad one */
	const char *phase, *brick; /* the measure; brick NULL: the whole token */
	const struct bisect_step *steps;
	size_t step_count;	      /* in the order of running: the last build comes first */
	const struct diff_view *diff; /* the first bad build against the first; NULL: none is bad */
};

void bisect_text(const struct bisect_view *view, FILE *out);
void bisect_json(const struct bisect_view *view, FILE *out);
