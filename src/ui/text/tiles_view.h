/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of `brick tiles` share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/accounts/tiles.h"

struct tiles_view {
	const struct run *run;
	const struct tiles *tiles;
	double peak_gflops; /* what a share is of; 0: not known */
	int map;	    /* show the maps as text, too */
};

void tiles_text(const struct tiles_view *view, FILE *out);
void tiles_svg(const struct tiles_view *view, FILE *out);

/* Schema brick/tiles/1; a new reference. */
json_t *tiles_to_json(const struct tiles_view *view);

/* Name of the brick that a group's tiles lie in; never NULL. */
const char *tiles_brick_name(const struct tiles_view *view, const struct tiles_group *group);

/* Mean time of a cell's tiles; negative: there are none. */
double tiles_bin_mean_ns(const struct tiles_bin *bin);

/* The scale of a map: the least mean of its cells, and the one that 95 % do not exceed; returns
 * whether any does. Negative: no tiles there. */
bool tiles_bin_range(const struct tiles_group *group, double *low_ns, double *high_ns);
