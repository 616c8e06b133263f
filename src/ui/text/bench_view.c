/* SPDX-License-Identifier: Apache-2.0 */
/* What `brick bench` says: for people, as a table for a pull request, and as JSON (schema
 * brick/bench/1). */
#include "ui/text/bench_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13, ROWS = 12 };

struct printer {
	const struct bench_view *view;
	const struct terminal *terminal;
};

/* A value of plain runs, in the unit that it came in. */
static const char *value_text(const struct bench_view *view, double value, char out[UNITS_BYTES])
{
	if (view->is_rate)
		return units_number(out, 1 / value);
	if (!strcmp(view->measure, "wall time"))
		return units_time(out, (uint64_t)value);
	return units_number(out, value);
}

static void print_runs(const struct printer *p)
{
	const struct bench_view *v = p->view;
	static const char *const sides[] = {"A", "B"};

	for (int side = 0; side < 2; side++)
		if (v->commands[side])
			say(p, v->commands[1] ? sides[side] : "Command",
				"%s: %zu plain run%s, %zu recorded", v->commands[side],
				v->plain[side], plural_s(v->plain[side]), v->recorded[side]);
}

static void print_reason(const struct printer *p)
{
	const struct bench_view *v = p->view;
	char forecast[UNITS_BYTES];
	const char *more = v->forecast == UINT64_MAX ? "an unknown number"
						     : units_count(forecast, v->forecast);

	if (!strcmp(v->reason, "precise"))
		say(p, "Stopped", "after %.0f s: the intervals are within +-%.1f%%", v->elapsed_s,
			100 * expm1(v->half_width));
	else if (!strcmp(v->reason, "hopeless"))
		say(p, "Stopped",
			"after %.0f s: the widest interval is +-%.1f%%, and will not get within "
			"+-%.3g%%: as much as runs differ here, that takes %s of each",
			v->elapsed_s, 100 * expm1(v->half_width), 100 * v->precision, more);
	else if (v->half_width >= 0)
		say(p, "Stopped", "after %.0f s (%s): the widest interval is +-%.1f%%",
			v->elapsed_s, v->reason, 100 * expm1(v->half_width));
	else
		say(p, "Stopped", "after %.0f s (%s): too few runs for any interval", v->elapsed_s,
			v->reason);
}

static void print_machine(const struct printer *p)
{
	const struct bench_machine *m = &p->view->machine;
	char frequency[64] = "frequency not known", temperature[64] = "temperature not known";

	if (m->frequency_mhz >= 0)
		snprintf(frequency, sizeof(frequency), "%.0f MHz", m->frequency_mhz);
	if (m->temperature >= 0)
		snprintf(temperature, sizeof(temperature), "%.0f degrees C", m->temperature);
	say(p, "Machine",
		"%u CPUs, load %.1f at the start, %s, %s; during the runs other processes used "
		"%.1f%% of the CPUs, steal %.1f%%, %lld pages were swapped; %u of %u runs were "
		"disturbed",
		m->cpus, m->load, frequency, temperature, 100 * m->others, 100 * m->steal,
		(long long)m->swapped, m->disturbed, m->runs);
}

static enum terminal_style style_of(enum compare_verdict verdict)
{
	return verdict == COMPARE_SLOWER   ? STYLE_BAD
	       : verdict == COMPARE_FASTER ? STYLE_GOOD
					   : STYLE_PLAIN;
}

static void print_plain(const struct printer *p)
{
	const struct bench_view *v = p->view;
	const struct compare_row *row = v->plain_row;
	char a[UNITS_BYTES], b[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	if (!row)
		return;
	if (isnan(row->b)) {
		bool is_known = isfinite(row->low) && isfinite(row->high) && row->low > 0;
		say(p, "Plain", "%s %s%s%s%s%s%s", v->measure, value_text(v, row->a, a),
			is_known ? " (" : "",
			is_known ? value_text(v, v->is_rate ? row->high : row->low, low) : "",
			is_known ? ".." : "",
			is_known ? value_text(v, v->is_rate ? row->low : row->high, high) : "",
			is_known ? ")" : "");
		return;
	}
	SCOPED char *said = diff_sentence(v->threshold, row);
	say_in(p, style_of(row->verdict), "Plain", "%s %s in A, %s in B: %s", v->measure,
		value_text(v, row->a, a), value_text(v, row->b, b), said);
}

static const char *verdict_text(const struct bench_view *view)
{
	return view->contradicts
		       ? "not enough data: recorded runs differ, but plain ones the other way"
	       : view->verdict == COMPARE_SAME	 ? "B is the same as A"
	       : view->verdict == COMPARE_SLOWER ? "B is slower than A"
	       : view->verdict == COMPARE_FASTER
		       ? "B is faster than A"
		       : "not enough data to say that B is slower, faster or the same";
}

static void print_verdict(const struct printer *p)
{
	const struct bench_view *v = p->view;

	say_in(p, style_of(v->verdict), "Verdict", "%s", verdict_text(v));
}

/* Prints where the time of a token goes in the typical run of a single side. */
static void print_typical(const struct printer *p)
{
	static const struct table_column columns[] = {
		{"PHASE", 1, 0}, {"BRICK", 1, 0}, {"/TOKEN", 0, 0}};
	const struct history_run *run = p->view->typical;
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 3);
	size_t rows = 0;

	for (size_t i = 0; run && i < run->parts.count; i++) {
		const struct history_part *part = &run->parts.items[i];
		if (strcmp(part->kind, "step") && strcmp(part->kind, "brick"))
			continue;
		table_row(table, STYLE_PLAIN);
		table_cell(table, part->phase);
		table_cell(table, *part->name ? part->name : "(whole token)");
		table_time(table, history_part_token_ns(part));
		rows++;
	}
	if (rows)
		table_print(table, p->terminal);
}

static void print_floor(const struct printer *p)
{
	const struct bench_view *v = p->view;

	if (v->floor > 0)
		say(p, "Floor",
			"recorded runs of A differed by %.1f%% from A: smaller differences are "
			"noise",
			100 * v->floor);
	if (v->plain_floor > 0)
		say(p, v->floor > 0 ? "" : "Floor", "plain runs of A differed by %.1f%% from A",
			100 * v->plain_floor);
}

void bench_text(const struct bench_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	print_runs(&p);
	print_reason(&p);
	print_machine(&p);
	print_floor(&p);
	fputc('\n', out);
	print_plain(&p);
	if (view->diff)
		diff_measures(view->diff, out);
	else if (!view->commands[1])
		print_typical(&p);
	if (view->commands[0] && view->commands[1])
		print_verdict(&p);
	if (view->is_kept && view->commands[1])
		say(&p, "Kept as", "@%s/a and @%s/b", view->batch, view->batch);
}

/* For a pull request. */

/* Escapes characters that would break a Markdown table. */
static void put_cell(FILE *out, const char *text)
{
	SCOPED char *safe = text_safe(text);

	fputs("| ", out);
	for (const char *at = safe; *at; at++) {
		if (strchr("|`*_<>\\[]", *at))
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc(' ', out);
}

static void put_row(
	FILE *out, const char *what, const char *a, const char *b, const struct compare_row *row)
{
	char effect[UNITS_BYTES], interval[2 * UNITS_BYTES];

	put_cell(out, what);
	put_cell(out, a);
	put_cell(out, b);
	diff_effect(effect, row->effect);
	diff_interval(interval, row);
	fprintf(out, "| %s%s | %s |\n", isnan(row->effect) ? "" : effect, interval,
		compare_verdict_name(row->verdict));
}

static void put_time_row(FILE *out, const char *what, const struct compare_row *row)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];

	put_row(out, what, units_time(a, (uint64_t)row->a), units_time(b, (uint64_t)row->b), row);
}

static bool is_told(const struct compare_row *row)
{
	return row->verdict != COMPARE_UNSURE && row->verdict != COMPARE_SAME;
}

static void put_recorded(const struct compare *c, FILE *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		const char *phase = row->phase < 0 ? "" : step_phase_name(row->phase);
		if (row->measure == COMPARE_RATE || (row->name && !is_told(row)) ||
			(row->name && shown >= ROWS))
			continue;
		shown += row->name != NULL;
		SCOPED char *what = row->measure == COMPARE_TTFT ? text_copy("first token")
				    : row->name ? text_format("%s: %s", phase, row->name)
						: text_format("%s, a token", phase);
		put_time_row(out, what, row);
	}
}

void bench_markdown(const struct bench_view *v, FILE *out)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];

	if (!v->commands[0] || !v->commands[1]) {
		fprintf(out, "| | %s |\n|---|---|\n", v->measure);
		put_cell(out, v->commands[0] ? v->commands[0] : v->commands[1]);
		fprintf(out, "| %s |\n", v->plain_row ? value_text(v, v->plain_row->a, a) : "-");
		return;
	}
	fprintf(out, "**%s** (%zu plain and %zu recorded runs of each", verdict_text(v),
		v->plain[1], v->recorded[1]);
	if (v->floor > 0 || v->plain_floor > 0)
		fprintf(out, "; A differs from itself by %.1f%%",
			100 * fmax(v->floor, v->plain_floor));
	fputs(")\n\n", out);
	fputs("| | A | B | effect (95 %) | verdict |\n|---|---|---|---|---|\n", out);
	if (v->plain_row)
		put_row(out, v->measure, value_text(v, v->plain_row->a, a),
			value_text(v, v->plain_row->b, b), v->plain_row);
	if (v->diff)
		put_recorded(v->diff->compare, out);
	fputs("\nA: ", out);
	for (int side = 0; side < 2; side++) {
		SCOPED char *safe = text_safe(v->commands[side]);
		fprintf(out, "`%s`%s", safe, side ? "\n" : "  \nB: ");
	}
}

static json_t *side_json(const struct bench_view *v, int side)
{
	if (!v->commands[side])
		return json_null();
	json_t *json = json_object();
	json_put(json, "command", json_text(v->commands[side]));
	json_put(json, "plain", json_number(v->plain[side]));
	json_put(json, "recorded", json_number(v->recorded[side]));
	return json;
}

static json_t *machine_json(const struct bench_machine *m)
{
	json_t *json = json_object();

	json_put(json, "cpus", json_number(m->cpus));
	json_put_rates(json, m, load, frequency_mhz, temperature);
	json_put_signed(json, m, others, steal);
	json_put(json, "swapped_pages", json_integer(m->swapped));
	json_put_numbers(json, m, runs, disturbed);
	return json;
}

static json_t *plain_json(const struct bench_view *v)
{
	const struct compare_row *row = v->plain_row;

	if (!row)
		return json_null();
	json_t *json = json_object();
	json_put(json, "measure", json_text(v->measure));
	json_put(json, "verdict", json_text(compare_verdict_name(row->verdict)));
	json_put(json, "a", json_signed(v->is_rate ? 1 / row->a : row->a));
	json_put(json, "b", json_signed(v->is_rate ? 1 / row->b : row->b));
	json_put_signed(json, row, effect, low, high, p);
	return json;
}

void bench_json(const struct bench_view *v, FILE *out)
{
	json_t *root = json_object();

	json_put(root, "schema", json_text("brick/bench/1"));
	json_put(root, "verdict",
		v->commands[0] && v->commands[1] ? json_text(compare_verdict_name(v->verdict))
						 : json_null());
	json_put(root, "stopped", json_text(v->reason));
	json_put_texts(root, v, fault, batch);
	json_put(root, "a", side_json(v, 0));
	json_put(root, "b", side_json(v, 1));
	json_put(root, "elapsed_s", json_signed(v->elapsed_s));
	json_put(root, "half_width", json_rate(expm1(v->half_width)));
	json_put(root, "forecast_runs",
		v->forecast == UINT64_MAX ? json_null() : json_number(v->forecast));
	json_put(root, "threshold", json_signed(v->threshold));
	json_put(root, "floor", json_signed(v->floor > 0 ? v->floor : NAN));
	json_put(root, "plain_floor", json_signed(v->plain_floor > 0 ? v->plain_floor : NAN));
	json_put(root, "machine", machine_json(&v->machine));
	json_put(root, "plain", plain_json(v));
	json_put(root, "recorded", v->diff ? diff_to_json(v->diff) : json_null());
	json_print(root, out);
}
