/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times over the context as a picture, of the series with the most steps: dots are measured
 * medians, lines are fitted, dashed beyond the measured contexts, with their intervals. Legible on
 * light and dark.
 */
#include <math.h>
#include <stdio.h>

#include "base/escape.h"
#include "base/scope.h"
#include "ui/text/chart.h"
#include "ui/text/scaling_view.h"
#include "ui/text/text.h"

enum { WIDTH = 1000, HEIGHT = 560, LEFT = 84, RIGHT = 800, TOP = 76, BOTTOM = 500 };
enum { TICKS = 5, NAME_ROW = 34, BAND_POINTS = 16 };

struct picture {
	struct scaling_shown shown;
	FILE *out;
	double top, step_ns; /* of the axis of time */
};

static const char style[] =
	"<style>\n" CHART_STYLE
	"svg{--c0:#0969da;--c1:#bc4c00;--c2:#1f2328;--c3:#1a7f37;--c4:#8250df;--c5:#9a6700}\n"
	"@media(prefers-color-scheme:dark){svg{--c0:#4493f8;--c1:#f0883e;--c2:#e6edf3;"
	"--c3:#3fb950;--c4:#ab7df8;--c5:#d29922}}\n"
	".beyond{stroke-dasharray:6 4}\n"
	".l0,.l1,.l2,.l3,.l4,.l5{fill:none;stroke-width:1.8}\n"
	".l0{stroke:var(--c0)}.l1{stroke:var(--c1)}.l2{stroke:var(--c2)}.l3{stroke:var(--c3)}"
	".l4{stroke:var(--c4)}.l5{stroke:var(--c5)}\n"
	".f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}"
	".f4{fill:var(--c4)}.f5{fill:var(--c5)}\n"
	".band{fill-opacity:.14}\n"
	"</style>\n";

static double x_of(const struct picture *p, double context)
{
	return LEFT + (RIGHT - LEFT) * context / p->shown.end;
}

static double y_of(const struct picture *p, double ns)
{
	return BOTTOM - (BOTTOM - TOP) * fmin(ns, p->top) / p->top;
}

static bool goes_on(const struct picture *p, const struct scaling_line *line)
{
	return scaling_is_modelled(p->shown.series, line);
}

static void put_axes(const struct picture *p)
{
	double step = chart_round_up(p->shown.end / TICKS);
	char text[UNITS_BYTES];

	for (int i = 0; i * p->step_ns <= p->top * 1.001; i++) {
		double ns = i * p->step_ns, y = y_of(p, ns);
		fprintf(p->out,
			"<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n"
			"<text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			i ? "grid" : "frame", LEFT, y, RIGHT, y, LEFT - 8, y + 4);
		escape_xml(p->out, i ? units_time(text, (uint64_t)(ns + 0.5)) : "0");
		fputs("</text>\n", p->out);
	}
	for (double context = 0; context <= p->shown.end; context += step)
		fprintf(p->out,
			"<text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f"
			"</text>\n",
			x_of(p, context), BOTTOM + 18, context);
	fprintf(p->out,
		"<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">tokens of context"
		"</text>\n",
		(LEFT + RIGHT) / 2, BOTTOM + 40);
	if (p->shown.end > p->shown.series->longest)
		fprintf(p->out,
			"<line class=\"frame beyond\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
			"\n<text class=\"soft\" x=\"%.1f\" y=\"%d\">modelled beyond %.0f</text>\n",
			x_of(p, p->shown.series->longest), TOP, x_of(p, p->shown.series->longest),
			BOTTOM, x_of(p, p->shown.series->longest) + 6, TOP + 12,
			p->shown.series->longest);
}

/* Between the ends of its interval. */
static void put_band(const struct picture *p, int i, double from, double to)
{
	fprintf(p->out, "<path class=\"f%d band\" d=\"", i);
	for (int k = 0; k <= 2 * BAND_POINTS + 1; k++) {
		bool back = k > BAND_POINTS;
		int at = back ? 2 * BAND_POINTS + 1 - k : k;
		double context = from + (to - from) * at / BAND_POINTS;
		struct scaling_value v = scaling_at(p->shown.lines[i].line, context);
		fprintf(p->out, "%c%.1f %.1f", k ? 'L' : 'M', x_of(p, context),
			y_of(p, back ? v.low : v.high));
	}
	fputs("Z\"/>\n", p->out);
}

static void put_segment(const struct picture *p, int i, double from, double to, bool is_beyond)
{
	const struct scaling_line *line = p->shown.lines[i].line;
	double at_from = scaling_at(line, from).value, at_to = scaling_at(line, to).value;

	/* a line that leaves the picture ends at its edge */
	if (at_to > p->top && at_to > at_from) {
		to = from + (to - from) * (p->top - at_from) / (at_to - at_from);
		at_to = p->top;
	}
	fprintf(p->out, "<line class=\"l%d%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		i, is_beyond ? " beyond" : "", x_of(p, from), y_of(p, at_from), x_of(p, to),
		y_of(p, at_to));
}

static void put_line(const struct picture *p, int i)
{
	const struct scaling_series *s = p->shown.series;
	const struct scaling_line *line = p->shown.lines[i].line;
	char text[UNITS_BYTES];

	if (line->is_known && !scaling_is_noisy(s, line)) {
		put_segment(p, i, s->shortest, s->longest, false);
		if (goes_on(p, line)) {
			put_band(p, i, s->longest, p->shown.end);
			put_segment(p, i, s->longest, p->shown.end, true);
		}
	}
	for (uint32_t k = 0; k < line->point_count; k++) {
		fprintf(p->out, "<circle class=\"f%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"><title>",
			i, x_of(p, line->points[k].context), y_of(p, line->points[k].ns));
		escape_xml(p->out, p->shown.lines[i].name);
		fprintf(p->out, ", context %.0f: ", line->points[k].context);
		escape_xml(p->out, units_time(text, (uint64_t)(line->points[k].ns + 0.5)));
		fputs("</title></circle>\n", p->out);
	}
}

static void put_legend(const struct picture *p, int i)
{
	const struct scaling_line *line = p->shown.lines[i].line;
	int y = TOP + 10 + NAME_ROW * i;

	fprintf(p->out,
		"<rect class=\"f%d\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\"/>\n<text "
		"x=\"%d\" y=\"%d\">",
		i, RIGHT + 18, y - 10, RIGHT + 36, y);
	escape_xml(p->out, p->shown.lines[i].name);
	fprintf(p->out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"%d\">", RIGHT + 36, y + 15);
	if (!line->is_known)
		fputs("slope not known", p->out);
	else if (scaling_is_noisy(p->shown.series, line))
		fputs("too noisy", p->out);
	else
		fprintf(p->out, "%.*f ns a token", fabs(line->slope.value) < 10 ? 1 : 0,
			line->slope.value);
	fputs("</text>\n", p->out);
}

static void find_top(struct picture *p)
{
	for (int i = 0; i < p->shown.count; i++) {
		const struct scaling_line *line = p->shown.lines[i].line;
		for (uint32_t k = 0; k < line->point_count; k++)
			p->top = fmax(p->top, line->points[k].ns);
		if (goes_on(p, line))
			p->top = fmax(p->top, scaling_at(line, p->shown.end).value);
	}
	p->step_ns = chart_round_up((p->top > 0 ? p->top : 1) / TICKS);
	p->top = ceil(p->top / p->step_ns) * p->step_ns;
}

void scaling_svg(const struct scaling_view *view, FILE *out)
{
	struct picture p = {.out = out};

	scaling_choose(&p.shown, view);
	find_top(&p);
	const struct scaling_series *s = p.shown.series;
	const char *model = run_model_name(view->run, s->process, s->model);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\">\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"30\">Time in a step over the context</text>\n"
		"<text class=\"soft\" x=\"%d\" y=\"50\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT, LEFT, LEFT);
	if (model) {
		escape_xml(out, model);
		fputs(": ", out);
	}
	fprintf(out, "%u step%s with %u token%s each; dots are medians, lines the slopes</text>\n",
		s->steps, plural_s(s->steps), s->batch, plural_s(s->batch));
	put_axes(&p);
	for (int i = p.shown.count; i-- > 0;)
		put_line(&p, i);
	for (int i = 0; i < p.shown.count; i++)
		put_legend(&p, i);
	fputs("</svg>\n", out);
}
