/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick roofline`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/roofline/roofline.h"

enum { ROOFLINE_ALL_PHASES = -1 };

struct roofline_view {
	const struct roofline *roofline;
	const char *where; /* the file of the ceilings; NULL: there are none */
	int phase;	   /* enum roofline_phase, or ROOFLINE_ALL_PHASES */
};

/* Why rows with this flag have no roof, as a clause: "threads were preempted ...". */
const char *roofline_why_text(enum roofline_flags why);

void roofline_text(const struct roofline_view *view, FILE *out);

/* Schema brick/roofline/2, also without ceilings; a new reference. */
json_t *roofline_to_json(const struct roofline_view *view);
