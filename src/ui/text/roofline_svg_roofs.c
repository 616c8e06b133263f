/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofs of a roofline: bandwidth of each level up to where f32 is the roof, and arithmetic by
 * type and instruction set. Called by roofline_svg.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "ui/text/roofline_svg.h"
#include "ui/text/text.h"

enum { NEAR = 15 }; /* px between two lines with room for a text */

/* Where a roof of bandwidth leaves the picture below, or on the left. */
static double left_end(const struct picture *p, double bandwidth)
{
	double x = p->low_y / bandwidth;

	return x > p->low_x ? x : p->low_x;
}

/* Take the boxes along a slanted text: its letters, one after the other. */
static void take_slanted(struct picture *p, double x, double y, double angle, double width)
{
	for (double at = 0; at < width; at += 8) {
		double cx = x + at * cos(angle), cy = y + at * sin(angle);
		labels_take(&p->labels, cx - 8, cy - 14, cx + 8, cy + 2);
	}
}

struct level_line {
	const char *name;
	double rate; /* bytes per ns */
	double y;    /* where it begins, at a common x */
};

/* Above its line if the next one leaves room, else below it, else further along. */
static void label_level(
	struct picture *p, const struct level_line *lines, size_t i, size_t count, double peak)
{
	const struct level_line *line = &lines[i];
	double x0 = svg_x(p, left_end(p, line->rate));
	double y0 = svg_y(p, left_end(p, line->rate) * line->rate);
	double x1 = svg_x(p, peak / line->rate), y1 = svg_y(p, peak);
	double angle = atan2(y1 - y0, x1 - x0), length = hypot(x1 - x0, y1 - y0);
	int room_above = !i || line->y - lines[i - 1].y > NEAR / cos(angle);
	int room_below = i + 1 == count || lines[i + 1].y - line->y > NEAR / cos(angle);
	char rate[UNITS_BYTES], text[96];
	double offset = room_above || !room_below ? -6 : 15;

	snprintf(text, sizeof(text), "%.32s %s GB/s", line->name, units_number(rate, line->rate));
	double width = svg_text_width(text), at = room_above || room_below ? 14 : 14 + width + 20;
	if (at + width > length)
		return;
	double x = x0 + at * cos(angle) - offset * sin(angle);
	double y = y0 + at * sin(angle) + offset * cos(angle);
	fprintf(p->out,
		"<text class=\"memory halo\" transform=\"translate(%.1f %.1f) rotate(%.2f)\">", x,
		y, angle * 180 / 3.141592653589793);
	escape_xml(p->out, text);
	fputs("</text>\n", p->out);
	take_slanted(p, x, y, angle, width);
}

static size_t collect_levels(const struct picture *p, struct level_line *lines, size_t most)
{
	const struct ceilings *c = p->roofs;
	size_t count = 0;

	for (size_t i = 0; i < c->level_count && count < most; i++) {
		const struct ceilings_bandwidth *row =
			ceilings_fastest(c, c->levels[i].name, p->threads);
		size_t at = count;
		if (!row)
			continue;
		for (; at && lines[at - 1].rate < row->rate.best; at--)
			lines[at] = lines[at - 1];
		lines[at] = (struct level_line){
			row->level, row->rate.best, svg_y(p, p->low_x * row->rate.best)};
		count++;
	}
	return count;
}

static void draw_levels(struct picture *p, double peak)
{
	enum { LINES = 8 };
	struct level_line lines[LINES];
	size_t count = collect_levels(p, lines, LINES);

	for (size_t i = 0; i < count; i++) {
		double low = left_end(p, lines[i].rate), ridge = peak / lines[i].rate;
		if (ridge <= low)
			continue;
		fprintf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
			i + 1 == count ? "roof" : "level", svg_x(p, low),
			svg_y(p, low * lines[i].rate), svg_x(p, ridge), svg_y(p, peak));
		labels_take_line(&p->labels, svg_x(p, low), svg_y(p, low * lines[i].rate),
			svg_x(p, ridge), svg_y(p, peak));
	}
	for (size_t i = 0; i < count; i++)
		if (peak / lines[i].rate > left_end(p, lines[i].rate))
			label_level(p, lines, i, count, peak);
}

struct compute_line {
	double rate;
	char text[96];
};

/* Where arithmetic may begin to be the roof: under the fastest level. */
static double compute_begin(const struct picture *p, double rate)
{
	const struct ceilings_bandwidth *fastest = ceilings_fastest(p->roofs, NULL, p->threads);
	double x = fastest ? rate / fastest->rate.best : p->low_x;

	return x > p->low_x ? x : p->low_x;
}

static void draw_compute(struct picture *p, const struct compute_line *line, int is_main)
{
	double begin = compute_begin(p, line->rate), y = svg_y(p, line->rate);
	double right = svg_x(p, p->high_x);

	if (line->rate < p->low_y || line->rate > p->high_y || begin >= p->high_x)
		return;
	fprintf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n", is_main ? "roof" : "minor",
		svg_x(p, begin), y, right);
	labels_take_line(&p->labels, svg_x(p, begin), y, right, y);
	fprintf(p->out, "<text class=\"ceiling\" x=\"%.1f\" y=\"%.1f\">", right + 7, y + 4);
	escape_xml(p->out, line->text);
	fputs("</text>\n", p->out);
}

/* Lines that would lie on one another share one, with the name of the first. */
static size_t add_compute(const struct picture *p, struct compute_line *lines, size_t count,
	const struct ceilings_compute *row)
{
	char rate[UNITS_BYTES];

	if (!row)
		return count;
	for (size_t i = 0; i < count; i++)
		if (fabs(svg_y(p, lines[i].rate) - svg_y(p, row->rate.best)) < NEAR)
			return count;
	lines[count].rate = row->rate.best;
	snprintf(lines[count].text, sizeof(lines[count].text), "%.20s %.20s %s", row->isa,
		row->type, units_number(rate, row->rate.best));
	return count + 1;
}

static const struct ceilings_compute *find_compute(
	const struct ceilings *c, const char *isa, const char *type, uint32_t threads)
{
	for (size_t i = 0; i < c->compute_count; i++)
		if (c->compute[i].threads == threads && !strcmp(c->compute[i].isa, isa) &&
			!strcmp(c->compute[i].type, type))
			return &c->compute[i];
	return NULL;
}

void svg_roofs(struct picture *p)
{
	const struct ceilings *c = p->roofs;
	const struct ceilings_compute *f32 = ceilings_peak(c, "f32", p->threads);
	struct compute_line lines[8];
	size_t count = 0;

	if (!p->threads || !f32)
		return;
	count = add_compute(p, lines, count, f32);
	count = add_compute(p, lines, count, ceilings_peak(c, "i8", p->threads));
	count = add_compute(p, lines, count, ceilings_peak(c, "bf16", p->threads));
	count = add_compute(p, lines, count, find_compute(c, "SSE2", "f32", p->threads));
	count = add_compute(p, lines, count, find_compute(c, "scalar", "f32", p->threads));
	for (size_t i = 0; i < count; i++)
		draw_compute(p, &lines[i], i == 0);
	draw_levels(p, f32->rate.best);
}
