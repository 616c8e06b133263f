/* SPDX-License-Identifier: Apache-2.0 */
/* The view of what the program printed, where top has started it: the end of its log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "view/memory.h"
#include "view/text.h"
#include "tui/top.h"

enum { MAX_BYTES = 256 << 10 };

static char *read_end(const char *path)
{
	char *text = path ? file_end(path, MAX_BYTES) : NULL;
	return text ? text : xstrdup("");
}

static int count_lines(const char *text)
{
	int count = 0;
	for (const char *at = text; *at; count++) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return count;
}

static char *line_at(const char *text, int number)
{
	for (; number > 0 && *text; number--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	size_t n = strcspn(text, "\n");
	char *line = strndup(text, n && text[n - 1] == '\r' ? n - 1 : n);
	for (char *c = line; c && *c; c++)
		if (*c == '\t')
			*c = ' ';
	char *safe = text_safe(line);
	free(line);
	return safe;
}

static int rows(struct top *top)
{
	char *text = read_end(top->about.log);
	int count = count_lines(text);
	free(text);
	return count;
}

static char *row_text(struct top *top, int row)
{
	char *text = read_end(top->about.log), *line = line_at(text, row);
	free(text);
	return line;
}

/* Follows the end, unless the user has moved up from it. */
static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	char *text = read_end(top->about.log);
	struct grid_place *place = top_place(top);
	int count = count_lines(text);
	if (!place->sort || place->selected >= place->sort - 1)
		place->selected = count ? count - 1 : 0;
	place->sort = count; /* lines there were when it was drawn last */
	grid_scroll(place, count, height);
	if (!count)
		top_draw_nothing(canvas, y, "The program has printed nothing so far.");
	for (int i = 0; i < height && place->scroll + i < count; i++) {
		char *line = line_at(text, place->scroll + i);
		canvas_print(canvas, 0, y + i, canvas->width, STYLE_NORMAL, "%s", line);
		free(line);
	}
	free(text);
}

const struct view_class view_output = {
	.name = "output",
	.title = "Output",
	.draw = draw,
	.rows = rows,
	.row_text = row_text,
};
