/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick advise`, and its forms. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/advise/advise.h"

struct advise_row {
	char *setting;			/* "threads=2 ubatch=64" */
	const char **values;		/* of each axis */
	struct advise_answer predicted; /* before it was run; or measured, for the model */
	struct advise_answer answer;
};

struct advise_view {
	const char *pattern;	 /* the command with its settings in braces */
	const char *const *axes; /* names */
	size_t axis_count;
	const struct advise_row *rows; /* the best first, unknown ones last */
	size_t row_count;
	size_t base, best; /* rows */
	bool is_checked;   /* the best was run */
	enum advise_phase goal;
	double tokens[ADVISE_PHASES]; /* in a run of the base */
	size_t measured, runs;	      /* settings that the model used, and all runs */
	size_t repeated, disturbed; /* runs during which others used the CPUs: repeated, or kept */
	double elapsed_s;
	const char *faults; /* settings that failed, a line each; NULL: none */
};

void advise_text(const struct advise_view *view, FILE *out);
void advise_json(const struct advise_view *view, FILE *out); /* schema brick/advise/1 */
