/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A difference in words, the same in all commands: a time "-37 % (-41 to -33 %)", a rate "1.58x
 * (1.49 to 1.92)", and from ten times on factors for both. A "~" stands before a difference that
 * may be zero: "~ +2.1 % (-20 to +26 %)". Any thread.
 */
#pragma once

#include "analysis/compare/difference.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

enum { DIFFERENCE_BYTES = 64 };

/* "-37 %", "+0.3 %", "220x", "1.58x"; "-": not known. Returns `out`, as do all functions here. */
char *difference_size(char out[DIFFERENCE_BYTES], const struct difference *d);

/* The same for a table, with "~" before it if it may be zero. */
char *difference_short(char out[DIFFERENCE_BYTES], const struct difference *d);

/* "-41 to -33 %", "1.49 to 1.92"; "": not known. */
char *difference_interval(char out[DIFFERENCE_BYTES], const struct difference *d);

/* Effect and interval; the caller frees this text. */
char *difference_text(const struct difference *d);

/* The smallest difference that four of five such comparisons find: "5.2 %"; "": not known. */
char *difference_sees(char out[DIFFERENCE_BYTES], const struct difference *d);

enum terminal_style difference_style(enum compare_verdict verdict);
