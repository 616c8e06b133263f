/* SPDX-License-Identifier: Apache-2.0 */
/* The view of bricks, and of one of them in detail. The rows are those of the report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"
#include "ui/text/text_out.h"
#include "ui/text/units.h"
#include "ui/top/field_grid.h"
#include "ui/top/spark.h"
#include "ui/top/top.h"

static const char *history_title(const struct top *top)
{
	return top->history.is_short ? "OVER TIME" : "LAST MINUTE";
}

/* What a brick took of a token; ANALYSIS_UNKNOWN: nothing, or it has no tokens. */
static uint64_t token_ns(const struct report *report, const struct summary_row *row)
{
	uint64_t ns = row ? report_value(report_field_find("token_ns"), report, row).number : 0;
	return ns ? ns : ANALYSIS_UNKNOWN;
}

static const struct summary_row *row_named(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->row_count; i++)
		if (!strcmp(summary->rows[i].name, name))
			return &summary->rows[i];
	return NULL;
}

/* "+3.1%"; of what was longer before by how much. "new" where it did not run. */
static double change_text(char out[UNITS_BYTES], uint64_t before, uint64_t now)
{
	*out = '\0';
	if (now == ANALYSIS_UNKNOWN)
		return -INFINITY;
	if (before == ANALYSIS_UNKNOWN) {
		snprintf(out, UNITS_BYTES, "new");
		return INFINITY;
	}
	double change = (double)now / (double)before - 1;
	snprintf(out, UNITS_BYTES, "%+.1f%%", 100 * change);
	return change;
}

/* Against the same brick of the baseline. */
static void add_change(struct grid_row *row, const struct top *top, const struct summary_row *from)
{
	const struct report *report = &top->picture->report, *base = &top->baseline->report;
	uint64_t before = token_ns(base, row_named(base->summary, from->name));
	char text[UNITS_BYTES];

	grid_time(row, before);
	double change = change_text(text, before, token_ns(report, from));
	grid_cell(row, text, change);
}

static void add_row(struct grid *grid, const struct report_columns *columns, const struct top *top,
	const struct summary_row *from)
{
	struct grid_row *row = field_grid_add(grid, columns, &top->picture->report, from, 0);
	char minute[SPARK_BYTES];
	if (top->baseline)
		add_change(row, top, from);
	spark_of(minute, history_find(&top->history, from->name), top->width >= 120 ? 30 : 12,
		top->utf8);
	grid_cell(row, minute, 0);
}

static void add_rests(
	struct grid *grid, const struct report_columns *columns, const struct top *top)
{
	struct summary_row rests[REPORT_RESTS];
	size_t count = report_rests(&top->picture->report, rests);
	for (size_t i = 0; i < count; i++) {
		struct grid_row *row = field_grid_add(
			grid, columns, &top->picture->report, &rests[i], REPORT_OF_REST);
		row->fixed = true;
		row->style = STYLE_FAINT;
	}
}

static void fill(struct grid *grid, struct top *top, struct grid_place *place)
{
	const struct summary *summary = top->picture->report.summary;
	struct report_columns columns;
	report_columns_default(&columns, REPORT_IN_TOP, SUMMARY_BY_BRICK);
	field_grid_init(grid, &columns, "BRICK");
	if (top->baseline) {
		grid_column_add(grid, "BASE", GRID_NUMBER, 0);
		grid_column_add(grid, "CHANGE", GRID_NUMBER, 0);
	}
	grid_column_add(grid, history_title(top), GRID_NUMBER, 2);
	for (size_t i = 0; i < summary->row_count; i++)
		add_row(grid, &columns, top, &summary->rows[i]);
	add_rests(grid, &columns, top);
	grid_arrange(grid, place);
}

static void make(struct grid *grid, struct top *top)
{
	fill(grid, top, top_place(top));
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	SCOPED_BY(grid_fini) struct grid grid;
	make(&grid, top);
	grid_draw(&grid, top_place(top), canvas, y, height);
	if (!grid.row_count)
		top_draw_nothing(canvas, y + 1,
			top->phase == SUMMARY_ALL_PHASES ? "No brick has ended yet."
							 : "No step of this phase has ended yet.");
}

/* The row as it is on the screen, in the order on the screen. */
static const struct summary_row *row_at(struct top *top, int number)
{
	SCOPED_BY(grid_fini) struct grid grid;
	const struct summary *summary = top->picture->report.summary;
	struct grid_place place = *top_place(top);
	size_t index = summary->row_count;
	place.name[0] = '\0';
	fill(&grid, top, &place);
	if (number >= 0 && number < (int)grid.row_count)
		index = grid.rows[number].number;
	return index < summary->row_count ? &summary->rows[index] : NULL;
}

/* Labels and values, in a second column where the first is full. */
struct sheet {
	struct canvas *canvas;
	int y, height, used;
};

static void line(struct sheet *sheet, const char *label, const char *value)
{
	int column = sheet->used / sheet->height, y = sheet->y + sheet->used % sheet->height;
	int x = 1 + column * 40, width = sheet->canvas->width;
	if (!strcmp(value, "-") || !*value)
		return;
	canvas_print(sheet->canvas, x, y, 13, STYLE_FAINT, "%s", label);
	canvas_print(
		sheet->canvas, x + 14, y, column ? width - x - 14 : 25, STYLE_NORMAL, "%s", value);
	sheet->used++;
}

/* All that the report knows of it. */
static void draw_numbers(const struct top *top, const struct summary_row *row, struct sheet *s)
{
	struct report_columns columns;
	char spark[SPARK_BYTES];
	report_columns_all(&columns, SUMMARY_BY_BRICK);
	for (size_t i = 1; i < columns.count; i++) {
		SCOPED char *text =
			report_value_text(columns.fields[i], &top->picture->report, row);
		line(s, columns.fields[i]->title, text);
	}
	if (top->baseline) {
		const struct report *base = &top->baseline->report;
		uint64_t before = token_ns(base, row_named(base->summary, row->name));
		char text[UNITS_BYTES];
		line(s, "BASE", units_time(text, before));
		change_text(text, before, token_ns(&top->picture->report, row));
		line(s, "CHANGE", text);
		spark_of(spark, history_find(&top->before, row->name), 20, top->utf8);
		line(s, "BASE OVER TIME", spark);
	}
	spark_of(spark, history_find(&top->history, row->name), 20, top->utf8);
	line(s, history_title(top), spark);
}

static void detail(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct summary_row *row = row_at(top, top_place(top)->selected);
	struct sheet sheet = {canvas, y + 1, height > 2 ? height - 1 : 1, 0};
	if (!row)
		return;
	SCOPED char *name = text_safe(row->name);
	canvas_print(canvas, 1, y, canvas->width - 2, STYLE_HEADING, "%s", name);
	draw_numbers(top, row, &sheet);
}

const struct view_class view_bricks = {
	.name = "bricks",
	.title = "Bricks",
	.draw = draw,
	.make = make,
	.detail = detail,
};
