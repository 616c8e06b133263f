/* SPDX-License-Identifier: Apache-2.0 */
/* Width, colours and character set of an output; labelled paragraphs within that width. */
#include "ui/text/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/number.h"
#include "ui/text/text.h"

enum { MIN_WIDTH = 20, DEFAULT_WIDTH = 80, MAX_WIDTH = 10000, PIPE_WIDTH = 100 };

/* False: the text is no width. */
static bool width_from_environment(size_t *width)
{
	const char *columns = getenv("COLUMNS");
	uint64_t asked;

	if (!columns || number_u64(columns, 0, MAX_WIDTH, &asked))
		return false;
	*width = asked && asked < MIN_WIDTH ? MIN_WIDTH : (size_t)asked;
	return true;
}

static size_t width_of_terminal(int fd)
{
	struct winsize size;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return DEFAULT_WIDTH;
	return size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col;
}

static bool wants_colours(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (no_color && *no_color)
		return false;
	return term && *term && strcmp(term, "dumb");
}

void terminal_init(struct terminal *terminal, FILE *out)
{
	int fd = fileno(out);
	memset(terminal, 0, sizeof(*terminal));
	terminal->out = out;
	terminal->utf8 = text_is_utf8();
	terminal->is_terminal = fd >= 0 && isatty(fd);
	terminal->colours = terminal->is_terminal && wants_colours();
	if (!width_from_environment(&terminal->width))
		terminal->width = terminal->is_terminal ? width_of_terminal(fd) : PIPE_WIDTH;
}

const char *terminal_style_begin(const struct terminal *terminal, enum terminal_style style)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "",
		[STYLE_STRONG] = "\033[1m",
		[STYLE_DIM] = "\033[2m",
		[STYLE_GOOD] = "\033[32m",
		[STYLE_WARN] = "\033[33m",
		[STYLE_BAD] = "\033[31m",
	};
	return terminal->colours ? sequences[style] : "";
}

const char *terminal_style_end(const struct terminal *terminal, enum terminal_style style)
{
	return terminal->colours && style != STYLE_PLAIN ? "\033[0m" : "";
}

void terminal_begin(const struct terminal *terminal, enum terminal_style style)
{
	fputs(terminal_style_begin(terminal, style), terminal->out);
}

void terminal_end(const struct terminal *terminal, enum terminal_style style)
{
	fputs(terminal_style_end(terminal, style), terminal->out);
}

void terminal_print(const struct terminal *terminal, enum terminal_style style, const char *text)
{
	fprintf(terminal->out, "%s%s%s", terminal_style_begin(terminal, style), text,
		terminal_style_end(terminal, style));
}

void paragraph(
	const struct terminal *terminal, size_t indent, const char *label, const char *format, ...)
{
	SCOPED char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	int n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (text_fail(n < 0 ? -ENOMEM : 0) < 0) {
		text = NULL;
		return;
	}
	SCOPED char *safe = text_safe(text);
	text_wrap(terminal->out, terminal->width, indent, label, safe);
}
