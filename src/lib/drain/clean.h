/* SPDX-License-Identifier: Apache-2.0 */
/* Texts out of another process's memory, after they have been copied. Any thread. */
#pragma once

#include <stddef.h>

/* End the text in a field of `bytes`; what is no printable UTF-8 becomes '?'. */
void drain_clean_text(char *text, size_t bytes);

/* The same for lines, whose newlines stay. The text is ended. */
void drain_clean_lines(char *text);
