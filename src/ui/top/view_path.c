/* SPDX-License-Identifier: Apache-2.0 */
/* The view of the critical path: what decided the time, and what a faster brick would buy. */
#include "ui/text/units.h"
#include "ui/top/top.h"

static const struct grid_column columns[] = {{"BRICK", GRID_TEXT, 0}, {"ON PATH", GRID_NUMBER, 0},
	{"SHARE", GRID_NUMBER, 0}, {"", GRID_BAR, 6}, {"SLACK", GRID_NUMBER, 4},
	{"10% LESS", GRID_NUMBER, 2}, {"GAIN", GRID_NUMBER, 1}, {"NO TIME", GRID_NUMBER, 3},
	{"GAIN", GRID_NUMBER, 3}};

/*
 * Two cells: what the section would be, its tokens per second, or its time where it has no tokens;
 * and by how much it would be faster.
 */
static void add_outcome(struct grid_row *row, const struct path_section *s, uint64_t ns)
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

static void add_row(struct grid *grid, const struct path_section *s, const struct path_row *from)
{
	struct grid_row *row = grid_add(grid);
	double share = s->length_ns ? (double)from->on_path_ns / (double)s->length_ns : -1;
	row->style = from->on_path_ns ? STYLE_NORMAL : STYLE_FAINT;
	grid_cell(row, from->name, 0);
	grid_time(row, from->on_path_ns);
	grid_percent(row, share);
	grid_bar(row, share);
	grid_time(row, from->slack_mean_ns);
	add_outcome(row, s, from->less_ns);
	add_outcome(row, s, from->nothing_ns);
}

static void make(struct grid *grid, struct top *top)
{
	const char *why;
	const struct path_section *section = picture_path(top->picture, &why);
	grid_init(grid, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; section && i < section->row_count; i++)
		add_row(grid, section, &section->rows[i]);
	grid_arrange(grid, top_place(top));
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	char length[UNITS_BYTES], rate[UNITS_BYTES];
	const char *why;
	const struct path_section *s = picture_path(top->picture, &why);
	if (!s) {
		top_draw_nothing(canvas, y, why);
		return;
	}
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL,
		s->switches
			? "Critical path of the %s: %s, %s tokens/s; it changes threads %llu times"
			: "Critical path of the %s: %s, %s tokens/s, on one thread",
		s->phase == STEP_PHASES ? "run" : step_phase_name(s->phase),
		units_time(length, s->length_ns),
		units_number(rate, path_tokens_per_s(s, s->measured_ns)),
		(unsigned long long)s->switches);
	top_draw_table(top, canvas, y + 1, height - 1);
}

const struct view_class view_path = {
	.name = "path",
	.title = "Path",
	.draw = draw,
	.make = make,
};
