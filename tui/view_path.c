/* SPDX-License-Identifier: Apache-2.0 */
/* The view of the critical path: what decided the time, and what a faster brick would buy. */
#include <stdlib.h>

#include "analysis/unknown.h"
#include "view/text.h"
#include "view/units.h"
#include "tui/top.h"

enum { NAME, ON_PATH, SHARE, BAR, SLACK, LESS, GAIN, NOTHING, WHOLE_GAIN, COLUMNS };

static const struct grid_column columns[COLUMNS] = {
	[NAME] = {"BRICK", GRID_TEXT, 0},
	[ON_PATH] = {"ON PATH", GRID_NUMBER, 0},
	[SHARE] = {"SHARE", GRID_NUMBER, 0},
	[BAR] = {"", GRID_BAR, 6},
	[SLACK] = {"SLACK", GRID_NUMBER, 4},
	[LESS] = {"10% LESS", GRID_NUMBER, 2},
	[GAIN] = {"GAIN", GRID_NUMBER, 1},
	[NOTHING] = {"NO TIME", GRID_NUMBER, 3},
	[WHOLE_GAIN] = {"GAIN", GRID_NUMBER, 3},
};

/* What the section would be: its tokens per second, or its time where it has no tokens. */
static void cell_outcome(
	struct grid_row *row, size_t column, const struct path_section *s, uint64_t ns)
{
	double rate = path_tokens_per_s(s, ns);
	char text[UNITS_BYTES];
	if (rate >= 0)
		grid_cell(row, column, units_number(text, rate), rate);
	else
		grid_cell(row, column, units_time(text, ns), -(double)ns);
}

static void cell_gain(
	struct grid_row *row, size_t column, const struct path_section *s, uint64_t ns)
{
	char text[UNITS_BYTES] = "-";
	double gain = ns ? (double)s->length_ns / (double)ns - 1 : -1;
	if (ns)
		snprintf(text, sizeof(text), "+%.1f%%", 100 * gain);
	grid_cell(row, column, text, gain);
}

static void add_row(struct grid *grid, const struct path_section *s, const struct path_row *from)
{
	struct grid_row *row = grid_add(grid);
	double share = s->length_ns ? (double)from->on_path_ns / (double)s->length_ns : -1;
	char text[UNITS_BYTES];
	char *name = text_safe(from->name);
	row->style = from->on_path_ns ? STYLE_NORMAL : STYLE_FAINT;
	grid_cell(row, NAME, name, 0);
	grid_cell(row, ON_PATH, units_time(text, from->on_path_ns), (double)from->on_path_ns);
	grid_cell(row, SHARE, units_percent(text, share), share);
	grid_cell(row, BAR, "", share);
	grid_cell(row, SLACK, units_time(text, from->slack_mean_ns),
		from->slack_mean_ns == ANALYSIS_UNKNOWN ? -1 : (double)from->slack_mean_ns);
	cell_outcome(row, LESS, s, from->less_ns);
	cell_gain(row, GAIN, s, from->less_ns);
	cell_outcome(row, NOTHING, s, from->nothing_ns);
	cell_gain(row, WHOLE_GAIN, s, from->nothing_ns);
	free(name);
}

static void make(struct grid *grid, struct top *top)
{
	const char *why;
	const struct path_section *section = picture_path(top->picture, &why);
	grid_init(grid, columns, COLUMNS);
	for (size_t i = 0; section && i < section->row_count; i++)
		add_row(grid, section, &section->rows[i]);
	grid_arrange(grid, top_place(top));
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	static const char *const phases[STEP_PHASES + 1] = {
		"prefill", "decode", "mixed", "warm-up", "run"};
	char length[UNITS_BYTES], rate[UNITS_BYTES];
	const char *why;
	const struct path_section *s = picture_path(top->picture, &why);
	if (!s) {
		top_draw_nothing(canvas, y, why);
		return;
	}
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL,
		"Critical path of the %s: %s, %s tokens/s; it changes threads %llu times",
		phases[s->phase], units_time(length, s->length_ns),
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
