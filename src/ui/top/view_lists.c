/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views that are lists: bricks, with details of a brick, categories, threads, the queues of
 * devices with their kernels, and the critical path. Columns of the first two and of kernels are
 * fields of a report (src/ui/text/report_fields.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "ui/text/difference_text.h"
#include "ui/text/phase_text.h"
#include "ui/text/report_fields.h"
#include "ui/text/text.h"
#include "ui/top/top_view.h"

enum { MAX_QUEUES = 6 };

/* Columns that are fields of a report. */

/* Key of the column that the report sorts its rows by. */
static const char *view_lists_order(const struct report *report)
{
	return report->summary->gpus.spans.count ? "device_ns" : "share";
}

static bool has_bar(const struct report_field *field)
{
	return !strcmp(field->key, "share");
}

/*
 * Begins a grid with these columns, and a bar behind the share. `first` is the title of the names.
 * order: key of the column that the rows were sorted by.
 */
static void field_grid_init(struct grid *grid, const struct report_columns *columns,
	const char *first, const char *order)
{
	enum { RANK_OF_BAR = 1 };
	grid_init(grid, NULL, 0);
	for (size_t i = 0; i < columns->count; i++) {
		const struct report_field *field = columns->fields[i];
		grid_column_add(grid, i ? field->title : first,
			field->type == REPORT_TEXT ? GRID_TEXT : GRID_NUMBER, columns->ranks[i]);
		if (!strcmp(field->key, order))
			grid->order = (int)grid->column_count - 1;
		if (has_bar(field))
			grid_column_add(grid, "", GRID_BAR, RANK_OF_BAR);
	}
}

/* The number that a column is sorted by. Columns of text are sorted by the text. */
static double view_lists_key_of(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	if (field->type == REPORT_TEXT || field->type == REPORT_SIZES)
		return 0;
	struct report_value value = report_value(field, report, row);
	if (value.ratio >= 0)
		return value.ratio;
	return value.number == ANALYSIS_UNKNOWN ? -1 : (double)value.number;
}

/* Adds a row. flags: only fields with these have a value, the others are blank. */
static struct grid_row *field_grid_add(struct grid *grid, const struct report_columns *columns,
	const struct report *report, const struct summary_row *from, unsigned flags)
{
	struct grid_row *row = grid_add(grid);
	for (size_t i = 0; i < columns->count; i++) {
		const struct report_field *field = columns->fields[i];
		bool known = (field->flags & flags) == flags;
		SCOPED char *text = known ? report_value_text(field, report, from) : NULL;
		grid_cell(row, text, known ? view_lists_key_of(field, report, from) : -1);
		if (has_bar(field))
			grid_bar(row, from->share);
	}
	return row;
}

/* Bricks: the rows of the report. */

/* A brick's time per token; ANALYSIS_UNKNOWN: none, or it has no tokens. */
static uint64_t view_lists_token_ns(const struct report *report, const struct summary_row *row)
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

/* "+3.1 %", as in a comparison; "new" where it did not run. */
static double change_text(char out[DIFFERENCE_BYTES], uint64_t before, uint64_t now)
{
	*out = '\0';
	if (now == ANALYSIS_UNKNOWN)
		return -INFINITY;
	if (before == ANALYSIS_UNKNOWN) {
		snprintf(out, DIFFERENCE_BYTES, "new");
		return INFINITY;
	}
	const struct difference d = {.effect = (double)now / (double)before - 1};
	difference_size(out, &d);
	return d.effect;
}

/* Adds the baseline's time of the same brick, and the difference. */
static void add_change(struct grid_row *row, const struct top *top, const struct summary_row *from)
{
	const struct report *report = &top->picture->report, *base = &top->baseline->report;
	uint64_t before = view_lists_token_ns(base, row_named(base->summary, from->name));
	char text[DIFFERENCE_BYTES];

	grid_time(row, before);
	double change = change_text(text, before, view_lists_token_ns(report, from));
	grid_cell(row, text, change);
}

static void brick_add_row(struct grid *grid, const struct report_columns *columns,
	const struct top *top, const struct summary_row *from)
{
	struct grid_row *row = field_grid_add(grid, columns, &top->picture->report, from, 0);
	char minute[SPARK_BYTES];
	if (top->baseline)
		add_change(row, top, from);
	if (!top->picture->live)
		return;
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

static void fill_bricks(struct grid *grid, struct top *top, struct grid_place *place)
{
	const struct summary *summary = top->picture->report.summary;
	struct report_columns columns;
	report_columns_default(&columns, REPORT_IN_TOP, SUMMARY_BY_BRICK);
	field_grid_init(grid, &columns, "BRICK", view_lists_order(&top->picture->report));
	if (top->baseline) {
		grid_column_add(grid, "BASE", GRID_NUMBER, 0);
		grid_column_add(grid, "CHANGE", GRID_NUMBER, 0);
	}
	if (top->picture->live)
		grid_column_add(grid, "LAST MINUTE", GRID_NUMBER, 2);
	for (size_t i = 0; i < summary->row_count; i++)
		brick_add_row(grid, &columns, top, &summary->rows[i]);
	add_rests(grid, &columns, top);
	grid_arrange(grid, place);
}

static void brick_make(struct grid *grid, struct top *top)
{
	fill_bricks(grid, top, top_place(top));
}

static void brick_draw(struct top *top, struct canvas *canvas, int y, int height)
{
	SCOPED_BY(grid_fini) struct grid grid;
	brick_make(&grid, top);
	grid_draw(&grid, top_place(top), canvas, y, height);
	if (!grid.row_count)
		view_draw_nothing(canvas, y + 1,
			top->phase == SUMMARY_ALL_PHASES ? "No brick has ended yet."
							 : "No step of this phase has ended yet.");
}

/* The row as it is on the screen, in the order on the screen. */
static const struct summary_row *view_lists_row_at(struct top *top, int number)
{
	SCOPED_BY(grid_fini) struct grid grid;
	const struct summary *summary = top->picture->report.summary;
	struct grid_place place = *top_place(top);
	size_t index = summary->row_count;
	place.name[0] = '\0';
	fill_bricks(&grid, top, &place);
	if (number >= 0 && number < (int)grid.row_count)
		index = grid.rows[number].number;
	return index < summary->row_count ? &summary->rows[index] : NULL;
}

/* Labels and values, in a second column where the first is full. */
struct sheet {
	struct canvas *canvas;
	int y, height, used;
};

static void view_lists_line(struct sheet *sheet, const char *label, const char *value)
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

/* Draws all numbers that the report has for the row. */
static void draw_numbers(const struct top *top, const struct summary_row *row, struct sheet *s)
{
	struct report_columns columns;
	char spark[SPARK_BYTES];
	report_columns_all(&columns, SUMMARY_BY_BRICK);
	for (size_t i = 1; i < columns.count; i++) {
		SCOPED char *text =
			report_value_text(columns.fields[i], &top->picture->report, row);
		view_lists_line(s, columns.fields[i]->title, text);
	}
	if (top->baseline) {
		const struct report *base = &top->baseline->report;
		uint64_t before = view_lists_token_ns(base, row_named(base->summary, row->name));
		char text[DIFFERENCE_BYTES];
		view_lists_line(s, "BASE", units_time(text, before));
		change_text(text, before, view_lists_token_ns(&top->picture->report, row));
		view_lists_line(s, "CHANGE", text);
	}
	spark_of(spark, history_find(&top->history, row->name), 20, top->utf8);
	view_lists_line(s, "LAST MINUTE", spark);
}

static void brick_detail(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct summary_row *row = view_lists_row_at(top, top_place(top)->selected);
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
	.draw = brick_draw,
	.make = brick_make,
	.detail = brick_detail,
};

/* Categories: kinds of work, each with the time of all its bricks. */

static void category_make(struct grid *grid, struct top *top)
{
	const struct report *report = &top->picture->report;
	struct report_columns columns;
	report_columns_default(&columns, REPORT_IN_TOP, SUMMARY_BY_CATEGORY);
	field_grid_init(grid, &columns, "CATEGORY", view_lists_order(report));
	for (size_t i = 0; i < report->summary->category_count; i++)
		field_grid_add(grid, &columns, report, &report->summary->categories[i], 0);
	grid_arrange(grid, top_place(top));
}

const struct view_class view_categories = {
	.name = "categories",
	.title = "Categories",
	.make = category_make,
};

/* Threads, and queues: how much of its time each worked and waited. */

static const struct grid_column thread_columns[] = {{"THREAD", GRID_TEXT, 0},
	{"WORKED", GRID_NUMBER, 0}, {"", GRID_BAR, 5}, {"WORK", GRID_NUMBER, 2},
	{"WAITED", GRID_NUMBER, 0}, {"WAIT", GRID_NUMBER, 3}, {"OF STEPS", GRID_NUMBER, 1},
	{"COUNT", GRID_NUMBER, 4}};

/* The time that a lane's rows cover: its life, or the part of it that has samples here. */
static uint64_t span_ns(const struct picture *p, const struct run_lane *lane)
{
	uint64_t begin_ns = lane->start_ns, end_ns = lane->end_ns;
	if (p->live && lane->sample_count) {
		begin_ns = lane->samples[0].begin_ns;
		end_ns = begin_ns;
		for (size_t i = 0; i < lane->sample_count; i++)
			if (lane->samples[i].end_ns > end_ns)
				end_ns = lane->samples[i].end_ns;
	}
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void thread_add_row(
	struct grid *grid, const struct picture *p, const struct summary_row *from)
{
	struct grid_row *row = grid_add(grid);
	uint64_t ns = span_ns(p, &p->run->lanes[from->id]);
	double worked = known_ratio(from->self_ns, ns);
	double waited = known_ratio(from->wait_ns, ns);
	char text[UNITS_BYTES];
	grid_cell(row, from->name, 0);
	grid_percent(row, worked);
	grid_bar(row, worked);
	grid_time(row, from->self_ns);
	grid_percent(row, waited);
	grid_time(row, from->wait_ns);
	grid_percent(row, from->share);
	grid_cell(row, units_count(text, from->count), (double)from->count);
}

static void thread_make(struct grid *grid, struct top *top)
{
	const struct summary *summary = picture_threads(top->picture);
	grid_init(grid, thread_columns, sizeof(thread_columns) / sizeof(*thread_columns));
	for (size_t i = 0; i < summary->row_count; i++)
		thread_add_row(grid, top->picture, &summary->rows[i]);
	grid_arrange(grid, top_place(top));
}

const struct view_class view_threads = {
	.name = "threads",
	.title = "Threads",
	.make = thread_make,
};

/* Queues of devices: how busy each was, and its kernels. */

static void queue_make(struct grid *grid, struct top *top)
{
	const struct summary *summary = picture_kernels(top->picture);
	struct report_columns columns;
	report_columns_default(&columns, REPORT_IN_TOP, SUMMARY_BY_KERNEL);
	field_grid_init(grid, &columns, "KERNEL", "share");
	for (size_t i = 0; i < summary->row_count; i++)
		field_grid_add(grid, &columns, &top->picture->kernels, &summary->rows[i], 0);
	grid_arrange(grid, top_place(top));
}

static char *view_lists_queue_name(const struct run *run, uint32_t lane)
{
	const struct run_lane *l = &run->lanes[lane];
	SCOPED char *text =
		text_format("%s%s%s (%llu)", l->backend ? l->backend : "", l->backend ? ": " : "",
			l->name && *l->name ? l->name : "queue", (unsigned long long)l->tid);
	return text_safe(text);
}

/* Draws a line per queue, and returns how many. */
static int draw_queues(struct top *top, struct canvas *canvas, int y)
{
	const struct summary *s = picture_kernels(top->picture);
	char busy[UNITS_BYTES], idle[UNITS_BYTES], count[UNITS_BYTES], launch[UNITS_BYTES];
	int shown = 0;
	for (; shown < (int)s->queues.count && shown < MAX_QUEUES; shown++) {
		const struct queue_time *q = &s->queues.queues[shown];
		SCOPED char *name = view_lists_queue_name(top->picture->run, q->lane);
		SCOPED char *more =
			shown + 1 == MAX_QUEUES && s->queues.count > MAX_QUEUES
				? text_format("; %zu more", s->queues.count - MAX_QUEUES)
				: text_copy("");
		canvas_print(canvas, 0, y + shown, canvas->width, STYLE_NORMAL,
			"%s: %s commands, busy %s, idle %s, launch to start p50 %s%s", name,
			units_count(count, q->commands), units_time(busy, q->busy_ns),
			units_time(idle, q->idle_ns), units_time(launch, q->launch.p50_ns), more);
	}
	return shown;
}

static void queue_draw(struct top *top, struct canvas *canvas, int y, int height)
{
	SCOPED_BY(grid_fini) struct grid grid;
	int used = draw_queues(top, canvas, y);
	queue_make(&grid, top);
	if (grid.row_count && height > used + 1)
		grid_draw(&grid, top_place(top), canvas, y + used, height - used);
	else if (!used)
		view_draw_nothing(canvas, y, "No queues: no work of a device was recorded.");
}

const struct view_class view_queues = {
	.name = "queues",
	.title = "Queues",
	.draw = queue_draw,
	.make = queue_make,
};

/* The critical path, and the gain of a faster brick. */

static const struct grid_column path_columns[] = {{"BRICK", GRID_TEXT, 0},
	{"ON PATH", GRID_NUMBER, 0}, {"OF PATH", GRID_NUMBER, 0}, {"", GRID_BAR, 6},
	{"SLACK", GRID_NUMBER, 4}, {"10% LESS", GRID_NUMBER, 2}, {"GAIN", GRID_NUMBER, 1},
	{"NO TIME", GRID_NUMBER, 3}, {"GAIN", GRID_NUMBER, 3}};

/*
 * Adds two cells for a section that would take `ns`: its tokens per second, or its time if it has
 * no tokens; and by how much it would be faster.
 */
static void view_lists_add_outcome(struct grid_row *row, const struct path_section *s, uint64_t ns)
{
	double rate = path_tokens_per_s(s, ns),
	       gain = ns ? (double)s->length_ns / (double)ns - 1 : -1;
	char text[UNITS_BYTES];
	if (rate >= 0)
		grid_cell(row, units_number(text, rate), rate);
	else
		grid_cell(row, units_time(text, ns), -(double)ns);
	snprintf(text, sizeof(text), ns ? "+%.1f%%" : "-", 100 * gain);
	grid_cell(row, text, gain);
}

static void path_add_row(
	struct grid *grid, const struct path_section *s, const struct path_row *from)
{
	struct grid_row *row = grid_add(grid);
	double share = known_ratio(from->on_path_ns, s->length_ns);
	row->style = from->on_path_ns ? STYLE_NORMAL : STYLE_FAINT;
	grid_cell(row, from->name, 0);
	grid_time(row, from->on_path_ns);
	grid_percent(row, share);
	grid_bar(row, share);
	grid_time(row, from->slack_mean_ns);
	view_lists_add_outcome(row, s, from->less_ns);
	view_lists_add_outcome(row, s, from->nothing_ns);
}

static void path_make(struct grid *grid, struct top *top)
{
	const char *why;
	const struct path_section *section = picture_path(top->picture, &why);
	grid_init(grid, path_columns, sizeof(path_columns) / sizeof(*path_columns));
	for (size_t i = 0; section && i < section->row_count; i++)
		path_add_row(grid, section, &section->rows[i]);
	grid_arrange(grid, top_place(top));
}

static void path_draw(struct top *top, struct canvas *canvas, int y, int height)
{
	char length[UNITS_BYTES], rate[UNITS_BYTES];
	const char *why;
	const struct path_section *s = picture_path(top->picture, &why);
	if (!s) {
		view_draw_nothing(canvas, y, why);
		return;
	}
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL,
		s->switches ? "Critical path of %s: %s, %s tokens/s; it changes threads %llu times"
			    : "Critical path of %s: %s, %s tokens/s, on one thread",
		s->phase == STEP_PHASES ? "run" : phase_whole(s->phase),
		units_time(length, s->length_ns),
		units_number(rate, path_tokens_per_s(s, s->measured_ns)),
		(unsigned long long)s->switches);
	view_draw_table(&view_path, top, canvas, y + 1, height - 1);
}

const struct view_class view_path = {
	.name = "path",
	.title = "Path",
	.draw = path_draw,
	.make = path_make,
};
