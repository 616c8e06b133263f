/* SPDX-License-Identifier: Apache-2.0 */
/* Code that views with a table share, and views that are lines of text. */
#include "ui/top/top_view.h"

#include <stdlib.h>
#include <string.h>

#include "ui/text/text.h"

void view_draw_nothing(struct canvas *canvas, int y, const char *why)
{
	canvas_print(canvas, 1, y + 1, canvas->width - 2, STYLE_FAINT, "%s", why);
}

int view_count_lines(const char *text)
{
	int count = 0;
	for (const char *at = text ? text : ""; *at; count++) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return count;
}

static char *top_view_line_at(const char *text, int number)
{
	if (!text)
		return NULL;
	for (; number > 0 && *text; number--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	size_t n = strcspn(text, "\n");
	SCOPED char *line = strndup(text, n && text[n - 1] == '\r' ? n - 1 : n);
	for (char *c = line; c && *c; c++)
		if (*c == '\t')
			*c = ' ';
	return text_safe(line);
}

int view_rows(const struct view_class *view, struct top *top)
{
	struct grid grid;
	if (!top->picture && !view->is_log)
		return 0;
	if (view->text) {
		SCOPED char *text = view->text(top);
		return view_count_lines(text);
	}
	if (!view->make)
		return view->rows ? view->rows(top) : 0;
	view->make(&grid, top);
	int count = grid_selectable(&grid);
	grid_fini(&grid);
	return count;
}

char *view_row_text(const struct view_class *view, struct top *top, int row)
{
	if (view->text) {
		SCOPED char *text = view->text(top);
		return top_view_line_at(text, row);
	}
	if (!view->make)
		return view->row_text(top, row);
	SCOPED_BY(grid_fini) struct grid grid;
	view->make(&grid, top);
	return text_safe(row < (int)grid.row_count ? grid.rows[row].cells[0] : "");
}

void view_draw_table(
	const struct view_class *view, struct top *top, struct canvas *canvas, int y, int height)
{
	SCOPED_BY(grid_fini) struct grid grid;
	view->make(&grid, top);
	grid_draw(&grid, top_place(top), canvas, y, height);
}

void view_draw_text(
	const struct view_class *view, struct top *top, struct canvas *canvas, int y, int height)
{
	struct grid_place *place = top_place(top);
	SCOPED char *text = view->text(top);
	int count = view_count_lines(text);
	grid_scroll(place, count, height);
	if (!count && view->nothing)
		view_draw_nothing(canvas, y, view->nothing);
	for (int i = 0; i < height && place->scroll + i < count; i++) {
		SCOPED char *line = top_view_line_at(text, place->scroll + i);
		canvas_print(canvas, 0, y + i, canvas->width, STYLE_NORMAL, "%s", line);
		if (!view->is_log && place->scroll + i == place->selected)
			canvas_paint(canvas, 0, y + i, canvas->width, STYLE_SELECTED);
	}
}
