/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text on its way to a terminal: safe copies (text_escape.h), widths, cutting, paragraphs. Ends the
 * program when there is no memory. Main thread.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include "ui/text/text_escape.h"

/* Safe copy; the caller frees. NULL gives an empty string. */
char *text_safe(const char *s);

/* Columns that a safe string takes on a terminal. */
size_t text_width(const char *s);

/* The same string cut to at most `width` columns, ending in an ellipsis if it was cut. */
char *text_cut(const char *s, size_t width);

/* Copy in which each invalid byte is U+FFFD: for JSON, which must be valid UTF-8. */
char *text_valid(const char *s);

/*
 * Print a paragraph within `width` columns: label, then the text in the columns from `indent` on.
 * Both must be safe. width 0: on one line.
 */
void text_wrap(FILE *out, size_t width, size_t indent, const char *label, const char *text);

/* The same behind a label of `at` columns that the caller has printed. */
void text_flow(FILE *out, size_t width, size_t indent, size_t at, const char *text);
