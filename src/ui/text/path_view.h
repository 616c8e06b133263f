/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick path`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/path/path.h"

struct path_view {
	const struct run *run;
	const struct path *path;
	const struct step_index *index;
	size_t top; /* rows to show of each section; 0: the rows that matter */
	int all;    /* show all rows, whatever `top` says */
};

void path_text(const struct path_view *view, FILE *out);

/* Schema brick/path/1; a new reference. */
json_t *path_to_json(const struct path_view *view);
