/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of `brick diff` share. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "analysis/compare.h"
#include "view/diff_origin.h"
#include "view/units.h"

struct diff_view {
	const struct compare *compare;
	const struct diff_origins *origins;
	enum summary_by by;
	unsigned long top; /* rows to show of each phase */
	bool all;	   /* all rows */
};

void diff_text(const struct diff_view *view, FILE *out);
void diff_json(const struct diff_view *view, FILE *out);

/* The tables of rows with a name; for the text form. */
struct terminal;
void diff_rows(const struct diff_view *view, FILE *out, const struct terminal *terminal);

/* "3.1% slower", "0.2% faster"; of a change of a time. */
char *diff_effect(char out[UNITS_BYTES], double effect);

/* " (2.4..3.9)", slower is positive; "" where the bounds are not known. */
char *diff_interval(char out[2 * UNITS_BYTES], const struct compare_row *row);
