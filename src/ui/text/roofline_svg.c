/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline as a picture: logarithmic axes, a slanted roof for each level of memory, level roofs
 * for arithmetic. A brick is a dot in decode and a square in prefill, as large as its share of the
 * time. It is legible on light and dark, and every number stands in a tooltip, too. Texts lie as
 * near to their points as there is room, and none covers another. The same run gives the same
 * places.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/escape.h"
#include "ui/text/chart.h"
#include "ui/text/provenance.h"
#include "ui/text/roofline_view.h"
#include "ui/text/text.h"

struct label_box {
	double x0, y0, x1, y1;
	bool is_soft; /* may be covered when there is no other room nearby */
};

enum { LABELS_BOXES = 4096 };

struct labels {
	struct label_box field; /* texts stay inside */
	struct label_box boxes[LABELS_BOXES];
	size_t count;
};

struct picture {
	const struct roofline_view *view;
	FILE *out;
	const struct ceilings *roofs;	     /* the machine's or a device's */
	uint32_t threads;		     /* whose ceilings are drawn; 0: none */
	double low_x, high_x, low_y, high_y; /* in FLOP/byte and GFLOP/s */
	double paragraph_y;		     /* where the next line below the axes goes */
	struct labels labels;
};

enum { DIRECTIONS = 24, RINGS = 14, RINGS_OFF_LINES = 5, LINE_STEP = 6 };

static const double gap = 3, ring = 11, text_height = 15, letter_width = 6.9;
static const double least_share = 0.0005; /* of the time; bricks below it get no name */

static double svg_text_width(const char *s)
{
	return letter_width * (double)text_width(s) + 4;
}

static void labels_init(struct labels *labels, double x0, double y0, double x1, double y1)
{
	labels->field = (struct label_box){x0, y0, x1, y1, false};
	labels->count = 0;
}

static void take(struct labels *labels, struct label_box box)
{
	if (labels->count < LABELS_BOXES)
		labels->boxes[labels->count++] = box;
}

/* Marks a box as drawn on; ignored when there are too many boxes. */
static void labels_take(struct labels *labels, double x0, double y0, double x1, double y1)
{
	take(labels, (struct label_box){x0, y0, x1, y1, 0});
}

/* Marks a line. Texts cover it only when there is no other room nearby. */
static void labels_take_line(struct labels *labels, double x0, double y0, double x1, double y1)
{
	int steps = 1 + (int)(hypot(x1 - x0, y1 - y0) / LINE_STEP);
	double half = LINE_STEP / 2.0;

	for (int i = 0; i <= steps && steps < LABELS_BOXES; i++) {
		double x = x0 + (x1 - x0) * i / steps, y = y0 + (y1 - y0) * i / steps;
		take(labels, (struct label_box){x - half, y - half, x + half, y + half, true});
	}
}

static bool overlap(const struct label_box *a, const struct label_box *b)
{
	return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

static bool is_free(const struct labels *labels, const struct label_box *box, bool on_lines)
{
	const struct label_box *field = &labels->field;

	if (box->x0 < field->x0 || box->x1 > field->x1 || box->y0 < field->y0 ||
		box->y1 > field->y1)
		return false;
	for (size_t i = 0; i < labels->count; i++)
		if (!(on_lines && labels->boxes[i].is_soft) && overlap(box, &labels->boxes[i]))
			return false;
	return true;
}

/* The box whose nearest edge or corner lies in that direction at that distance. */
static struct label_box box_at(
	double x, double y, double distance, double angle, double width, double height)
{
	double cosine = cos(angle), sine = sin(angle);
	double cx = x + cosine * (distance + width / 2), cy = y + sine * (distance + height / 2);

	return (struct label_box){
		cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2, false};
}

static bool try_rings(struct labels *labels, double x, double y, double radius, double width,
	double height, int rings, bool on_lines, struct label_box *out)
{
	const double turn = 6.283185307179586;

	for (int r = 0; r < rings; r++)
		for (int d = 0; d < DIRECTIONS; d++) {
			/* To the right first, then alternately above and below. */
			int step = d % 2 ? (d + 1) / 2 : -(d / 2);
			*out = box_at(x, y, radius + gap + r * ring, turn * step / DIRECTIONS,
				width, height);
			if (is_free(labels, out, on_lines))
				return true;
		}
	return false;
}

/*
 * Places a text near a point of that `radius`, and takes its box. 0: there is no room within reach.
 */
static bool labels_place(struct labels *labels, double x, double y, double radius, double width,
	double height, struct label_box *out)
{
	if (!try_rings(labels, x, y, radius, width, height, RINGS_OFF_LINES, false, out) &&
		!try_rings(labels, x, y, radius, width, height, RINGS, true, out))
		return false;
	take(labels, *out);
	return true;
}

enum { WIDTH = 1120, HEIGHT = 720, LEFT = 78, RIGHT = 990, TOP = 92, BOTTOM = 606 };

static const char style[] =
	"<style>\n" CHART_STYLE
	"svg{--roof:#3d444d;--level:#8250df;--decode:#0969da;--prefill:#bc4c00;--outside:#1a7f37;"
	"--bad:#cf222e}\n"
	"@media(prefers-color-scheme:dark){svg{--roof:#b7bdc8;--level:#ab7df8;--decode:#4493f8;"
	"--prefill:#f0883e;--outside:#3fb950;--bad:#f85149}}\n"
	".roof{stroke:var(--roof);stroke-width:2;fill:none}\n"
	".level{stroke:var(--level);stroke-width:1.5;fill:none}\n"
	".minor{stroke:var(--soft);stroke-width:1;stroke-dasharray:5 4;fill:none}\n"
	".halo{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}\n"
	".ceiling{fill:var(--soft)}\n"
	".memory{fill:var(--level)}\n"
	".name{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}\n"
	".leader{stroke:var(--soft);stroke-width:.8;fill:none}\n"
	".mark{stroke:var(--bg);stroke-width:1;fill-opacity:.85}\n"
	".decode{fill:var(--decode)}.prefill{fill:var(--prefill)}.outside{fill:var(--outside)}\n"
	".latency{fill-opacity:.12;stroke-width:1.6}\n"
	".decode.latency{stroke:var(--decode)}.prefill.latency{stroke:var(--prefill)}"
	".outside.latency{stroke:var(--outside)}\n"
	".device{fill-opacity:.25;stroke-width:1.4;stroke-dasharray:2.5 2}\n"
	".decode.device{stroke:var(--decode)}.prefill.device{stroke:var(--prefill)}"
	".outside.device{stroke:var(--outside)}\n"
	".name.device{stroke:var(--bg)}\n"
	".mark.above{stroke:var(--bad);stroke-width:3}.name.above{fill:var(--bad)}\n"
	"</style>\n";

static double svg_x(const struct picture *p, double intensity)
{
	return LEFT + (RIGHT - LEFT) * (log10(intensity) - log10(p->low_x)) /
			      (log10(p->high_x) - log10(p->low_x));
}

static double svg_y(const struct picture *p, double rate)
{
	return BOTTOM - (BOTTOM - TOP) * (log10(rate) - log10(p->low_y)) /
				(log10(p->high_y) - log10(p->low_y));
}

static void reach(double *low, double *high, double value)
{
	if (!(value > 0) || !isfinite(value))
		return;
	*low = value < *low ? value : *low;
	*high = value > *high ? value : *high;
}

/* All marks, and the ridge of f32 with memory well inside. */
static void svg_scale(struct picture *p)
{
	const struct roofline *r = p->view->roofline;
	double low_x = 1, high_x = 10, low_y = 10, high_y = 10;

	for (size_t i = 0; i < r->row_count; i++)
		if (roofline_shows(p->view, &r->rows[i]) && r->rows[i].intensity > 0) {
			reach(&low_x, &high_x, r->rows[i].intensity);
			reach(&low_y, &high_y, r->rows[i].flops_per_ns);
		}
	const struct ceilings_compute *top = ceilings_peak(p->roofs, NULL, p->threads);
	const struct ceilings_compute *f32 = ceilings_peak(p->roofs, "f32", p->threads);
	const struct ceilings_bandwidth *memory =
		p->roofs->level_count
			? ceilings_fastest(p->roofs,
				  p->roofs->levels[p->roofs->level_count - 1].name, p->threads)
			: NULL;
	if (top)
		reach(&low_y, &high_y, top->rate.best);
	if (f32 && memory)
		reach(&low_x, &high_x, f32->rate.best / memory->rate.best * 10);
	p->low_x = low_x / 1.8;
	p->high_x = high_x * 1.8;
	p->low_y = low_y / 2.2;
	p->high_y = high_y * 1.7;
	labels_init(&p->labels, LEFT + 2, TOP + 2, RIGHT - 2, BOTTOM - 2);
}

static void print_heading(const struct picture *p)
{
	const struct roofline *r = p->view->roofline;
	SCOPED char *command = provenance_command(r->run);
	const char *name = command ? command : r->run->path ? r->run->path : "";
	const char *slash = memrchr(name, '/', strcspn(name, " "));
	char *cut = text_cut(slash ? slash + 1 : name, 66), date[DATE_BYTES];

	fprintf(p->out, "<text class=\"title\" x=\"%d\" y=\"34\">Roofline of ", LEFT);
	escape_xml(p->out, cut);
	fprintf(p->out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"56\">", LEFT);
	escape_xml(p->out, r->ceilings->cpu[0] ? r->ceilings->cpu : "unknown CPU");
	if (r->device && p->roofs == &r->device->can) {
		fputs("; ceilings of ", p->out);
		escape_xml(p->out, r->device->name);
	} else if (p->threads)
		fprintf(p->out, "; ceilings of %u thread%s", p->threads,
			p->threads == 1 ? "" : "s");
	if (date_text(date, r->ceilings->unix_ns, "%Y-%m-%d"))
		fprintf(p->out, ", measured %s", date);
	fputs("; FLOPs and bytes computed from shapes and types, times measured", p->out);
	if (r->doubt)
		fprintf(p->out, "; doubtful: %s", roofline_doubt(r->doubt));
	fputs("</text>\n", p->out);
	free(cut);
}

static void svg_open(struct picture *p)
{
	fprintf(p->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">Roofline: "
		"what bricks compute and move, and what the machine can do</title>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fputs(style, p->out);
	fprintf(p->out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
	print_heading(p);
	p->paragraph_y = BOTTOM + 72;
}

static void axis_number(char *out, size_t bytes, double value)
{
	snprintf(out, bytes, value >= 1000 ? "%.0f" : "%.3g", value);
}

static void draw_tick(const struct picture *p, bool along_x, double value, bool has_number)
{
	double at = along_x ? svg_x(p, value) : svg_y(p, value);
	char number[32];

	axis_number(number, sizeof(number), value);
	if (along_x)
		fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", at, TOP, BOTTOM);
	else
		fprintf(p->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, at, RIGHT);
	if (has_number)
		fprintf(p->out,
			"<text class=\"soft\" text-anchor=\"%s\" x=\"%.*f\" y=\"%.*f\">%s</text>\n",
			along_x ? "middle" : "end", along_x, along_x ? at : LEFT - 8, !along_x,
			along_x ? BOTTOM + 18 : at + 4, number);
}

/* Lines at 1, 2 and 5 of each decade, numbers where there is room for them. */
static void draw_ticks(
	const struct picture *p, bool along_x, double low, double high, bool numbers_at_all)
{
	static const double steps[] = {1, 2, 5};

	for (int e = (int)floor(log10(low)); e <= (int)ceil(log10(high)); e++)
		for (int i = 0; i < 3; i++) {
			double value = steps[i] * pow(10, e);
			if (value >= low && value <= high)
				draw_tick(p, along_x, value, !i || numbers_at_all);
		}
}

static void svg_axes(struct picture *p)
{
	double decades_x = log10(p->high_x / p->low_x), decades_y = log10(p->high_y / p->low_y);

	draw_ticks(p, true, p->low_x, p->high_x, decades_x < 9);
	draw_ticks(p, false, p->low_y, p->high_y, decades_y < 7);
	fprintf(p->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
		LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
	fprintf(p->out,
		"<text class=\"soft\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">arithmetic "
		"intensity, FLOP per byte</text>\n",
		(LEFT + RIGHT) / 2, BOTTOM + 38);
	fprintf(p->out,
		"<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(22 %d) "
		"rotate(-90)\">GFLOP/s</text>\n",
		(TOP + BOTTOM) / 2);
}

static bool has_phase(const struct picture *p, enum roofline_phase phase)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].phase == phase && roofline_shows(p->view, &r->rows[i]))
			return true;
	return false;
}

static bool has_latency(const struct picture *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].bound == ROOFLINE_LATENCY && roofline_shows(p->view, &r->rows[i]))
			return true;
	return false;
}

static bool has_device(const struct picture *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].on_device && r->rows[i].can != p->roofs &&
			roofline_shows(p->view, &r->rows[i]))
			return true;
	return false;
}

static double legend_entry(
	const struct picture *p, double x, const char *class, bool is_square, const char *text)
{
	int y = TOP - 14;

	fprintf(p->out, "<g class=\"mark %s\">", class);
	if (is_square)
		fprintf(p->out, "<rect x=\"%.1f\" y=\"%d\" width=\"11\" height=\"11\" rx=\"1\"/>",
			x, y - 10);
	else
		fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%d\" r=\"6\"/>", x + 6, y - 4);
	fprintf(p->out, "</g><text x=\"%.1f\" y=\"%d\">%s</text>\n", x + 18, y, text);
	return x + 18 + svg_text_width(text) + 14;
}

static void svg_legend(struct picture *p)
{
	double x = LEFT;

	if (has_phase(p, ROOFLINE_PREFILL))
		x = legend_entry(p, x, "prefill", 1, "prefill");
	if (has_phase(p, ROOFLINE_DECODE))
		x = legend_entry(p, x, "decode", 0, "decode");
	bool others = has_phase(p, ROOFLINE_MIXED) || has_phase(p, ROOFLINE_WARM_UP);
	if (others || has_phase(p, ROOFLINE_OUTSIDE))
		x = legend_entry(p, x, "outside", 0,
			others ? "mixed, warm-up, outside of steps" : "outside of steps");
	if (has_latency(p))
		x = legend_entry(p, x,
			has_phase(p, ROOFLINE_DECODE) ? "decode latency" : "prefill latency", 0,
			"bound by latency");
	if (has_device(p))
		x = legend_entry(p, x, "decode device", 0, "on a device: these are not its roofs");
	fprintf(p->out,
		"<text class=\"soft\" x=\"%.1f\" y=\"%d\">larger: more of its phase's time; "
		"percent: of its roof</text>\n",
		x, TOP - 14);
}

/* Lines of at most so many letters, broken at blanks. */
static void svg_paragraph(struct picture *p, const char *text)
{
	enum { LETTERS = 140 };
	char line[LETTERS + 8];

	while (*text && p->paragraph_y < HEIGHT - 6) {
		size_t length = strlen(text), cut = length;
		if (length > LETTERS) {
			for (cut = LETTERS; cut > LETTERS / 2 && text[cut] != ' '; cut--)
				;
			while (cut > 1 && ((unsigned char)text[cut] & 0xc0) == 0x80)
				cut--;
		}
		memcpy(line, text, cut);
		line[cut] = '\0';
		fprintf(p->out, "<text class=\"soft\" x=\"%d\" y=\"%.1f\">", LEFT, p->paragraph_y);
		escape_xml(p->out, line);
		fputs("</text>\n", p->out);
		p->paragraph_y += 17;
		text += cut + (text[cut] == ' ');
	}
}

enum { NEAR = 15 }; /* px between two lines with room for a text */

/* The point at which a roof of bandwidth leaves the picture: below, or on the left. */
static double left_end(const struct picture *p, double bandwidth)
{
	double x = p->low_y / bandwidth;

	return x > p->low_x ? x : p->low_x;
}

/* Takes the boxes along a slanted text: its letters, one after the other. */
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
	bool room_above = !i || line->y - lines[i - 1].y > NEAR / cos(angle);
	bool room_below = i + 1 == count || lines[i + 1].y - line->y > NEAR / cos(angle);
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

/* The intensity from which arithmetic may be the roof: under the fastest level. */
static double compute_begin(const struct picture *p, double rate)
{
	const struct ceilings_bandwidth *fastest = ceilings_fastest(p->roofs, NULL, p->threads);
	double x = fastest ? rate / fastest->rate.best : p->low_x;

	return x > p->low_x ? x : p->low_x;
}

static void draw_compute(struct picture *p, const struct compute_line *line, bool is_main)
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

/* Draws the roofs, in the order of drawing. */
static void svg_roofs(struct picture *p)
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

static double radius_of(const struct roofline_row *row)
{
	double share = row->share > 0 ? row->share : 0;

	return 4 + 9 * sqrt(share < 1 ? share : 1);
}

static bool has_place(const struct roofline_row *row)
{
	return row->intensity > 0 && row->flops_per_ns > 0;
}

static bool is_above(const struct roofline_row *row)
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

/* Draws a line from the mark's edge to the nearest point of the text. */
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

/* Lists bricks that have no place on these axes in words below them. */
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

/* The same in words, for those who cannot see the picture. */
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
