/* SPDX-License-Identifier: Apache-2.0 */
/* A trend as a picture, and as a page that needs nothing else. Called by `brick history plot`. */
#include "ui/text/trend.h"

#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/scope.h"
#include "ui/text/text.h"

enum { WIDTH = 900, HEIGHT = 300, LEFT = 80, RIGHT = 20, TOP = 40, BOTTOM = 40 };

struct frame {
	const struct trend *trend;
	double top; /* ns at the upper edge; the lower one is 0 */
	FILE *out;
};

static double x_of(const struct frame *f, size_t i)
{
	size_t n = f->trend->ns.count;

	return LEFT + (WIDTH - LEFT - RIGHT) * ((double)i + 0.5) / (double)n;
}

static double y_of(const struct frame *f, double ns)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ns / f->top;
}

/* The next 1, 2 or 5 times a power of ten. */
static double round_up(double value)
{
	double power = pow(10, floor(log10(value)));
	double digit = value / power;

	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void put_axis(const struct frame *f)
{
	enum { LINES = 4 };
	char text[UNITS_BYTES];

	for (int i = 0; i <= LINES; i++) {
		double ns = f->top * i / LINES, y = y_of(f, ns);
		fprintf(f->out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ccc\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4);
		escape_xml(f->out, units_time(text, (uint64_t)ns));
		fputs("</text>\n", f->out);
	}
}

static void put_date(const struct frame *f, size_t i, const char *anchor)
{
	SCOPED char *date = trend_date(f->trend->runs.items[i].start_ns);

	fprintf(f->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x_of(f, i),
		HEIGHT - BOTTOM + 20, anchor, date);
}

static void put_runs(const struct frame *f)
{
	const struct trend *t = f->trend;

	for (size_t i = 0; i < t->ns.count; i++) {
		char text[UNITS_BYTES];
		fprintf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#36c\"><title>",
			x_of(f, i), y_of(f, t->ns.items[i]));
		escape_xml(f->out, t->runs.items[i].id);
		fputc(' ', f->out);
		escape_xml(f->out, t->runs.items[i].engine);
		fputc(' ', f->out);
		escape_xml(f->out, units_time(text, (uint64_t)t->ns.items[i]));
		fputs("</title></circle>\n", f->out);
	}
}

/* The level up to a change, and from it on; a line where it is. */
static void put_changes(const struct frame *f)
{
	const struct trend *t = f->trend;

	for (size_t i = 0; i < t->change_count; i++) {
		const struct change_point *c = &t->changes[i];
		double x = (x_of(f, c->at) + x_of(f, c->at - 1)) / 2;
		size_t first = i ? c[-1].at : 0;
		size_t last = i + 1 < t->change_count ? c[1].at - 1 : t->ns.count - 1;
		fprintf(f->out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#c33\" "
			"stroke-dasharray=\"4\"/>\n"
			"<path d=\"M%.1f %.1fH%.1fM%.1f %.1fH%.1f\" stroke=\"#c33\"/>\n"
			"<text x=\"%.1f\" y=\"%d\" fill=\"#c33\">%+.1f%%</text>\n",
			x, TOP, x, HEIGHT - BOTTOM, x_of(f, first), y_of(f, c->before), x, x,
			y_of(f, c->after), x_of(f, last), x + 4, TOP + 12,
			100 * (c->after / c->before - 1));
	}
}

void trend_svg(const struct trend *t, FILE *out)
{
	struct frame f = {.trend = t, .out = out};

	for (size_t i = 0; i < t->ns.count; i++)
		f.top = fmax(f.top, t->ns.items[i]);
	f.top = round_up(f.top > 0 ? f.top : 1);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\" "
		"font-size=\"15\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	escape_xml(out, t->what);
	fputs(", time a token</text>\n", out);
	put_axis(&f);
	put_runs(&f);
	put_changes(&f);
	put_date(&f, 0, "start");
	put_date(&f, t->ns.count - 1, "end");
	fputs("</svg>\n", out);
}

static void put_row(FILE *out, const struct trend *t, size_t i)
{
	const struct trend_run *run = &t->runs.items[i];
	char text[UNITS_BYTES], *date = trend_date(run->start_ns);
	const char *const cells[] = {run->id, date, run->engine, run->labels,
		units_time(text, (uint64_t)t->ns.items[i])};

	fputs("<tr>", out);
	for (size_t k = 0; k < sizeof(cells) / sizeof(*cells); k++) {
		fputs("<td>", out);
		escape_xml(out, cells[k]);
		fputs("</td>", out);
	}
	fputs("</tr>\n", out);
	free(date);
}

void trend_page(const struct trend *t, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
	escape_xml(out, t->what);
	fputs("</title><style>body{font-family:sans-serif;margin:2em}td,th{padding:2px "
	      "12px;text-align:left}svg{max-width:100%}</style></head><body>\n<h1>",
		out);
	escape_xml(out, t->what);
	fputs("</h1>\n", out);
	trend_svg(t, out);
	fprintf(out, "<h2>%zu change%s</h2>\n<ul>\n", t->change_count,
		t->change_count == 1 ? "" : "s");
	for (size_t i = 0; i < t->change_count; i++) {
		const struct change_point *c = &t->changes[i];
		fprintf(out, "<li>%+.1f%% (p %.2g) from run ", 100 * (c->after / c->before - 1),
			c->p);
		escape_xml(out, t->runs.items[c->at].id);
		fputs(" on</li>\n", out);
	}
	fputs("</ul>\n<table><tr><th>run</th><th>start</th><th>engine</th><th>labels</th>"
	      "<th>a token</th></tr>\n",
		out);
	for (size_t i = t->ns.count; i-- > 0;)
		put_row(out, t, i);
	fputs("</table></body></html>\n", out);
}
