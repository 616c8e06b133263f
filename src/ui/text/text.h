/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text on its way to a terminal: made, made safe, measured, cut, wrapped; numbers with their units.
 *
 * Without memory a function returns NULL for a text, and the thread remembers the failure: a
 * command calls text_error() once, when all is printed. All functions take NULL as an empty text.
 * Any thread, unless a function says otherwise.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/array.h"
#include "base/scope.h" /* SCOPED: the caller frees what these return */
#include "brick/export.h"

/* Make a text. NULL is copied to NULL. */
char *text_copy(const char *s);
char *text_format(const char *format, ...) BRICK_PRINTF(1, 2);

/* Zeroed memory to make a text in; NULL: there is none. */
void *text_room(size_t n, size_t size);

/* Append to a text, behind `between` if there is anything in it. *text moves; NULL is empty. */
void text_append(char **text, const char *between, const char *format, ...) BRICK_PRINTF(3, 4);

/* Remember that there was no memory for a part of an answer, if rc is negative; returns rc. */
int text_fail(int rc);

/* 0, or -ENOMEM if this thread lacked memory for a part of an answer since the last call. */
int text_error(void);

/* Text that is safe on a terminal. */

/*
 * Control characters, invalid UTF-8 and characters that the locale or the eye cannot tell from
 * others become visible escapes (\n, \x1b, \u202e), so that no name can move the cursor, change
 * colours or look like another line.
 */
enum { TEXT_SPELLED = 10 }; /* the most bytes that an escape takes for one byte of input */

/* True if the locale's character set is UTF-8. */
bool text_is_utf8(void);

/* Safe copy in place of a buffer; it is cut to fit between characters. */
void text_escape(char *out, size_t size, const char *s);

/* Safe copy; of NULL, an empty one. */
char *text_safe(const char *s);

/* Copy in which each invalid byte is U+FFFD: for JSON, which must be valid UTF-8. */
char *text_valid(const char *s);

/* Columns that a safe string takes on a terminal. */
size_t text_width(const char *s);

/* The same string cut to at most `width` columns, ending in an ellipsis if it was cut. */
char *text_cut(const char *s, size_t width);

/*
 * Print a paragraph within `width` columns: label, then the text in the columns from `indent` on.
 * Both must be safe. width 0: on one line.
 */
void text_wrap(FILE *out, size_t width, size_t indent, const char *label, const char *text);

/* The same behind a label of `at` columns that the caller printed. */
void text_flow(FILE *out, size_t width, size_t indent, size_t at, const char *text);

/* "" for one, "s" for any other number. */
const char *plural_s(unsigned long long n);

/* A message on stderr. */

/* "brick: WHAT: WHY". Unsafe characters are escaped. */
void warn(const char *format, ...) BRICK_PRINTF(1, 2);
void warn_arguments(const char *format, va_list arguments);

/* Says that stderr shows an unfinished line, which messages erase first. */
void warn_line_set(bool is_shown);

/*
 * Sets the place of a faulty option, with which messages begin from now on; NULL: none. Main
 * thread.
 */
void warn_where_set(const char *where);

/* Numbers with units, three significant digits; JSON and CSV never come through here. */

enum { UNITS_BYTES = 24 }; /* a buffer that holds any of these; each returns it */

/* "12.3µs" ("12.3us" where the locale is not UTF-8). ANALYSIS_UNKNOWN is "-", here and below. */
char *units_time(char out[UNITS_BYTES], uint64_t ns);

/* The same with a "~" before it, if an estimate is part of it and it is known. */
char *units_estimate(char out[UNITS_BYTES], uint64_t ns, bool is_estimated);

/* "4096", "1.23M". */
char *units_count(char out[UNITS_BYTES], uint64_t count);

/* "1.23GB", powers of 1000. */
char *units_bytes(char out[UNITS_BYTES], uint64_t bytes);

/* No unit; below 1 down to three decimals, "<0.001" below these; negative is "-". */
char *units_number(char out[UNITS_BYTES], double value);

/* Writes a share from 0 to 1: "12.3%"; "<0.1%" if it would round to 0; negative is "-". */
char *units_percent(char out[UNITS_BYTES], double share);
