/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes untrusted text for JSON, CSV and XML. utf8.h alone decides which characters are safe to
 * show. The writers to a FILE take NULL as an empty text; stream errors stay with the stream. The
 * character functions serve other destinations: each reads one character of a text of `left` bytes
 * (at least 1), writes the replacement, and returns the number of bytes that it read. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The replacement of one character. */
struct escaped {
	char text[15]; /* with a final NUL */
	uint8_t bytes; /* without the NUL */
};

/* A character of a JSON string, in ASCII; bytes that are no UTF-8 become U+FFFD. */
size_t escape_json_character(struct escaped *out, const char *text, size_t left);

/*
 * Spells a character that must not be shown as it is: \n, \r, \t, \xNN (also a byte that is no
 * UTF-8), \uNNNN or \UNNNNNNNN.
 */
size_t escape_spell(struct escaped *out, const char *text, size_t left);

/*
 * A cell of CSV (RFC 4180), in quotes where it needs them; unsafe characters are spelled, in one
 * line: \xNN, \uNNNN or \UNNNNNNNN. A quote goes in front of a cell that a spreadsheet would take
 * for a formula (= + - @): '=1+1.
 */
void escape_csv(FILE *out, const char *text);

/*
 * Text of an XML 1.0 element or quoted attribute; unsafe characters, and those that XML cannot
 * hold, become U+FFFD.
 */
void escape_xml(FILE *out, const char *text);
