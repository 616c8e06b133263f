/* SPDX-License-Identifier: Apache-2.0 */
/* Text and JSON of a trend. Called by `brick history plot`. */
#include "ui/text/trend.h"

#include <math.h>

#include "base/date.h"
#include "ui/text/diff.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/terminal.h"

enum { LABEL = 10, WIDTH = 60 };

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

/* A character for each run, or for as many neighbours as share one: their mean. */
static void print_sparkline(const struct trend *t, const struct terminal *terminal)
{
	static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
	static const char *const letters[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
	size_t n = t->ns.count, width = n < WIDTH ? n : WIDTH;
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

static void print_change(
	const struct trend *t, const struct change_point *change, const struct terminal *terminal)
{
	const struct trend_run *run = &t->runs.items[change->at];
	char before[UNITS_BYTES], after[UNITS_BYTES], effect[UNITS_BYTES];
	SCOPED char *date = trend_date(run->start_ns);
	const char *engine = run->engine;

	paragraph(terminal, LABEL, change == t->changes ? "Changes" : "",
		"%s to %s, %s, from run %.8s of %s on (p %.2g)%s%s",
		units_time(before, (uint64_t)change->before),
		units_time(after, (uint64_t)change->after),
		diff_effect(effect, change->after / change->before - 1), run->id, date, change->p,
		*engine ? ": " : "", engine);
}

void trend_text(const struct trend *t, FILE *out)
{
	char low[UNITS_BYTES], high[UNITS_BYTES], last[UNITS_BYTES];
	struct terminal terminal;
	double least, most;

	terminal_init(&terminal, out);
	bounds(t, &least, &most);
	paragraph(&terminal, LABEL, "Trend", "%s: %zu run%s, %s to %s a token, the last %s",
		t->what, t->ns.count, plural_s(t->ns.count), units_time(low, (uint64_t)least),
		units_time(high, (uint64_t)most),
		units_time(last, (uint64_t)t->ns.items[t->ns.count - 1]));
	print_sparkline(t, &terminal);
	for (size_t i = 0; i < t->change_count; i++)
		print_change(t, &t->changes[i], &terminal);
	if (!t->change_count)
		paragraph(&terminal, LABEL, "Changes",
			t->ns.count < 2 * CHANGE_SEGMENT_MIN ? "too few runs to tell" : "none");
}

static json_t *run_json(const struct trend *t, size_t i)
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
		json_add(runs, run_json(t, i));
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
	json_print(root, out);
}
