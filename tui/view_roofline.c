/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of bricks by arithmetic intensity and speed, both by decades. Only bricks whose sites
 * say what they compute and move are here. Letters stand for bricks, listed below the plot.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/memory.h"
#include "cli/text.h"
#include "cli/units.h"
#include "tui/top.h"

enum { MOST_POINTS = 26, AXIS = 8 };

struct point {
	const struct summary_row *row;
	double intensity, gflops;
};

struct plot {
	struct point points[MOST_POINTS];
	int count;
	double low_x, high_x, low_y, high_y; /* powers of ten */
};

static void add_points(struct plot *plot, const struct summary *summary)
{
	for (size_t i = 0; i < summary->row_count && plot->count < MOST_POINTS; i++) {
		const struct summary_row *row = &summary->rows[i];
		if (!(row->flops_per_ns > 0) || !(row->bytes_per_ns > 0))
			continue;
		plot->points[plot->count++] = (struct point){
			row, row->flops_per_ns / row->bytes_per_ns, row->flops_per_ns};
	}
}

static void find_range(struct plot *plot)
{
	plot->low_x = plot->low_y = 1e9;
	plot->high_x = plot->high_y = -1e9;
	for (int i = 0; i < plot->count; i++) {
		double x = log10(plot->points[i].intensity), y = log10(plot->points[i].gflops);
		plot->low_x = fmin(plot->low_x, floor(x));
		plot->high_x = fmax(plot->high_x, floor(x) + 1);
		plot->low_y = fmin(plot->low_y, floor(y));
		plot->high_y = fmax(plot->high_y, floor(y) + 1);
	}
}

static void draw_axes(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	int width = canvas->width - AXIS - 1;
	char text[UNITS_BYTES];
	canvas_text(canvas, 0, y, canvas->width, STYLE_FAINT, "GFLOP/s");
	for (double d = plot->low_y; d <= plot->high_y; d++) {
		int at = (int)lround(
			(plot->high_y - d) / (plot->high_y - plot->low_y) * (height - 1));
		snprintf(text, sizeof(text), "%g", pow(10, d));
		canvas_right(canvas, 0, y + 1 + at, AXIS - 1, STYLE_FAINT, text);
	}
	for (int i = 0; i < height; i++)
		canvas_text(canvas, AXIS, y + 1 + i, 1, STYLE_FAINT,
			canvas->utf8 ? "\xe2\x94\x82" : "|");
	for (int i = 0; i < width; i++)
		canvas_text(canvas, AXIS + 1 + i, y + 1 + height, 1, STYLE_FAINT,
			canvas->utf8 ? "\xe2\x94\x80" : "-");
	for (double d = plot->low_x; d <= plot->high_x; d++) {
		int at =
			(int)lround((d - plot->low_x) / (plot->high_x - plot->low_x) * (width - 1));
		snprintf(text, sizeof(text), "%g", pow(10, d));
		canvas_text(canvas, AXIS + 1 + (at > width - 5 ? width - 5 : at), y + 2 + height, 5,
			STYLE_FAINT, text);
	}
	canvas_right(canvas, canvas->width / 2, y + 2 + height, canvas->width / 4, STYLE_FAINT,
		"FLOP/byte");
}

static void draw_points(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	int width = canvas->width - AXIS - 1;
	for (int i = plot->count; i-- > 0;) {
		const struct point *p = &plot->points[i];
		double x = (log10(p->intensity) - plot->low_x) / (plot->high_x - plot->low_x);
		double v = (plot->high_y - log10(p->gflops)) / (plot->high_y - plot->low_y);
		char letter[2] = {(char)('A' + i), '\0'};
		canvas_text(canvas, AXIS + 1 + (int)lround(x * (width - 1)),
			y + 1 + (int)lround(v * (height - 1)), 1, STYLE_HEADING, letter);
	}
}

static void draw_legend(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	char share[UNITS_BYTES], speed[UNITS_BYTES], intensity[UNITS_BYTES];
	for (int i = 0; i < plot->count && i < height; i++) {
		const struct point *p = &plot->points[i];
		char *name = text_safe(p->row->name);
		canvas_print(canvas, 0, y + i, canvas->width, STYLE_NORMAL,
			"%c %-20s %7s  %8s GFLOP/s  %8s FLOP/byte", 'A' + i, name,
			units_percent(share, p->row->share), units_number(speed, p->gflops),
			units_number(intensity, p->intensity));
		free(name);
	}
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct plot plot = {.count = 0};
	add_points(&plot, top->picture->report.summary);
	if (!plot.count) {
		top_draw_nothing(
			canvas, y, "No brick says both what it computes and what it moves.");
		return;
	}
	find_range(&plot);
	int legend = plot.count < height / 3 ? plot.count : height / 3;
	int plotted = height - legend - 3;
	draw_axes(&plot, canvas, y, plotted);
	draw_points(&plot, canvas, y, plotted);
	draw_legend(&plot, canvas, y + plotted + 3, legend);
}

const struct view_class view_roofline = {
	.name = "roofline",
	.title = "Roofline",
	.draw = draw,
};
