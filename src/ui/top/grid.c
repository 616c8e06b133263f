/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out and draws tables. */
#include "ui/top/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/order.h"
#include "ui/text/text.h"

enum { GAP = 1, MIN_BAR = 6, MAX_BAR = 24, MIN_FIRST = 12 };

void grid_init(struct grid *grid, const struct grid_column *columns, size_t count)
{
	memset(grid, 0, sizeof(*grid));
	for (size_t i = 0; i < count; i++)
		grid_column_add(grid, columns[i].title, columns[i].kind, columns[i].rank);
}

void grid_column_add(struct grid *grid, const char *title, enum grid_kind kind, unsigned rank)
{
	if (grid->column_count < GRID_COLUMNS)
		grid->columns[grid->column_count++] = (struct grid_column){title, kind, rank};
}

static void clear_cells(struct grid_row *row)
{
	for (size_t c = 0; c < GRID_COLUMNS; c++)
		free(row->cells[c]);
	memset(row, 0, sizeof(*row));
}

void grid_fini(struct grid *grid)
{
	for (size_t i = 0; i < grid->row_count; i++)
		clear_cells(&grid->rows[i]);
	clear_cells(&grid->spare);
	free(grid->rows);
	memset(grid, 0, sizeof(*grid));
}

struct grid_row *grid_add(struct grid *grid)
{
	void *rows = array_grow(
		grid->rows, &grid->row_capacity, grid->row_count + 1, sizeof(*grid->rows));
	if (text_fail(rows ? 0 : -ENOMEM) < 0) {
		clear_cells(&grid->spare);
		return &grid->spare;
	}
	grid->rows = rows;
	struct grid_row *row = &grid->rows[grid->row_count];
	memset(row, 0, sizeof(*row));
	row->number = grid->row_count++;
	return row;
}

void grid_cell(struct grid_row *row, const char *text, double key)
{
	if (row->used >= GRID_COLUMNS)
		return;
	row->cells[row->used] = text_safe(text);
	row->keys[row->used++] = key;
}

void grid_time(struct grid_row *row, uint64_t ns)
{
	char text[UNITS_BYTES];
	grid_cell(row, units_time(text, ns), ns == ANALYSIS_UNKNOWN ? -1 : (double)ns);
}

void grid_percent(struct grid_row *row, double share)
{
	char text[UNITS_BYTES];
	grid_cell(row, units_percent(text, share), share);
}

void grid_bar(struct grid_row *row, double share)
{
	grid_cell(row, "", share);
}

static const char *grid_cell_of(const struct grid_row *row, size_t column)
{
	return row->cells[column] ? row->cells[column] : "";
}

struct order {
	int column;
	bool text, smallest;
};

static int grid_compare(const void *a, const void *b, void *context)
{
	const struct grid_row *x = a, *y = b;
	const struct order *order = context;
	int result = 0;
	if (x->fixed != y->fixed)
		return x->fixed - y->fixed;
	if (order->text)
		result = strcmp(grid_cell_of(x, (size_t)order->column),
			grid_cell_of(y, (size_t)order->column));
	else
		result = ORDER(y->keys[order->column], x->keys[order->column]);
	return (order->smallest ? -result : result) ?: ORDER(x->number, y->number);
}

int grid_selectable(const struct grid *grid)
{
	int count = 0;
	for (size_t i = 0; i < grid->row_count; i++)
		count += !grid->rows[i].fixed;
	return count;
}

void grid_arrange(struct grid *grid, struct grid_place *place)
{
	int column = place->sort < 0 ? -1 - place->sort : place->sort;
	if (place->sort && column < (int)grid->column_count && grid->row_count > 1) {
		struct order order = {
			column, grid->columns[column].kind == GRID_TEXT, place->sort < 0};
		qsort_r(grid->rows, grid->row_count, sizeof(*grid->rows), grid_compare, &order);
	}
	int count = grid_selectable(grid);
	for (int i = 0; place->name[0] && i < count; i++)
		if (!strncmp(grid->rows[i].cells[0], place->name, sizeof(place->name) - 1)) {
			place->selected = i;
			break;
		}
	if (place->selected >= count)
		place->selected = count ? count - 1 : 0;
	if (place->selected < 0)
		place->selected = 0;
}

static bool is_empty(const struct grid *grid, size_t column)
{
	for (size_t i = 0; i < grid->row_count; i++) {
		const char *text = grid_cell_of(&grid->rows[i], column);
		if (grid->columns[column].kind == GRID_BAR ||
			(*text && strcmp(text, "-") && strcmp(text, "0")))
			return false;
	}
	return true;
}

/* The column that rows are sorted by; 0: none. */
static int sorted_by(const struct grid *grid, const struct grid_place *place)
{
	return place->sort < 0 ? -1 - place->sort : place->sort ? place->sort : grid->order;
}

/* Widths of columns, with a place for the marker of the order; 0: not shown. */
static void grid_measure(
	const struct grid *grid, const struct grid_place *place, int *widths, int available)
{
	int total = 0;
	for (size_t c = 0; c < grid->column_count; c++) {
		size_t width = text_width(grid->columns[c].title);
		width += c && sorted_by(grid, place) == (int)c;
		for (size_t i = 0; i < grid->row_count; i++) {
			size_t cell = text_width(grid_cell_of(&grid->rows[i], c));
			width = cell > width ? cell : width;
		}
		if (grid->columns[c].kind == GRID_BAR)
			width = MIN_BAR;
		widths[c] = c && is_empty(grid, c) ? 0 : (int)width;
		total += widths[c] ? widths[c] + GAP : 0;
	}
	while (total - GAP > available) {
		size_t worst = 0;
		for (size_t c = 1; c < grid->column_count; c++)
			if (widths[c] && grid->columns[c].rank &&
				(!worst || grid->columns[c].rank >= grid->columns[worst].rank))
				worst = c;
		if (!worst)
			break;
		total -= widths[worst] + GAP;
		widths[worst] = 0;
	}
	int over = total - GAP - available;
	if (over > 0)
		widths[0] = widths[0] - over > MIN_FIRST ? widths[0] - over : MIN_FIRST;
	for (size_t c = 0; c < grid->column_count && over < 0; c++)
		if (widths[c] && grid->columns[c].kind == GRID_BAR) {
			int more = -over < MAX_BAR - MIN_BAR ? -over : MAX_BAR - MIN_BAR;
			widths[c] += more;
			over += more;
		}
}

/* Down: from the largest on; up: from the smallest, or the first letter. */
static const char *grid_marker(bool is_text, bool turned, bool utf8)
{
	bool up = is_text != turned;
	return !utf8 ? (up ? "^" : "v") : up ? "\xe2\x96\xb2" : "\xe2\x96\xbc";
}

static void grid_draw_titles(const struct grid *grid, const struct grid_place *place,
	const int *widths, struct canvas *canvas, int y)
{
	int x = 0, sorted = sorted_by(grid, place);
	canvas_print(canvas, 0, y, canvas->width, STYLE_BAR, "%*s", canvas->width, "");
	for (size_t c = 0; c < grid->column_count; c++) {
		const struct grid_column *column = &grid->columns[c];
		bool here = sorted && sorted == (int)c;
		enum style style = here && place->sort ? STYLE_SELECTED : STYLE_BAR;
		char title[64];
		if (!widths[c])
			continue;
		snprintf(title, sizeof(title), "%s%s", column->title,
			here ? grid_marker(column->kind == GRID_TEXT, place->sort < 0, canvas->utf8)
			     : "");
		if (column->kind == GRID_NUMBER)
			canvas_right(canvas, x, y, widths[c], style, title);
		else
			canvas_print(canvas, x, y, widths[c], style, "%s", title);
		x += widths[c] + GAP;
	}
}

static void grid_draw_row(const struct grid *grid, const struct grid_row *row, const int *widths,
	struct canvas *canvas, int y, bool selected)
{
	int x = 0;
	for (size_t c = 0; c < grid->column_count; c++) {
		const char *text = grid_cell_of(row, c);
		if (!widths[c])
			continue;
		if (grid->columns[c].kind == GRID_BAR)
			canvas_share(canvas, x, y, widths[c], STYLE_SHARE, row->keys[c]);
		else if (grid->columns[c].kind == GRID_NUMBER)
			canvas_right(canvas, x, y, widths[c], row->style, text);
		else
			canvas_print(canvas, x, y, widths[c], row->style, "%s", text);
		x += widths[c] + GAP;
	}
	if (selected)
		canvas_paint(canvas, 0, y, canvas->width, STYLE_SELECTED);
}

void grid_scroll(struct grid_place *place, int rows, int height)
{
	if (height < 1)
		height = 1;
	if (place->selected >= rows)
		place->selected = rows ? rows - 1 : 0;
	if (place->selected < place->scroll)
		place->scroll = place->selected;
	if (place->selected >= place->scroll + height)
		place->scroll = place->selected - height + 1;
	if (place->scroll > rows - height)
		place->scroll = rows > height ? rows - height : 0;
	if (place->scroll < 0)
		place->scroll = 0;
}

void grid_draw(
	const struct grid *grid, struct grid_place *place, struct canvas *canvas, int y, int height)
{
	int widths[GRID_COLUMNS] = {0}, rows = (int)grid->row_count, visible = height - 1;
	grid_measure(grid, place, widths, canvas->width);
	grid_draw_titles(grid, place, widths, canvas, y);
	grid_scroll(place, rows, visible);
	/* the rows that follow the last that can be selected come into view with it */
	if (place->selected + 1 == grid_selectable(grid) && rows > visible)
		place->scroll = place->selected < rows - visible ? place->selected : rows - visible;
	for (int i = 0; i < visible && place->scroll + i < rows; i++) {
		const struct grid_row *row = &grid->rows[place->scroll + i];
		grid_draw_row(grid, row, widths, canvas, y + 1 + i,
			place->scroll + i == place->selected && !row->fixed);
	}
}

void grid_sort_next(const struct grid *grid, struct grid_place *place, int width)
{
	int widths[GRID_COLUMNS] = {0};
	grid_measure(grid, place, widths, width);
	do {
		place->sort = (place->sort < 0 ? -1 - place->sort : place->sort) + 1;
		if (place->sort >= (int)grid->column_count)
			place->sort = 0;
	} while (place->sort && (!grid->columns[place->sort].title[0] || !widths[place->sort] ||
					place->sort == grid->order));
}
