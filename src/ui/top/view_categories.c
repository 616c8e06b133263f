/* SPDX-License-Identifier: Apache-2.0 */
/* The view of categories: kinds of work, each with the time of all its bricks. */
#include "ui/top/field_grid.h"
#include "ui/top/top.h"

static void make(struct grid *grid, struct top *top)
{
	const struct report *report = &top->picture->report;
	struct report_columns columns;
	report_columns_default(&columns, REPORT_IN_TOP, SUMMARY_BY_CATEGORY);
	field_grid_init(grid, &columns, "CATEGORY");
	for (size_t i = 0; i < report->summary->category_count; i++)
		field_grid_add(grid, &columns, report, &report->summary->categories[i], 0);
	grid_arrange(grid, top_place(top));
}

const struct view_class view_categories = {
	.name = "categories",
	.title = "Categories",
	.make = make,
};
