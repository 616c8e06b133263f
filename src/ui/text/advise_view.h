/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick advise`, and its forms. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/advise/advise.h"

struct advise_row {
	char *setting;			/* "threads=2 ubatch=64" */
	const char **values;		/* [axis_count] */
	struct advise_answer predicted; /* before the check: by the model, or measured for it */
	struct advise_answer answer;	/* the final one */
};

struct advise_view {
	const char *pattern;	 /* the command with its settings in braces */
	const char *const *axes; /* names of the parameters */
	size_t axis_count;
	const struct advise_row *rows; /* the best first, unknown ones last */
	size_t row_count;
	size_t base;	 /* row of the settings that the user has */
	size_t best;	 /* row */
	bool is_checked; /* the best was run */
	enum advise_phase goal;
	double tokens[ADVISE_PHASES]; /* in a run of the base */
	size_t measured;	      /* settings that were run for the model */
	size_t runs;		      /* of all settings */
	size_t repeated;	      /* runs that were repeated, because others used the CPUs */
	size_t disturbed;	      /* runs that were kept though others used the CPUs */
	double elapsed_s;
	const char *faults;  /* settings that failed, a line each; NULL: none */
	bool is_interrupted; /* a signal ended the runs: the choice is among settings that were run
			      */
};

/* A setting's rate of the view's goal, "212 tokens/s of decode"; NULL: not known. */
char *advise_said(const struct advise_view *view, const struct advise_answer *answer);

void advise_text(const struct advise_view *view, FILE *out);
void advise_json(const struct advise_view *view, FILE *out); /* schema brick/advise/1 */
