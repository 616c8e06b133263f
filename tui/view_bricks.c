/* SPDX-License-Identifier: Apache-2.0 */
/* The view of bricks, and of one of them in detail. The rows are those of the report. */
#include <stdlib.h>
#include <string.h>

#include "analysis/unknown.h"
#include "view/memory.h"
#include "view/text.h"
#include "view/units.h"
#include "tui/spark.h"
#include "tui/top.h"

enum {
	NAME,
	CATEGORY,
	TOKEN,
	SHARE,
	BAR,
	DEVICE,
	P50,
	P99,
	COUNT,
	ELEMENTS,
	GB_S,
	GFLOP_S,
	MINUTE,
	COLUMNS
};

static const struct grid_column columns[COLUMNS] = {
	[NAME] = {"BRICK", GRID_TEXT, 0},
	[CATEGORY] = {"CATEGORY", GRID_TEXT, 8},
	[TOKEN] = {"/TOKEN", GRID_NUMBER, 0},
	[SHARE] = {"SHARE", GRID_NUMBER, 0},
	[BAR] = {"", GRID_BAR, 1},
	[DEVICE] = {"DEVICE", GRID_NUMBER, 3},
	[P50] = {"P50", GRID_NUMBER, 2},
	[P99] = {"P99", GRID_NUMBER, 3},
	[COUNT] = {"COUNT", GRID_NUMBER, 7},
	[ELEMENTS] = {"ELEM/s", GRID_NUMBER, 9},
	[GB_S] = {"GB/s", GRID_NUMBER, 4},
	[GFLOP_S] = {"GFLOP/s", GRID_NUMBER, 4},
	[MINUTE] = {"LAST MINUTE", GRID_TEXT, 2},
};

static double key_of(uint64_t value)
{
	return value == ANALYSIS_UNKNOWN ? -1 : (double)value;
}

static double elements_per_s(const struct summary_row *row)
{
	if (row->elements == ANALYSIS_UNKNOWN || !row->elements || !row->total_ns)
		return -1;
	return (double)row->elements * 1e9 / (double)row->total_ns;
}

static void cell_time(struct grid_row *row, size_t column, uint64_t ns)
{
	char text[UNITS_BYTES];
	grid_cell(row, column, units_time(text, ns), key_of(ns));
}

/* Wall time per token; of what has no tokens not known. */
static uint64_t per_token_ns(const struct picture *p, uint64_t wall_ns)
{
	uint64_t tokens = picture_tokens(p);
	return tokens ? wall_ns / tokens : ANALYSIS_UNKNOWN;
}

static void add_row(struct grid *grid, const struct top *top, const struct summary_row *from)
{
	struct grid_row *row = grid_add(grid);
	char text[UNITS_BYTES], minute[SPARK_BYTES];
	char *name = text_safe(from->name), *category = text_safe(from->category);
	double elements = elements_per_s(from);
	grid_cell(row, NAME, name, 0);
	grid_cell(row, CATEGORY, category, 0);
	cell_time(row, TOKEN, per_token_ns(top->picture, from->wall_ns));
	grid_cell(row, SHARE, units_percent(text, from->share), from->share);
	grid_cell(row, BAR, "", from->share);
	cell_time(row, DEVICE, from->device_ns);
	cell_time(row, P50, from->p50_ns);
	cell_time(row, P99, from->p99_ns);
	grid_cell(row, COUNT, units_count(text, from->count), key_of(from->count));
	grid_cell(row, ELEMENTS, elements < 0 ? "-" : units_count(text, (uint64_t)elements),
		elements);
	grid_cell(row, GB_S, units_number(text, from->bytes_per_ns), from->bytes_per_ns);
	grid_cell(row, GFLOP_S, units_number(text, from->flops_per_ns), from->flops_per_ns);
	spark_of(minute, history_find(&top->history, from->name), top->width >= 120 ? 30 : 12,
		top->utf8);
	grid_cell(row, MINUTE, minute, 0);
	free(category);
	free(name);
}

static void add_unattributed(struct grid *grid, const struct top *top)
{
	const struct summary *summary = top->picture->report.summary;
	char text[UNITS_BYTES];
	if (!summary->wall_ns)
		return;
	struct grid_row *row = grid_add(grid);
	row->fixed = true;
	row->style = STYLE_FAINT;
	for (size_t c = 0; c < COLUMNS; c++)
		grid_cell(row, c, "", -1);
	grid_cell(row, NAME, "unattributed", 0);
	cell_time(row, TOKEN, per_token_ns(top->picture, summary->unattributed_ns));
	grid_cell(row, SHARE, units_percent(text, 1 - summary->coverage), 0);
	grid_cell(row, BAR, "", 1 - summary->coverage);
}

static void make(struct grid *grid, struct top *top)
{
	const struct summary *summary = top->picture->report.summary;
	grid_init(grid, columns, COLUMNS);
	for (size_t i = 0; i < summary->row_count; i++)
		add_row(grid, top, &summary->rows[i]);
	add_unattributed(grid, top);
	grid_arrange(grid, top_place(top));
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct grid grid;
	make(&grid, top);
	grid_draw(&grid, top_place(top), canvas, y, height);
	if (!grid.row_count)
		top_draw_nothing(canvas, y + 1, "No brick has ended yet.");
	grid_fini(&grid);
}

/* The row as it is on the screen, in the order on the screen. */
static const struct summary_row *row_at(struct top *top, int number)
{
	struct grid grid;
	const struct summary *summary = top->picture->report.summary;
	struct grid_place place = *top_place(top);
	size_t index = 0;
	grid_init(&grid, columns, COLUMNS);
	for (size_t i = 0; i < summary->row_count; i++)
		add_row(&grid, top, &summary->rows[i]);
	place.name[0] = '\0';
	grid_arrange(&grid, &place);
	if (number >= 0 && number < (int)grid.row_count)
		index = grid.rows[number].number;
	grid_fini(&grid);
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
	canvas_print(sheet->canvas, x, y, 14, STYLE_FAINT, "%s", label);
	canvas_print(
		sheet->canvas, x + 14, y, column ? width - x - 14 : 25, STYLE_NORMAL, "%s", value);
	sheet->used++;
}

static void draw_numbers(const struct top *top, const struct summary_row *row, struct sheet *s)
{
	char text[UNITS_BYTES], spark[SPARK_BYTES];
	char *sources = report_sources(&top->picture->report, row->sources);
	line(s, "Category", row->category ? row->category : "-");
	line(s, "Measured by", sources ? sources : "-");
	line(s, "Share", units_percent(text, row->share));
	line(s, "Executions", units_count(text, row->count));
	line(s, "Self time", units_time(text, row->self_ns));
	line(s, "Total time", units_time(text, row->total_ns));
	line(s, "On devices", units_time(text, row->device_ns));
	line(s, "Waiting", row->wait_ns ? units_time(text, row->wait_ns) : "-");
	line(s, "Average", units_time(text, row->avg_ns));
	line(s, "Least", units_time(text, row->min_ns));
	line(s, "p50", units_time(text, row->p50_ns));
	line(s, "p95", units_time(text, row->p95_ns));
	line(s, "p99", units_time(text, row->p99_ns));
	line(s, "Most", units_time(text, row->max_ns));
	line(s, "Elements", units_count(text, row->elements));
	line(s, "Bytes", units_bytes(text, row->bytes));
	line(s, "FLOPs", units_count(text, row->flops));
	line(s, "GB/s", units_number(text, row->bytes_per_ns));
	line(s, "GFLOP/s", units_number(text, row->flops_per_ns));
	spark_of(spark, history_find(&top->history, row->name), 20, top->utf8);
	line(s, "Last minute", spark);
	free(sources);
}

static void detail(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct summary_row *row = row_at(top, top_place(top)->selected);
	struct sheet sheet = {canvas, y + 1, height > 2 ? height - 1 : 1, 0};
	if (!row)
		return;
	char *name = text_safe(row->name);
	canvas_print(canvas, 1, y, canvas->width - 2, STYLE_HEADING, "%s", name);
	free(name);
	draw_numbers(top, row, &sheet);
}

const struct view_class view_bricks = {
	.name = "bricks",
	.title = "Bricks",
	.draw = draw,
	.make = make,
	.columns = columns,
	.column_count = COLUMNS,
	.detail = detail,
};
