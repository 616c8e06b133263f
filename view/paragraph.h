/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled paragraphs, as the answers of commands are made of. Main thread. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include "brick/export.h"
#include "view/terminal.h"

/*
 * Print a label, and the text from column `indent` on, within the terminal's width, or 100 columns
 * where it has none. What is not safe in the text is escaped (text.h).
 */
void paragraph(FILE *out, const struct terminal *terminal, size_t indent, const char *label,
	const char *format, ...) BRICK_PRINTF(5, 6);

/* "" for one, "s" for any other number. */
const char *plural_s(unsigned long long n);
