/* SPDX-License-Identifier: Apache-2.0 */
/* Paragraphs: formatted, made safe, wrapped. Called by what prints answers as text. */
#include "ui/text/paragraph.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/scope.h"
#include "ui/text/text_out.h"

enum { WIDTH = 100 }; /* of what is no terminal */

void paragraph(
	const struct terminal *terminal, size_t indent, const char *label, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	int n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	SCOPED char *safe = text_safe(text);
	text_wrap(terminal->out, terminal->width ? terminal->width : WIDTH, indent, label, safe);
	free(text);
}

const char *plural_s(unsigned long long n)
{
	return n == 1 ? "" : "s";
}
