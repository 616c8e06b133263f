/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick diff`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/compare/compare.h"
#include "ui/text/diff_origin.h"
#include "ui/text/text.h"

struct diff_view {
	const struct compare *compare;
	const struct diff_origins *origins;
	enum summary_by by;
	unsigned long top; /* rows to show of each phase */
	bool all;	   /* all rows */
	double floor;	   /* what identical runs differed by here, a ratio; 0: not known */
};

void diff_text(const struct diff_view *view, FILE *out);
void diff_json(const struct diff_view *view, FILE *out);

/* Of these: what is measured, without the sides and the verdict on the whole; a new reference. */
void diff_measures(const struct diff_view *view, FILE *out);
json_t *diff_to_json(const struct diff_view *view);

/* What is to be said of an effect: "3.1% slower (+2.4..+3.9)"; the caller frees. */
char *diff_sentence(double threshold, const struct compare_row *row);

/* The tables of rows with a name; for the text form. */
struct terminal;
void diff_rows(const struct diff_view *view, const struct terminal *terminal);

/* "3.1% slower", "0.2% faster"; of a change of a time. */
char *diff_effect(char out[UNITS_BYTES], double effect);

/* " (2.4..3.9)", slower is positive; "" where the bounds are not known. */
char *diff_interval(char out[2 * UNITS_BYTES], const struct compare_row *row);
