/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled paragraphs, as the answers of commands are made of. Main thread. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include "brick/export.h"
#include "ui/text/terminal.h"

/*
 * Print a label, and the text from column `indent` on, within the terminal's width, or 100 columns
 * where it has none. What is not safe in the text is escaped (text.h).
 */
void paragraph(const struct terminal *terminal, size_t indent, const char *label,
	const char *format, ...) BRICK_PRINTF(4, 5);

/* One of a printer, whose `terminal` it is, with the texts from the file's column LABEL on; and in
 * a style. */
#define say(p, label, ...) paragraph((p)->terminal, LABEL, label, __VA_ARGS__)
#define say_in(p, style, label, ...)                  \
	do {                                          \
		terminal_begin((p)->terminal, style); \
		say(p, label, __VA_ARGS__);           \
		terminal_end((p)->terminal, style);   \
	} while (0)

/* "" for one, "s" for any other number. */
const char *plural_s(unsigned long long n);
