/* SPDX-License-Identifier: Apache-2.0 */
/* Fills grids from the fields of a report. Called by the views of bricks, categories and kernels.
 */
#include "ui/top/field_grid.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"

static bool has_bar(const struct report_field *field)
{
	return !strcmp(field->key, "share");
}

void field_grid_init(struct grid *grid, const struct report_columns *columns, const char *first)
{
	enum { RANK_OF_BAR = 1 };
	grid_init(grid, NULL, 0);
	for (size_t i = 0; i < columns->count; i++) {
		const struct report_field *field = columns->fields[i];
		grid_column_add(grid, i ? field->title : first,
			field->type == REPORT_TEXT ? GRID_TEXT : GRID_NUMBER, columns->ranks[i]);
		if (!has_bar(field))
			continue;
		grid->order = (int)grid->column_count - 1;
		grid_column_add(grid, "", GRID_BAR, RANK_OF_BAR);
	}
}

/* What a column is sorted by; texts are by themselves. */
static double key_of(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	if (field->type == REPORT_TEXT || field->type == REPORT_SIZES)
		return 0;
	struct report_value value = report_value(field, report, row);
	if (value.ratio >= 0)
		return value.ratio;
	return value.number == ANALYSIS_UNKNOWN ? -1 : (double)value.number;
}

struct grid_row *field_grid_add(struct grid *grid, const struct report_columns *columns,
	const struct report *report, const struct summary_row *from, unsigned flags)
{
	struct grid_row *row = grid_add(grid);
	for (size_t i = 0; i < columns->count; i++) {
		const struct report_field *field = columns->fields[i];
		bool known = (field->flags & flags) == flags;
		SCOPED char *text = known ? report_value_text(field, report, from) : NULL;
		grid_cell(row, text, known ? key_of(field, report, from) : -1);
		if (has_bar(field))
			grid_bar(row, from->share);
	}
	return row;
}
