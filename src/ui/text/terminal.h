/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of an output, and paragraphs in it. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "brick/export.h"

struct terminal {
	FILE *out; /* borrowed */
	bool is_terminal;
	bool colours; /* never on anything but a terminal, nor with NO_COLOR set */
	bool utf8;
	size_t width; /* in columns; 0: unlimited */
};

enum terminal_style {
	STYLE_PLAIN,
	STYLE_STRONG, /* headings */
	STYLE_DIM,    /* secondary text */
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_BAD,
};

/* The width is COLUMNS (0: unlimited), or else the terminal's; without a terminal 100. */
void terminal_init(struct terminal *terminal, FILE *out);

/* Print text in a style; safe text only. */
void terminal_print(const struct terminal *terminal, enum terminal_style style, const char *text);

/* Print the begin and the end of styled text. */
void terminal_begin(const struct terminal *terminal, enum terminal_style style);
void terminal_end(const struct terminal *terminal, enum terminal_style style);

/* The sequences around styled text; "" where there are no colours. */
const char *terminal_style_begin(const struct terminal *terminal, enum terminal_style style);
const char *terminal_style_end(const struct terminal *terminal, enum terminal_style style);

/*
 * Print a label, and the text from column `indent` on, within the terminal's width. The text is
 * made safe.
 */
void paragraph(const struct terminal *terminal, size_t indent, const char *label,
	const char *format, ...) BRICK_PRINTF(4, 5);

/*
 * Prints a paragraph for a printer, which has a `terminal`, from the column LABEL of the file on;
 * say_in() prints it in a style.
 */
#define say(p, label, ...) paragraph((p)->terminal, LABEL, label, __VA_ARGS__)
#define say_in(p, style, label, ...)                  \
	do {                                          \
		terminal_begin((p)->terminal, style); \
		say(p, label, __VA_ARGS__);           \
		terminal_end((p)->terminal, style);   \
	} while (0)
