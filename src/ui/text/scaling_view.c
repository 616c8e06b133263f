/* SPDX-License-Identifier: Apache-2.0 */
/* Bricks over context and batch, for people and as JSON (schema brick/scaling/2). */
#include "ui/text/scaling_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/scope.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"
#include "ui/text/trust_text.h"

enum {
	BRICKS_SHOWN = 12,
	SERIES_SHOWN = 3, /* with their lines, of a model */
	BATCHES_SHOWN = 6,
	TITLE_BYTES = 32,
};

/* Of a line: at the shortest context and at the longest. */
enum { FITTED = 2 };

static bool is_same_model(const struct scaling_series *a, const struct scaling_series *b)
{
	return a->process == b->process && a->model == b->model;
}

static uint64_t rounded_ns(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static double scaling_view_rate(const struct scaling_series *s, double step_ns)
{
	return step_ns > 0 ? s->batch * 1e9 / step_ns : -1;
}

static char *brick_text(const struct run *run, const struct scaling_brick *b)
{
	return text_format("%s%s", run->bricks[b->brick].name, b->on_device ? " (device)" : "");
}

/* False: the line's slope is not known, or nothing can be said of it. */
static bool is_fitted(const struct scaling_series *s, const struct scaling_line *line)
{
	return line->is_known && !scaling_is_noisy(s, line);
}

static double fitted_context(const struct scaling_series *s, int which)
{
	return which ? s->longest : s->shortest;
}

/* Writes about three digits, also of a negative number. */
static char *slope_text(char out[UNITS_BYTES], double ns)
{
	double size = fabs(ns);

	snprintf(out, UNITS_BYTES, "%.*f", size < 10 ? 2 : size < 100 ? 1 : 0, ns);
	return out;
}

static void scaling_view_add_line(struct table *table, const struct scaling_series *s,
	const char *name, const struct scaling_line *line)
{
	char value[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];
	bool is_noisy = scaling_is_noisy(s, line);

	table_row(table, STYLE_PLAIN);
	table_cell(table, name);
	table_time(table, rounded_ns(line->median_ns));
	table_cell(table, is_noisy ? "-" : slope_text(value, line->slope.value));
	if (is_noisy)
		table_cell(table, "too noisy");
	else
		table_format(table, "%s to %s", slope_text(low, line->slope.low),
			slope_text(high, line->slope.high));
	const char *grows = scaling_grows(line) ? "yes" : line->slope.high < 0 ? "falls" : "";
	table_format(table, "%s%s%s", grows, *grows && line->bends ? ", " : "",
		line->bends ? "bends"
		: *grows    ? ""
			    : "-");
	for (int i = 0; i < FITTED; i++)
		table_time(
			table, is_noisy ? ANALYSIS_UNKNOWN
					: rounded_ns(scaling_at(line, fitted_context(s, i)).value));
}

static void print_lines(
	const struct run *run, const struct scaling_series *s, const struct terminal *terminal)
{
	char titles[FITTED][TITLE_BYTES];
	struct table_column columns[5 + FITTED] = {{"BRICK", TABLE_LEFT, 0},
		{"MEDIAN", TABLE_RIGHT, 0}, {"NS/CONTEXT", TABLE_RIGHT, 0},
		{"95 %", TABLE_RIGHT, 1}, {"GROWS", TABLE_LEFT, 3}};

	for (int i = 0; i < FITTED; i++) {
		snprintf(titles[i], TITLE_BYTES, "AT %.0f", fitted_context(s, i));
		columns[5 + i] = (struct table_column){titles[i], TABLE_RIGHT, 2};
	}
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < s->brick_count; i++) {
		const struct scaling_brick *b = &s->bricks[i];
		if (i >= BRICKS_SHOWN && i != s->attention)
			continue;
		SCOPED char *name = brick_text(run, b);
		scaling_view_add_line(table, s, name, &b->line);
	}
	if (s->ffn.median_ns > 0)
		scaling_view_add_line(table, s,
			s->ffn_on_device ? "FFN, together (device)" : "FFN, together", &s->ffn);
	scaling_view_add_line(table, s, "the step", &s->step);
	table_hide_empty(table);
	fputc('\n', terminal->out);
	table_print(table, terminal);
	table_destroy(table);
}

static void print_series(
	const struct run *run, const struct scaling_series *s, const struct terminal *terminal)
{
	SCOPED char *unknown = NULL;
	char share[UNITS_BYTES];

	if (!s->step.is_known)
		unknown = text_format(
			": slopes are not known, which need %d steps and a longest context of %d "
			"times the shortest",
			SCALING_MIN_STEPS, SCALING_MIN_SPAN);
	fputc('\n', terminal->out);
	paragraph(terminal, 0, "",
		"%" PRIu32 " step%s with %" PRIu32 " token%s each, contexts from %.0f to %.0f%s%s",
		s->steps, plural_s(s->steps), s->batch, plural_s(s->batch), s->shortest, s->longest,
		s->is_counted ? " (counted from tokens of steps: no sequence was recorded)" : "",
		unknown ? unknown : "");
	if (!s->step.is_known)
		return;
	print_lines(run, s, terminal);
	paragraph(terminal, 0, "",
		"NS/CONTEXT: ns that a brick takes longer for each further token of context; AT: "
		"what that makes of its time at the shortest context and at the longest. Intervals "
		"are of this recording: another one, on a shared machine, may differ more.");
	if (scaling_drifted(s))
		paragraph(terminal, 0, "",
			"The FFN does not depend on the context, but took %s less at the longest "
			"contexts: the machine changed meanwhile. Slopes may be too low.",
			units_percent(share, -s->drift));
	else if (s->drift >= SCALING_DRIFT)
		paragraph(terminal, 0, "",
			"The FFN does not depend on the context, but took %s more at the longest "
			"contexts: caches became too small, or the machine slower. Slopes may be "
			"too high.",
			units_percent(share, s->drift));
	if (s->step.bends)
		paragraph(terminal, 0, "", "The step is no line over these contexts.");
}

/* True if fewer than `most` others of a model's n series have more steps. */
static bool scaling_view_is_among(
	const struct scaling_series *list, size_t n, size_t i, size_t most)
{
	size_t before = 0;

	for (size_t k = 0; k < n; k++)
		before +=
			list[k].steps > list[i].steps || (list[k].steps == list[i].steps && k < i);
	return before < most;
}

static const struct scaling_brick *scaling_view_find_brick(
	const struct scaling_series *s, const struct scaling_brick *like)
{
	for (size_t i = 0; i < s->brick_count; i++)
		if (s->bricks[i].brick == like->brick && s->bricks[i].on_device == like->on_device)
			return &s->bricks[i];
	return NULL;
}

/* Time of each brick, and of the step, by batch. */
static void print_batches(const struct run *run, const struct scaling_series *list, size_t n,
	const struct terminal *terminal)
{
	char titles[BATCHES_SHOWN][TITLE_BYTES];
	struct table_column columns[1 + BATCHES_SHOWN] = {{"TOKENS IN A STEP", TABLE_LEFT, 0}};
	const struct scaling_series *shown[BATCHES_SHOWN];
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (scaling_view_is_among(list, n, i, BATCHES_SHOWN)) {
			snprintf(titles[count], TITLE_BYTES, "%" PRIu32, list[i].batch);
			columns[count + 1] =
				(struct table_column){titles[count], TABLE_RIGHT, (unsigned)count};
			shown[count++] = &list[i];
		}
	struct table *table = table_create(columns, count + 1);
	table_row(table, STYLE_PLAIN);
	table_cell(table, "steps");
	for (size_t i = 0; i < count; i++)
		table_count(table, shown[i]->steps);
	table_row(table, STYLE_PLAIN);
	table_cell(table, "contexts");
	for (size_t i = 0; i < count; i++)
		table_format(table, "%.0f-%.0f", shown[i]->shortest, shown[i]->longest);
	table_row(table, STYLE_PLAIN);
	table_cell(table, "the step");
	for (size_t i = 0; i < count; i++)
		table_time(table, rounded_ns(shown[i]->step.median_ns));
	table_row(table, STYLE_PLAIN);
	table_cell(table, "tokens/s");
	for (size_t i = 0; i < count; i++)
		table_number(table, scaling_view_rate(shown[i], shown[i]->step.median_ns));
	for (size_t k = 0; k < shown[count - 1]->brick_count && k < BRICKS_SHOWN; k++) {
		const struct scaling_brick *like = &shown[count - 1]->bricks[k];
		SCOPED char *name = brick_text(run, like);
		table_row(table, STYLE_PLAIN);
		table_cell(table, name);
		for (size_t i = 0; i < count; i++) {
			const struct scaling_brick *b = scaling_view_find_brick(shown[i], like);
			table_time(table, b ? rounded_ns(b->line.median_ns) : ANALYSIS_UNKNOWN);
		}
	}
	fputs("\nMedian times by tokens in a step, whatever the context\n\n", terminal->out);
	table_print(table, terminal);
	table_destroy(table);
}

static void print_model(const struct run *run, const struct scaling_series *list, size_t n,
	bool several, const struct terminal *terminal)
{
	const char *name = run_model_name(run, list->process, list->model);

	if (several)
		fputc('\n', terminal->out);
	if (name)
		paragraph(terminal, 0, "", "%s", name);
	else if (several)
		fprintf(terminal->out, "model %" PRId64 " of process %" PRIu32 "\n",
			list->model == RUN_NONE ? -1 : (int64_t)list->model,
			run->processes[list->process].pid);
	for (size_t i = 0; i < n; i++)
		if (scaling_view_is_among(list, n, i, SERIES_SHOWN))
			print_series(run, &list[i], terminal);
	if (n > 1)
		print_batches(run, list, n, terminal);
	if (n > SERIES_SHOWN)
		fprintf(terminal->out, "\n%zu sizes of steps; --json has all.\n", n);
}

void scaling_text(const struct scaling_view *view, FILE *out)
{
	struct terminal terminal;
	const struct run *run = view->run;
	const struct scaling *scaling = view->scaling;
	SCOPED char *preempted = preempted_text(&view->presence);
	const struct scaling_series *list = scaling->series;

	terminal_init(&terminal, out);
	bool several = scaling->count && !is_same_model(&list[0], &list[scaling->count - 1]);
	for (size_t first = 0, end; first < scaling->count; first = end) {
		for (end = first; end < scaling->count; end++)
			if (!is_same_model(&list[end], &list[first]))
				break;
		print_model(run, &list[first], end - first, several, &terminal);
	}
	if (scaling->unknown_steps || preempted)
		fputc('\n', out);
	if (scaling->unknown_steps)
		paragraph(&terminal, 0, "",
			"Left out: %" PRIu64 " step%s that decode%s with an unknown context.",
			scaling->unknown_steps, plural_s(scaling->unknown_steps),
			scaling->unknown_steps == 1 ? "s" : "");
	if (preempted)
		paragraph(&terminal, 0, "",
			"%s That time is left out here, but not its effect on caches: record again "
			"on a machine at rest.",
			preempted);
}

static json_t *scaling_view_value_json(const struct scaling_value *v)
{
	json_t *o = json_object();

	json_put_signed(o, v, value, low, high);
	return o;
}

static void scaling_view_put_line(
	json_t *o, const struct scaling_series *s, const struct scaling_line *line)
{
	json_t *list = json_array();

	json_t *measured = json_array();

	json_put(o, "median_ns", json_rate(line->median_ns));
	for (uint32_t i = 0; i < line->point_count; i++) {
		json_t *point = json_array();
		json_add(point, json_rate(line->points[i].context));
		json_add(point, json_rate(line->points[i].ns));
		json_add(measured, point);
	}
	json_put(o, "measured", measured);
	json_put(o, "ns_per_token",
		line->is_known ? scaling_view_value_json(&line->slope) : json_null());
	json_put(o, "grows", line->is_known ? json_boolean(scaling_grows(line)) : json_null());
	json_put(o, "bends", line->is_known ? json_boolean(line->bends) : json_null());
	json_put(o, "too_noisy",
		line->is_known ? json_boolean(scaling_is_noisy(s, line)) : json_null());
	for (int i = 0; is_fitted(s, line) && i < FITTED; i++) {
		struct scaling_value at = scaling_at(line, fitted_context(s, i));
		json_t *fitted = json_object();
		json_put(fitted, "context", json_rate(fitted_context(s, i)));
		json_put(fitted, "ns", scaling_view_value_json(&at));
		json_add(list, fitted);
	}
	json_put(o, "fitted", list);
}

static json_t *scaling_view_line_json(
	const struct scaling_series *s, const struct scaling_line *line)
{
	json_t *o = json_object();

	scaling_view_put_line(o, s, line);
	return o;
}

static json_t *series_json(const struct run *run, const struct scaling_series *s)
{
	json_t *o = json_object(), *bricks = json_array();

	json_put(o, "pid", json_number(run->processes[s->process].pid));
	json_put(o, "model", json_number(s->model == RUN_NONE ? ANALYSIS_UNKNOWN : s->model));
	json_put(o, "model_name", json_text(run_model_name(run, s->process, s->model)));
	json_put(o, "tokens", json_number(s->batch));
	json_put(o, "steps", json_number(s->steps));
	json_put(o, "shortest_context", json_rate(s->shortest));
	json_put(o, "longest_context", json_rate(s->longest));
	json_put(o, "context_from", json_text(s->is_counted ? "tokens" : "sequences"));
	json_put(o, "tokens_per_s", json_rate(scaling_view_rate(s, s->step.median_ns)));
	json_put(o, "step", scaling_view_line_json(s, &s->step));
	json_put(o, "ffn", scaling_view_line_json(s, &s->ffn));
	json_put(o, "ffn_drift", json_signed(s->ffn.is_known ? s->drift : NAN));
	json_put(o, "ffn_on_device", json_boolean(s->ffn_on_device));
	for (size_t i = 0; i < s->brick_count; i++) {
		json_t *b = json_object();
		json_put(b, "name", json_text(run->bricks[s->bricks[i].brick].name));
		json_put(b, "on_device", json_boolean(s->bricks[i].on_device));
		scaling_view_put_line(b, s, &s->bricks[i].line);
		json_add(bricks, b);
	}
	json_put(o, "bricks", bricks);
	return o;
}

json_t *scaling_main_to_json(const struct scaling_view *view)
{
	const struct scaling_series *most = view->scaling->series;

	for (size_t i = 1; i < view->scaling->count; i++)
		if (view->scaling->series[i].steps > most->steps)
			most = &view->scaling->series[i];
	return series_json(view->run, most);
}

json_t *scaling_to_json(const struct scaling_view *view)
{
	const struct run *run = view->run;
	const struct scaling *scaling = view->scaling;
	json_t *o = json_object(), *list = json_array();

	json_put(o, "schema", json_text("brick/scaling/2"));
	for (size_t i = 0; i < scaling->count; i++)
		json_add(list, series_json(run, &scaling->series[i]));
	json_put(o, "series", list);
	json_put(o, "unknown_steps", json_number(scaling->unknown_steps));
	json_put(o, "preempted_share", json_rate(view->presence.preempted));
	return o;
}
