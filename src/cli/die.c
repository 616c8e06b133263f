/* SPDX-License-Identifier: Apache-2.0 */
/* The only place of the tools that ends the program before main() does. */
#include "cli/die.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void die(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	warn_arguments(format, arguments);
	va_end(arguments);
	exit(code);
}

void die_usage(const char *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	warn_arguments(format, arguments);
	va_end(arguments);
	fprintf(stderr, "Try 'brick %s%s--help'.\n", command ? command : "", command ? " " : "");
	exit(CLI_USAGE);
}

void xcheck(int rc)
{
	if (rc < 0)
		die(CLI_SYSTEM, "not enough memory");
}

static void *die_check(void *p)
{
	xcheck(p ? 0 : -1);
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return die_check(calloc(n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return die_check(strdup(s));
}

char *xasprintf(const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	int n = vasprintf(&text, format, arguments);
	va_end(arguments);
	return die_check(n < 0 ? NULL : text);
}

void xappend(char **text, const char *between, const char *format, ...)
{
	SCOPED char *part = NULL;
	va_list arguments;

	va_start(arguments, format);
	int n = vasprintf(&part, format, arguments);
	va_end(arguments);
	die_check(n < 0 ? NULL : part);
	text_append(text, between, "%s", part);
	xcheck(text_error());
}
