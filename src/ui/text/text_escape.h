/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside on its way to a terminal: control characters, invalid UTF-8 and characters
 * that the locale or the eye cannot tell from others become visible escapes (\n, \x1b, \u202e), so
 * that no name can move the cursor, change colours or look like another line. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_SPELLED = 10 }; /* at most so many bytes stand for one */

/* Whether the locale's character set is UTF-8. */
bool text_is_utf8(void);

/* Safe copy in place of a buffer; what does not fit is cut off between characters. */
void text_escape(char *out, size_t size, const char *s);
