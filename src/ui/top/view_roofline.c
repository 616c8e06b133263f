/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of bricks under the ceilings of the machine, both axes by decades: letters are bricks,
 * listed below the plot, lines are what the machine was measured to do ('brick ceilings'), for as
 * many threads as the brick on top of the list ran on. One phase at a time: decoding, unless asked.
 */
#include <math.h>
#include <stdlib.h>

#include "ui/text/text.h"
#include "ui/top/top_view.h"

enum { MAX_POINTS = 26, AXIS = 8 };

struct plot {
	const struct roofline *roofline;
	const struct roofline_row *points[MAX_POINTS];
	int count;
	enum roofline_phase phase;
	double low_x, high_x, low_y, high_y; /* powers of ten */
};

static bool has_place(const struct roofline_row *row)
{
	return row->flops_per_ns > 0 && row->intensity > 0;
}

static bool has_phase(const struct roofline *r, enum roofline_phase phase)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].phase == phase && has_place(&r->rows[i]))
			return true;
	return false;
}

static enum roofline_phase choose_phase(const struct top *top, const struct roofline *r)
{
	if (top->phase != SUMMARY_ALL_PHASES)
		return (enum roofline_phase)top->phase;
	if (has_phase(r, ROOFLINE_DECODE))
		return ROOFLINE_DECODE;
	return has_phase(r, ROOFLINE_PREFILL) ? ROOFLINE_PREFILL : ROOFLINE_OUTSIDE;
}

static void widen(double *low, double *high, double value)
{
	*low = fmin(*low, floor(log10(value)));
	*high = fmax(*high, floor(log10(value)) + 1);
}

static void make(struct plot *plot, struct top *top)
{
	const struct roofline *r = picture_roofline(top->picture);
	*plot = (struct plot){.roofline = r,
		.phase = choose_phase(top, r),
		.low_x = 9,
		.high_x = -9,
		.low_y = 9,
		.high_y = -9};
	for (size_t i = 0; i < r->row_count && plot->count < MAX_POINTS; i++) {
		const struct roofline_row *row = &r->rows[i];
		if (row->phase != plot->phase || !has_place(row))
			continue;
		plot->points[plot->count++] = row;
		widen(&plot->low_x, &plot->high_x, row->intensity);
		widen(&plot->low_y, &plot->high_y, row->flops_per_ns);
		if (row->peak)
			widen(&plot->low_y, &plot->high_y, row->peak->rate.best);
	}
}

static void draw_axes(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	int width = canvas->width - AXIS - 1;
	char text[UNITS_BYTES];
	for (double d = plot->low_y; d <= plot->high_y; d++) {
		int at = (int)lround(
			(plot->high_y - d) / (plot->high_y - plot->low_y) * (height - 1));
		snprintf(text, sizeof(text), "%g", pow(10, d));
		canvas_right(canvas, 0, y + at, AXIS - 1, STYLE_FAINT, text);
	}
	for (int i = 0; i < height; i++)
		canvas_text(
			canvas, AXIS, y + i, 1, STYLE_FAINT, canvas->utf8 ? "\xe2\x94\x82" : "|");
	for (int i = 0; i < width; i++)
		canvas_text(canvas, AXIS + 1 + i, y + height, 1, STYLE_FAINT,
			canvas->utf8 ? "\xe2\x94\x80" : "-");
	for (double d = plot->low_x; d <= plot->high_x; d++) {
		int at =
			(int)lround((d - plot->low_x) / (plot->high_x - plot->low_x) * (width - 1));
		snprintf(text, sizeof(text), "%g", pow(10, d));
		canvas_text(canvas, AXIS + 1 + (at > width - 5 ? width - 5 : at), y + height + 1, 5,
			STYLE_FAINT, text);
	}
	canvas_right(canvas, canvas->width / 2, y + height + 1, canvas->width / 4, STYLE_FAINT,
		"FLOP/byte");
}

static void put(const struct plot *plot, struct canvas *canvas, int y, int height, double intensity,
	double gflops, enum style style, const char *text)
{
	int width = canvas->width - AXIS - 1;
	double x = (log10(intensity) - plot->low_x) / (plot->high_x - plot->low_x);
	double v = (plot->high_y - log10(gflops)) / (plot->high_y - plot->low_y);
	if (x < 0 || x > 1 || v < 0 || v > 1)
		return;
	canvas_text(canvas, AXIS + 1 + (int)lround(x * (width - 1)),
		y + (int)lround(v * (height - 1)), 1, style, text);
}

/* min(peak, intensity x bandwidth), column by column. */
static void draw_roof(const struct plot *plot, struct canvas *canvas, int y, int height,
	double peak, double bandwidth, enum style style)
{
	int width = canvas->width - AXIS - 1;
	for (int i = 0; i < width; i++) {
		double x = pow(10, plot->low_x + (plot->high_x - plot->low_x) * i /
							 (width > 1 ? width - 1 : 1));
		bool flat = x * bandwidth >= peak;
		put(plot, canvas, y, height, x, flat ? peak : x * bandwidth, style,
			flat	       ? canvas->utf8 ? "\xe2\x94\x80" : "-"
			: canvas->utf8 ? "\xe2\x95\xb1"
				       : "/");
	}
}

/* For the threads of the first brick that has a roof: the caches', and above them memory's. */
static void draw_roofs(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	const struct roofline_row *first = NULL;
	for (int i = 0; i < plot->count && !first; i++)
		if (plot->points[i]->peak && plot->points[i]->roof_threads)
			first = plot->points[i];
	const struct ceilings *c = first ? first->can : NULL;
	for (size_t i = 0; c && i < c->level_count; i++) {
		const struct ceilings_bandwidth *b =
			ceilings_fastest(c, c->levels[i].name, first->roof_threads);
		if (b)
			draw_roof(plot, canvas, y, height, first->peak->rate.best, b->rate.best,
				i + 1 == c->level_count ? STYLE_SHARE : STYLE_FAINT);
	}
}

static void draw_points(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	for (int i = plot->count; i-- > 0;) {
		char letter[2] = {(char)('A' + i), '\0'};
		put(plot, canvas, y, height, plot->points[i]->intensity,
			plot->points[i]->flops_per_ns, STYLE_HEADING, letter);
	}
}

static void draw_legend(const struct plot *plot, struct canvas *canvas, int y, int height)
{
	char share[UNITS_BYTES], speed[UNITS_BYTES], moved[UNITS_BYTES], intensity[UNITS_BYTES];
	for (int i = 0; i < plot->count && i < height; i++) {
		const struct roofline_row *row = plot->points[i];
		const char *bound = roofline_bound_name(row->bound);
		SCOPED char *name = text_safe(row->name);
		SCOPED char *reached =
			row->roof_flops_per_ns > 0
				? text_format("%.0f%% of roof%s%s", 100 * (1 - row->distance),
					  bound ? ", " : "", bound ? bound : "")
				: text_copy("");
		canvas_print(canvas, 0, y + i, canvas->width, STYLE_NORMAL,
			"%c %-16s %6s %6s GFLOP/s %6s GB/s %6s FLOP/B %s", 'A' + i, name,
			units_percent(share, row->share), units_number(speed, row->flops_per_ns),
			units_number(moved, row->bytes_per_ns),
			units_number(intensity, row->intensity), reached);
	}
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct plot plot;
	make(&plot, top);
	const char *phase = roofline_phase_name(plot.phase);
	if (!plot.count) {
		view_draw_nothing(
			canvas, y, "No brick of this phase reports both FLOPs and bytes.");
		return;
	}
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL, "GFLOP/s  %s%s",
		phase ? phase : "outside of steps",
		plot.roofline->ceilings
			? ", under the machine's measured ceilings"
			: "; no ceilings are kept for its machine: 'brick ceilings' measures them");
	int legend = plot.count < height / 3 ? plot.count : height / 3;
	int plotted = height - legend - 3;
	if (plotted < 3)
		return;
	draw_axes(&plot, canvas, y + 1, plotted);
	draw_roofs(&plot, canvas, y + 1, plotted);
	draw_points(&plot, canvas, y + 1, plotted);
	draw_legend(&plot, canvas, y + plotted + 3, legend);
}

const struct view_class view_roofline = {
	.name = "roofline",
	.title = "Roof",
	.draw = draw,
};
