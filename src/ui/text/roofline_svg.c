/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline as a picture: logarithmic axes, a slanted roof for each level of memory, level ones
 * for arithmetic, a dot for each brick in decode and a square in prefill, as large as its share of
 * the time. Legible on light and dark; every number stands in a tooltip, too. Called by `brick
 * roofline --svg`. The frame and the roofs are in roofline_svg_frame.c.
 */
#include "ui/text/roofline_svg.h"

#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "ui/text/text.h"

static const double text_height = 15, letter_width = 6.9, least_share = 0.0005;

double svg_text_width(const char *s)
{
	return letter_width * (double)text_width(s) + 4;
}

static double radius_of(const struct roofline_row *row)
{
	double share = row->share > 0 ? row->share : 0;

	return 4 + 9 * sqrt(share < 1 ? share : 1);
}

static int has_place(const struct roofline_row *row)
{
	return row->intensity > 0 && row->flops_per_ns > 0;
}

static int is_above(const struct roofline_row *row)
{
	return (row->flags & (ROOFLINE_ABOVE_COMPUTE | ROOFLINE_ABOVE_BANDWIDTH)) != 0;
}

static void print_tooltip(const struct picture *p, const struct roofline_row *row)
{
	const char *phase = roofline_phase_name(row->phase),
		   *bound = roofline_bound_name(row->bound);
	char flops[UNITS_BYTES], bytes[UNITS_BYTES], intensity[UNITS_BYTES], threads[UNITS_BYTES];
	SCOPED char *by = roofline_roof_text(row);

	escape_xml(p->out, row->name);
	fprintf(p->out, "%s%s: %s GFLOP/s, %s GB/s, %s FLOP/byte, %s threads at once",
		phase ? " in " : "", phase ? phase : "", units_number(flops, row->flops_per_ns),
		units_number(bytes, row->bytes_per_ns), units_number(intensity, row->intensity),
		units_number(threads, row->at_once));
	if (by)
		fprintf(p->out, "; %.1f%% of its roof, which is ", 100 * (1 - row->distance));
	escape_xml(p->out, by);
	fprintf(p->out, "%s%s%s", bound ? "; bound by " : "", bound ? bound : "",
		is_above(row) ? "; above what was measured to be possible" : "");
}

static const char *phase_class(const struct roofline_row *row)
{
	return row->phase == ROOFLINE_PREFILL  ? "prefill"
	       : row->phase == ROOFLINE_DECODE ? "decode"
					       : "outside";
}

static void draw_mark(const struct picture *p, const struct roofline_row *row)
{
	double x = svg_x(p, row->intensity), y = svg_y(p, row->flops_per_ns), r = radius_of(row);
	char class[64];

	snprintf(class, sizeof(class), "%s%s%s%s", phase_class(row),
		row->bound == ROOFLINE_LATENCY ? " latency" : "", row->on_device ? " device" : "",
		is_above(row) ? " above" : "");
	fprintf(p->out, "<g class=\"mark %s\"><title>", class);
	print_tooltip(p, row);
	fputs("</title>", p->out);
	if (row->phase == ROOFLINE_PREFILL)
		fprintf(p->out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1\"/>",
			x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
	else
		fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, r);
	fputs("</g>\n", p->out);
}

/* From the mark's edge to the nearest point of the text. */
static void draw_leader(
	const struct picture *p, double x, double y, double radius, const struct label_box *box)
{
	double tx = x < box->x0 ? box->x0 : x > box->x1 ? box->x1 : x;
	double ty = y < box->y0 ? box->y0 + 3 : y > box->y1 ? box->y1 - 3 : y;
	double distance = hypot(tx - x, ty - y);

	if (distance < radius + 9)
		return;
	fprintf(p->out, "<path class=\"leader\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
		x + (tx - x) * radius / distance, y + (ty - y) * radius / distance, tx, ty);
}

static void draw_label(struct picture *p, const struct roofline_row *row)
{
	double x = svg_x(p, row->intensity), y = svg_y(p, row->flops_per_ns), r = radius_of(row);
	char *cut = text_cut(row->name, 28), *text;
	struct label_box box;

	if (row->roof_flops_per_ns >= 0)
		text = text_format("%s %.0f%%", cut, 100 * (1 - row->distance));
	else
		text = text_copy(cut);
	if (labels_place(&p->labels, x, y, r, svg_text_width(text), text_height, &box)) {
		draw_leader(p, x, y, r, &box);
		fprintf(p->out, "<text class=\"name %s%s\" x=\"%.1f\" y=\"%.1f\">",
			phase_class(row), is_above(row) ? " above" : "", box.x0 + 2, box.y1 - 4);
		escape_xml(p->out, text);
		fputs("</text>\n", p->out);
	}
	free(text);
	free(cut);
}

/* Largest first, so that small marks lie above large ones, and the important names find room. */
static void draw_rows(struct picture *p)
{
	const struct roofline *r = p->view->roofline;
	SCOPED const struct roofline_row **order = text_room(r->row_count + 1, sizeof(*order));
	size_t count = 0;

	for (size_t i = 0; order && i < r->row_count; i++) {
		const struct roofline_row *row = &r->rows[i];
		size_t at = count;
		if (!roofline_shows(p->view, row) || !has_place(row))
			continue;
		for (; at && radius_of(order[at - 1]) < radius_of(row); at--)
			order[at] = order[at - 1];
		order[at] = row;
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		double x = svg_x(p, order[i]->intensity), y = svg_y(p, order[i]->flops_per_ns);
		double radius = radius_of(order[i]);
		draw_mark(p, order[i]);
		labels_take(&p->labels, x - radius, y - radius, x + radius, y + radius);
	}
	for (size_t i = 0; i < count; i++)
		if (order[i]->share < 0 || order[i]->share >= least_share || is_above(order[i]))
			draw_label(p, order[i]);
}

/* What has no place on these axes, in words below them. */
static void draw_rest(struct picture *p)
{
	const struct roofline *r = p->view->roofline;
	char *text = NULL, bytes[UNITS_BYTES];

	for (size_t i = 0; i < r->row_count; i++) {
		const struct roofline_row *row = &r->rows[i];
		const char *phase = roofline_phase_name(row->phase);
		if (!roofline_shows(p->view, row) || has_place(row) || row->bytes_per_ns < 0)
			continue;
		bool decodes = row->phase == ROOFLINE_DECODE;
		text_append(&text, ", ", "%s%s%s%s%s %s",
			text ? "" : "Computing nothing, in GB/s: ", row->name, decodes ? "" : " (",
			decodes ? ""
			: phase ? phase
				: "no step",
			decodes ? "" : ")", units_number(bytes, row->bytes_per_ns));
	}
	if (text)
		svg_paragraph(p, text);
	free(text);
}

/* The same for those who cannot see it. */
static void print_description(const struct picture *p)
{
	const struct roofline *r = p->view->roofline;
	const char *between = "";

	fputs("<desc id=\"d\">", p->out);
	for (size_t i = 0; i < r->row_count; i++) {
		if (!roofline_shows(p->view, &r->rows[i]))
			continue;
		fputs(between, p->out);
		print_tooltip(p, &r->rows[i]);
		between = ". ";
	}
	fputs("</desc>\n", p->out);
}

void roofline_svg(const struct roofline_view *view, FILE *out)
{
	SCOPED struct picture *p = text_room(1, sizeof(*p));

	if (!p)
		return;
	p->view = view;
	p->out = out;
	p->roofs = roofline_main(view, &p->threads);
	svg_scale(p);
	svg_open(p);
	print_description(p);
	svg_axes(p);
	svg_roofs(p);
	draw_rows(p);
	svg_legend(p);
	draw_rest(p);
	fputs("</svg>\n", out);
}
