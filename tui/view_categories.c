/* SPDX-License-Identifier: Apache-2.0 */
/* The view of categories: kinds of work, each with the time of all its bricks. */
#include <stdlib.h>

#include "analysis/unknown.h"
#include "view/text.h"
#include "view/units.h"
#include "tui/top.h"

enum { NAME, TOKEN, SHARE, BAR, SELF, TOTAL, COUNT, P50, P99, COLUMNS };

static const struct grid_column columns[COLUMNS] = {
	[NAME] = {"CATEGORY", GRID_TEXT, 0},
	[TOKEN] = {"/TOKEN", GRID_NUMBER, 1},
	[SHARE] = {"SHARE", GRID_NUMBER, 0},
	[BAR] = {"", GRID_BAR, 6},
	[SELF] = {"SELF", GRID_NUMBER, 3},
	[TOTAL] = {"TOTAL", GRID_NUMBER, 5},
	[COUNT] = {"COUNT", GRID_NUMBER, 4},
	[P50] = {"P50", GRID_NUMBER, 2},
	[P99] = {"P99", GRID_NUMBER, 3},
};

static void cell_time(struct grid_row *row, size_t column, uint64_t ns)
{
	char text[UNITS_BYTES];
	grid_cell(row, column, units_time(text, ns), ns == ANALYSIS_UNKNOWN ? -1 : (double)ns);
}

static void add_row(struct grid *grid, const struct picture *p, const struct summary_row *from)
{
	struct grid_row *row = grid_add(grid);
	char text[UNITS_BYTES];
	char *name = text_safe(from->name);
	uint64_t tokens = picture_tokens(p);
	grid_cell(row, NAME, name, 0);
	cell_time(row, TOKEN, tokens ? from->wall_ns / tokens : ANALYSIS_UNKNOWN);
	grid_cell(row, SHARE, units_percent(text, from->share), from->share);
	grid_cell(row, BAR, "", from->share);
	cell_time(row, SELF, from->self_ns);
	cell_time(row, TOTAL, from->total_ns);
	grid_cell(row, COUNT, units_count(text, from->count), (double)from->count);
	cell_time(row, P50, from->p50_ns);
	cell_time(row, P99, from->p99_ns);
	free(name);
}

static void make(struct grid *grid, struct top *top)
{
	const struct summary *summary = top->picture->report.summary;
	grid_init(grid, columns, COLUMNS);
	for (size_t i = 0; i < summary->category_count; i++)
		add_row(grid, top->picture, &summary->categories[i]);
	grid_arrange(grid, top_place(top));
}

const struct view_class view_categories = {
	.name = "categories",
	.title = "Categories",
	.make = make,
	.columns = columns,
	.column_count = COLUMNS,
};
