/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a token over runs: for people, as JSON, as a picture, and as a page. */
#include "ui/text/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/escape.h"
#include "base/number.h"
#include "base/scope.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

enum { LABEL = 10, BAR = 60 };

char *trend_date(uint64_t start_ns)
{
	char date[DATE_BYTES];

	return text_copy(date_text(date, start_ns, "%Y-%m-%d %H:%M") ? date : "-");
}

static void bounds(const struct trend *t, double *low, double *high)
{
	*low = INFINITY;
	*high = 0;
	for (size_t i = 0; i < t->ns.count; i++) {
		*low = fmin(*low, t->ns.items[i]);
		*high = fmax(*high, t->ns.items[i]);
	}
}

/* A character for each run; if there is no room, for the mean of several neighbours. */
static void print_sparkline(const struct trend *t, const struct terminal *terminal)
{
	static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
	static const char *const letters[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
	size_t n = t->ns.count, width = n < BAR ? n : BAR;
	double low, high;

	bounds(t, &low, &high);
	fprintf(terminal->out, "%-*s", LABEL, "");
	for (size_t i = 0; i < width; i++) {
		size_t first = i * n / width, end = (i + 1) * n / width;
		double sum = 0;
		for (size_t k = first; k < end; k++)
			sum += t->ns.items[k];
		double mean = sum / (double)(end - first);
		int level = high > low ? (int)((mean - low) / (high - low) * 7.999) : 0;
		fputs(terminal->utf8 ? blocks[level] : letters[level], terminal->out);
	}
	fputc('\n', terminal->out);
}

void trend_workloads_text(const struct terminal *terminal, const struct trend_workload *of,
	const struct trend_workload *left_out, size_t count)
{
	enum { SHOWN = 4 };

	paragraph(terminal, LABEL, "Workload", "%s, on %s (%s)", of->workload, of->host, of->cpu);
	for (size_t i = 0; i < count && i < SHOWN; i++) {
		const struct trend_workload *w = &left_out[i];
		bool same = !strcmp(w->workload, of->workload);
		paragraph(terminal, LABEL, i ? "" : "Left out", "%llu run%s of %s, on %s (%s)",
			(unsigned long long)w->runs, plural_s(w->runs),
			same ? "the same" : w->workload, w->host, w->cpu);
	}
	if (count > SHOWN)
		paragraph(terminal, LABEL, "", "and %zu workloads more", count - SHOWN);
	if (count)
		paragraph(terminal, LABEL, "",
			"--model, --command, --host and --label choose another workload");
}

static json_t *workload_json(const struct trend_workload *w)
{
	json_t *json = json_object();

	json_put_texts(json, w, workload, host, cpu);
	json_put(json, "runs", json_number(w->runs));
	return json;
}

void trend_workloads_json(json_t *json, const struct trend_workload *of,
	const struct trend_workload *left_out, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_add(array, workload_json(&left_out[i]));
	json_put(json, "workload", workload_json(of));
	json_put(json, "left_out", array);
}

void trend_text(const struct trend *t, FILE *out)
{
	char low[UNITS_BYTES], high[UNITS_BYTES], last[UNITS_BYTES];
	struct terminal terminal;
	double least, most;

	terminal_init(&terminal, out);
	bounds(t, &least, &most);
	paragraph(&terminal, LABEL, "Trend", "%s: %zu run%s, %s to %s a token, the last %s",
		t->what, t->ns.count, plural_s(t->ns.count),
		units_time(low, number_of_double(least)), units_time(high, number_of_double(most)),
		units_time(last, number_of_double(t->ns.items[t->ns.count - 1])));
	print_sparkline(t, &terminal);
	for (size_t i = 0; i < t->change_count; i++) {
		const struct change_point *change = &t->changes[i];
		const struct trend_run *run = &t->runs.items[change->at];
		char before[UNITS_BYTES], after[UNITS_BYTES], effect[DIFFERENCE_BYTES];
		const struct difference d = {.effect = change->after / change->before - 1};
		SCOPED char *date = trend_date(run->start_ns);
		const char *former = run[-1].engine;
		bool is_same = !strcmp(run->engine, former);
		paragraph(&terminal, LABEL, change == t->changes ? "Changes" : "",
			"%s to %s, %s, from run %.8s of %s on (p %.2g); the engine is %s%s%s",
			units_time(before, number_of_double(change->before)),
			units_time(after, number_of_double(change->after)),
			difference_size(effect, &d), run->id, date, change->p,
			is_same ? "the same" : run->engine, is_same ? "" : " after ",
			is_same ? "" : former);
	}
	if (!t->change_count)
		paragraph(&terminal, LABEL, "Changes",
			t->ns.count < 2 * CHANGE_SEGMENT_MIN ? "too few runs to tell" : "none");
	trend_workloads_text(&terminal, t->workload, t->left_out, t->left_out_count);
}

static json_t *trend_run_json(const struct trend *t, size_t i)
{
	const struct trend_run *run = &t->runs.items[i];
	json_t *json = json_object();

	json_put(json, "id", json_text(run->id));
	json_put(json, "start_unix_ns", json_number(run->start_ns));
	json_put_texts(json, run, engine, labels);
	json_put(json, "ns", json_rate(t->ns.items[i]));
	return json;
}

void trend_json(const struct trend *t, FILE *out)
{
	json_t *root = json_object(), *runs = json_array(), *changes = json_array();

	for (size_t i = 0; i < t->ns.count; i++)
		json_add(runs, trend_run_json(t, i));
	for (size_t i = 0; i < t->change_count; i++) {
		json_t *json = json_object();
		json_put(json, "run", json_text(t->runs.items[t->changes[i].at].id));
		json_put(json, "at", json_number(t->changes[i].at));
		json_put(json, "before_ns", json_rate(t->changes[i].before));
		json_put(json, "after_ns", json_rate(t->changes[i].after));
		json_put(json, "p", json_rate(t->changes[i].p));
		json_add(changes, json);
	}
	json_put(root, "schema", json_text("brick/history-plot/1"));
	json_put(root, "what", json_text(t->what));
	json_put(root, "runs", runs);
	json_put(root, "changes", changes);
	trend_workloads_json(root, t->workload, t->left_out, t->left_out_count);
	json_print(root, out);
}

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
		escape_xml(f->out, units_time(text, number_of_double(t->ns.items[i])));
		fputs("</title></circle>\n", f->out);
	}
}

/* The level before and after a change; a line at the change. */
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

/* The next of 1, 2, 5 times a power of ten; value > 0. */
static double trend_round_up(double value)
{
	double power = pow(10, floor(log10(value)));
	double digit = value / power;

	return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}

void trend_svg(const struct trend *t, FILE *out)
{
	struct frame f = {.trend = t, .out = out};

	for (size_t i = 0; i < t->ns.count; i++)
		f.top = fmax(f.top, t->ns.items[i]);
	f.top = trend_round_up(f.top > 0 ? f.top : 1);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\" "
		"font-size=\"15\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	escape_xml(out, t->what);
	fputs(", time a token</text>\n", out);
	enum { LINES = 4 };
	char text[UNITS_BYTES];
	for (int i = 0; i <= LINES; i++) {
		double ns = f.top * i / LINES, y = y_of(&f, ns);
		fprintf(f.out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ccc\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4);
		escape_xml(f.out, units_time(text, number_of_double(ns)));
		fputs("</text>\n", f.out);
	}
	put_runs(&f);
	put_changes(&f);
	put_date(&f, 0, "start");
	put_date(&f, t->ns.count - 1, "end");
	fputs("</svg>\n", out);
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
	for (size_t i = t->ns.count; i-- > 0;) {
		const struct trend_run *run = &t->runs.items[i];
		char text[UNITS_BYTES], *date = trend_date(run->start_ns);
		const char *const cells[] = {run->id, date, run->engine, run->labels,
			units_time(text, number_of_double(t->ns.items[i]))};
		fputs("<tr>", out);
		for (size_t k = 0; k < sizeof(cells) / sizeof(*cells); k++) {
			fputs("<td>", out);
			escape_xml(out, cells[k]);
			fputs("</td>", out);
		}
		fputs("</tr>\n", out);
		free(date);
	}
	fputs("</table></body></html>\n", out);
}
