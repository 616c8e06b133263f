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
	const char *where; /* the file that the ceilings come from, NULL: there are none */
	int phase;	   /* enum roofline_phase, or ROOFLINE_ALL_PHASES */
};

static inline bool roofline_shows(const struct roofline_view *view, const struct roofline_row *row)
{
	return view->phase == ROOFLINE_ALL_PHASES || (int)row->phase == view->phase;
}

/*
 * The ceilings and the number of threads under which most of the time was spent; *threads is 0
 * where no brick is under any.
 */
const struct ceilings *roofline_main(const struct roofline_view *view, uint32_t *threads);

/* Why rows with this flag have no roof, as a clause: "threads were preempted ...". */
const char *roofline_why_text(enum roofline_flags why);

/* The roof of a row, "L3" or "AVX2 f32"; the caller frees. NULL: it has none. */
char *roofline_roof_text(const struct roofline_row *row);

void roofline_text(const struct roofline_view *view, FILE *out);

/* Also without ceilings; a new reference. */
json_t *roofline_to_json(const struct roofline_view *view);

/* Why ceilings do not hold for a recording: a sentence, or NULL. */
const char *roofline_doubt(enum ceilings_doubt doubt);

void roofline_svg(const struct roofline_view *view, FILE *out);
