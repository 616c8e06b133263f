/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick tiles`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/accounts/tiles.h"

struct tiles_view {
	const struct run *run;
	const struct tiles *tiles;
	double peak_gflops; /* the whole of which shares are parts; 0: not known */
	int map;	    /* true: the text has the maps, too */
};

void tiles_text(const struct tiles_view *view, FILE *out);
void tiles_svg(const struct tiles_view *view, FILE *out);

/* Schema brick/tiles/1; a new reference. */
json_t *tiles_to_json(const struct tiles_view *view);
