/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside on its way to a terminal: control characters, invalid UTF-8 and characters
 * that the locale or the eye cannot tell from others become visible escapes (\n, \x1b, \u202e), so
 * that no name can move the cursor, change colours or look like another line. Main thread.
 */
#ifndef BRICK_VIEW_TEXT_H
#define BRICK_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Take the locale's character set from the environment. */
void text_init(void);

/* Whether the locale's character set is UTF-8. */
bool text_is_utf8(void);

/* Safe copy; the caller frees. NULL gives an empty string. */
char *text_safe(const char *s);

/* The same for data: all that can be shown in any locale stays as it is. */
char *text_harmless(const char *s);

/* Safe copy in place of a buffer; what does not fit is cut off between characters. */
void text_escape(char *out, size_t size, const char *s);

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

#endif
