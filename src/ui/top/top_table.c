/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What views with a table have in common, and those that are lines of text. Called by top.c,
 * top_keys.c and the views.
 */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "ui/text/text_out.h"
#include "ui/top/top.h"

static void make(struct grid *grid, struct top *top)
{
	top_views[top->view]->make(grid, top);
}

int top_count_lines(const char *text)
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
	SCOPED char *line = strndup(text, n && text[n - 1] == '\r' ? n - 1 : n);
	for (char *c = line; c && *c; c++)
		if (*c == '\t')
			*c = ' ';
	return text_safe(line);
}

int top_rows(struct top *top)
{
	const struct view_class *view = top_views[top->view];
	struct grid grid;
	if (!top->picture && view != &view_output)
		return 0;
	if (view->text) {
		SCOPED char *text = view->text(top);
		return top_count_lines(text);
	}
	if (!view->make)
		return view->rows ? view->rows(top) : 0;
	make(&grid, top);
	int count = grid_selectable(&grid);
	grid_fini(&grid);
	return count;
}

char *top_row_text(struct top *top, int row)
{
	const struct view_class *view = top_views[top->view];
	if (view->text) {
		SCOPED char *text = view->text(top);
		return line_at(text, row);
	}
	if (!view->make)
		return view->row_text(top, row);
	SCOPED_BY(grid_fini) struct grid grid;
	make(&grid, top);
	return text_safe(row < (int)grid.row_count ? grid.rows[row].cells[0] : "");
}

void top_draw_table(struct top *top, struct canvas *canvas, int y, int height)
{
	SCOPED_BY(grid_fini) struct grid grid;
	make(&grid, top);
	grid_draw(&grid, top_place(top), canvas, y, height);
}

void top_draw_text(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct view_class *view = top_views[top->view];
	struct grid_place *place = top_place(top);
	SCOPED char *text = view->text(top);
	int count = top_count_lines(text);
	grid_scroll(place, count, height);
	if (!count && view->nothing)
		top_draw_nothing(canvas, y, view->nothing);
	for (int i = 0; i < height && place->scroll + i < count; i++) {
		SCOPED char *line = line_at(text, place->scroll + i);
		canvas_print(canvas, 0, y + i, canvas->width, STYLE_NORMAL, "%s", line);
		if (view != &view_output && place->scroll + i == place->selected)
			canvas_paint(canvas, 0, y + i, canvas->width, STYLE_SELECTED);
	}
}
