/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr, made harmless and written in one piece. Called by all commands. */
#include "ui/text/die.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "ui/text/exit_code.h"
#include "ui/text/text_escape.h"

static const char *where;
static atomic_bool line_is_shown;

void die_where_set(const char *text)
{
	where = text;
}

void die_line_set(bool is_shown)
{
	line_is_shown = is_shown;
}

static void say(const char *format, va_list arguments)
{
	char raw[4096], safe[8192];
	int n = where ? snprintf(raw, sizeof(raw), "%.1000s: ", where) : 0;
	vsnprintf(raw + n, sizeof(raw) - (size_t)n, format, arguments);
	text_escape(safe, sizeof(safe), raw);
	fprintf(stderr, "%sbrick: %s\n", line_is_shown ? "\r\033[K" : "", safe);
}

void warn(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void die(int code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(code);
}

void die_usage(const char *command, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	fprintf(stderr, "Try 'brick %s%s--help'.\n", command ? command : "", command ? " " : "");
	exit(CLI_USAGE);
}
