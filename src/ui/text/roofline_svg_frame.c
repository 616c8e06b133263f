/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline's frame: scales, style sheet, axes, legend. Called by roofline_svg.c; the roofs are
 * in roofline_svg_roofs.c.
 */
#include "base/escape.h"
#include "base/date.h"
#include "ui/text/roofline_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/provenance.h"
#include "ui/text/text.h"

enum { WIDTH = 1120, HEIGHT = 720, LEFT = 78, RIGHT = 990, TOP = 92, BOTTOM = 606 };

static const char style[] =
	"<style>\n"
	"svg{--bg:#fff;--ink:#1f2328;--soft:#59636e;--grid:#e7eaee;--roof:#3d444d;--level:#8250df;"
	"--decode:#0969da;--prefill:#bc4c00;--outside:#1a7f37;--bad:#cf222e;"
	"font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"background:var(--bg)}\n"
	"@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--ink:#e6edf3;--soft:#9198a1;"
	"--grid:#21262d;--roof:#b7bdc8;--level:#ab7df8;--decode:#4493f8;--prefill:#f0883e;"
	"--outside:#3fb950;--bad:#f85149}}\n"
	"text{fill:var(--ink);font-size:12px}\n"
	".page{fill:var(--bg)}\n"
	".title{font-size:18px;font-weight:600}\n"
	".soft{fill:var(--soft)}\n"
	".grid{stroke:var(--grid);fill:none}\n"
	".frame{stroke:var(--soft);fill:none}\n"
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

double svg_x(const struct picture *p, double intensity)
{
	return LEFT + (RIGHT - LEFT) * (log10(intensity) - log10(p->low_x)) /
			      (log10(p->high_x) - log10(p->low_x));
}

double svg_y(const struct picture *p, double rate)
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
void svg_scale(struct picture *p)
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
	if (p->view->doubt)
		fprintf(p->out, "; doubtful: %s", p->view->doubt);
	fputs("</text>\n", p->out);
	free(cut);
}

void svg_open(struct picture *p)
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

void svg_axes(struct picture *p)
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

static int has_phase(const struct picture *p, enum roofline_phase phase)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].phase == phase && roofline_shows(p->view, &r->rows[i]))
			return 1;
	return 0;
}

static int has_latency(const struct picture *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].bound == ROOFLINE_LATENCY && roofline_shows(p->view, &r->rows[i]))
			return 1;
	return 0;
}

static int has_device(const struct picture *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].on_device && r->rows[i].can != p->roofs &&
			roofline_shows(p->view, &r->rows[i]))
			return 1;
	return 0;
}

static double legend_entry(
	const struct picture *p, double x, const char *class, int is_square, const char *text)
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

void svg_legend(struct picture *p)
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
void svg_paragraph(struct picture *p, const char *text)
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
