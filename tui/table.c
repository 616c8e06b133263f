/* SPDX-License-Identifier: Apache-2.0 */
/* What views with a table have in common. Called by top.c, top_keys.c and the views. */

#include "view/text.h"
#include "tui/top.h"

static void make(struct grid *grid, struct top *top)
{
	top_views[top->view]->make(grid, top);
}

int top_rows(struct top *top)
{
	const struct view_class *view = top_views[top->view];
	struct grid grid;
	if (!top->picture && view != &view_output)
		return 0;
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
	struct grid grid;
	if (!view->make)
		return view->row_text(top, row);
	make(&grid, top);
	char *text = text_safe(row < (int)grid.row_count ? grid.rows[row].cells[0] : "");
	grid_fini(&grid);
	return text;
}

void top_draw_table(struct top *top, struct canvas *canvas, int y, int height)
{
	struct grid grid;
	make(&grid, top);
	grid_draw(&grid, top_place(top), canvas, y, height);
	grid_fini(&grid);
}
