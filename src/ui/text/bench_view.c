/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of `brick bench`: one table of all sides for people and for pull requests; and for
 * programs JSON, JUnit and annotations.
 */
#include "ui/text/bench_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/number.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/phase_text.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"
#include "ui/text/verdict_text.h"

enum { LABEL = 13, ROWS = 12 };

struct printer {
	const struct bench_view *view;
	const struct terminal *terminal;
};

/* Formats a value of plain runs in the unit that it came in. */
static const char *value_text(const struct bench_view *view, double value, char out[UNITS_BYTES])
{
	if (!strcmp(view->measure, "wall time"))
		return units_time(out, number_of_double(value));
	return units_number(out, value);
}

static void bench_view_print_runs(const struct printer *p)
{
	const struct bench_view *v = p->view;

	if (v->pattern)
		say(p, "Command", "%s: %zu settings, %zu plain run%s of each, %zu recorded",
			v->pattern, v->side_count, v->sides[0].plain, plural_s(v->sides[0].plain),
			v->sides[0].recorded);
	for (size_t i = 0; i < v->side_count && !v->pattern; i++)
		say(p, v->side_count == 1 ? "Command" : v->sides[i].name,
			"%s: %zu plain run%s, %zu recorded", v->sides[i].command, v->sides[i].plain,
			plural_s(v->sides[i].plain), v->sides[i].recorded);
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
	else if (!strcmp(v->reason, "settled"))
		say(p, "Stopped",
			"after %.0f s: the verdict cannot change any more (looking at the runs "
			"while they come errs in at most 1 of 100 answers)",
			v->elapsed_s);
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

static void bench_view_print_machine(const struct printer *p)
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

static void print_plain(const struct printer *p)
{
	const struct bench_view *v = p->view;
	const struct difference *d = v->plain;
	char a[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	if (!d)
		return;
	bool is_known = isfinite(d->low) && isfinite(d->high) && d->low > 0;
	say(p, "Plain", "%s %s%s%s%s%s%s", v->measure, value_text(v, d->a, a), is_known ? " (" : "",
		is_known ? value_text(v, d->low, low) : "", is_known ? " to " : "",
		is_known ? value_text(v, d->high, high) : "", is_known ? ")" : "");
}

/* The sentence about a pair; the caller frees. */
static char *pair_text(const struct bench_view *v)
{
	return v->diff ? verdict_text(v->diff->compare)
		       : text_copy("not enough data: A or B has no runs");
}

static enum compare_verdict verdict_of(const struct bench_view *v)
{
	return v->is_pair && v->diff ? v->diff->compare->verdict : COMPARE_UNSURE;
}

static void bench_view_print_verdict(const struct printer *p)
{
	const struct bench_view *v = p->view;
	SCOPED char *said = pair_text(v);

	say_in(p, v->diff ? verdict_style(v->diff->compare) : STYLE_DIM, "Verdict", "%s", said);
}

/* The table of sides. */

enum column {
	COLUMN_NAME,
	COLUMN_PREFILL,
	COLUMN_DECODE,
	COLUMN_MEAN,
	COLUMN_SIGMA,
	COLUMN_MIN,
	COLUMN_MAX,
	COLUMN_USER,
	COLUMN_SYSTEM,
	COLUMN_MEMORY,
	COLUMN_OUTLIERS,
	COLUMN_AGAINST,
	COLUMN_PARETO,
	COLUMNS,
};

static const struct table_column bench_view_columns[COLUMNS] = {
	[COLUMN_NAME] = {"", TABLE_LEFT, 0},
	[COLUMN_PREFILL] = {"PREFILL/S", TABLE_RIGHT, 1},
	[COLUMN_DECODE] = {"DECODE/S", TABLE_RIGHT, 1},
	[COLUMN_MEAN] = {"MEAN", TABLE_RIGHT, 1},
	[COLUMN_SIGMA] = {"SIGMA", TABLE_RIGHT, 1},
	[COLUMN_MIN] = {"MIN", TABLE_RIGHT, 3},
	[COLUMN_MAX] = {"MAX", TABLE_RIGHT, 3},
	[COLUMN_USER] = {"USER", TABLE_RIGHT, 2},
	[COLUMN_SYSTEM] = {"SYSTEM", TABLE_RIGHT, 2},
	[COLUMN_MEMORY] = {"MEMORY", TABLE_RIGHT, 1},
	[COLUMN_OUTLIERS] = {"OUTLIERS", TABLE_RIGHT, 2},
	[COLUMN_AGAINST] = {"AGAINST BEST", TABLE_LEFT, 1},
	[COLUMN_PARETO] = {"PARETO", TABLE_LEFT, 1},
};

/* A value of plain runs as it was read, not the one to compare; NULL: not known. */
static char *plain_text(const struct bench_view *v, double value)
{
	char out[UNITS_BYTES];

	return isnan(value) ? NULL : text_copy(value_text(v, value, out));
}

static char *time_text(double ns)
{
	char out[UNITS_BYTES];

	return isnan(ns) ? NULL : text_copy(units_time(out, (uint64_t)ns));
}

static char *bench_view_rate_text(const struct bench_rate *rate)
{
	char out[UNITS_BYTES];

	return isnan(rate->value) ? NULL : text_copy(units_number(out, rate->value));
}

/* NULL: not known, or the best itself. */
static char *against_text(const struct bench_view *v, size_t i)
{
	if (v->is_pair || i == v->best || v->best == v->side_count)
		return NULL;
	return difference_text(&v->sides[i].against);
}

/* "A"; NULL: not known. The caller frees. */
static char *bench_view_cell_of(const struct bench_view *v, size_t i, enum column column)
{
	const struct bench_side *side = &v->sides[i];
	char out[UNITS_BYTES];

	switch (column) {
	case COLUMN_NAME:
		return text_copy(side->name);
	case COLUMN_PREFILL:
		return bench_view_rate_text(&side->prefill);
	case COLUMN_DECODE:
		return bench_view_rate_text(&side->decode);
	case COLUMN_MEAN:
		return plain_text(v, side->spread.mean);
	case COLUMN_SIGMA:
		return plain_text(v, side->spread.sigma);
	case COLUMN_MIN:
		return plain_text(v, side->spread.min);
	case COLUMN_MAX:
		return plain_text(v, side->spread.max);
	case COLUMN_USER:
		return time_text(side->user_ns);
	case COLUMN_SYSTEM:
		return time_text(side->system_ns);
	case COLUMN_MEMORY:
		return isnan(side->peak_bytes)
			       ? NULL
			       : text_copy(units_bytes(out, (uint64_t)side->peak_bytes));
	case COLUMN_OUTLIERS:
		return side->spread.outliers ? text_format("%zu", side->spread.outliers) : NULL;
	case COLUMN_AGAINST:
		return against_text(v, i);
	default:
		return side->is_pareto ? text_copy("yes") : NULL;
	}
}

static void print_sides(const struct printer *p)
{
	const struct bench_view *v = p->view;
	SCOPED_TO(table_destroy) struct table *table = table_create(bench_view_columns, COLUMNS);

	for (size_t i = 0; i < v->side_count; i++) {
		table_row(table, i == v->best ? STYLE_GOOD : STYLE_PLAIN);
		for (int column = 0; column < COLUMNS; column++) {
			SCOPED char *cell = bench_view_cell_of(v, i, (enum column)column);
			table_cell(table, cell ? cell : column == COLUMN_PARETO ? "" : "-");
		}
	}
	table_hide_empty(table);
	table_print(table, p->terminal);
}

/* The sides that could as well be the best; NULL: none. The caller frees. */
static char *as_good(const struct bench_view *v)
{
	char *names = NULL;

	for (size_t i = 0; i < v->side_count; i++)
		if (i != v->best && v->sides[i].against.verdict != COMPARE_SLOWER)
			text_append(&names, ", ", "%s", v->sides[i].name);
	return names;
}

/* "412 tokens/s of decode (398 to 430)"; the caller frees. */
static char *best_value(const struct bench_view *v)
{
	const struct bench_side *best = &v->sides[v->best];
	bool is_decode = !isnan(best->decode.value);
	const struct bench_rate *rate = is_decode ? &best->decode : &best->prefill;
	char value[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	if (!v->is_by_tokens) {
		SCOPED char *mean = plain_text(v, best->spread.mean);
		return text_format("%s %s", v->measure, mean ? mean : "-");
	}
	if (!isfinite(rate->low) || !isfinite(rate->high))
		return text_format("%s tokens/s of %s", units_number(value, rate->value),
			is_decode ? "decode" : "prefill");
	return text_format("%s tokens/s of %s (%s to %s)", units_number(value, rate->value),
		is_decode ? "decode" : "prefill", units_number(low, rate->low),
		units_number(high, rate->high));
}

/* The recommendation; the caller frees. */
static char *best_text(const struct bench_view *v)
{
	SCOPED char *value = best_value(v), *others = as_good(v);

	return text_format("%s: %s; %s%s", v->sides[v->best].name, value,
		others ? "these runs do not tell it from: "
		       : "all others are slower by more than chance",
		others ? others : "");
}

static const char disturbed_text[] =
	"not named: other programs disturbed more than half of the runs; run again on a quiet "
	"machine (--disturbed names it all the same)";

static void bench_view_print_best(const struct printer *p)
{
	const struct bench_view *v = p->view;

	if (v->is_disturbed)
		say_in(p, STYLE_WARN, "Best", "%s", disturbed_text);
	if (v->best == v->side_count)
		return;
	SCOPED char *text = best_text(v);
	fputc('\n', p->terminal->out);
	say_in(p, STYLE_GOOD, "Best", "%s", text);
	say(p, "",
		"The intervals hold for all pairs at once, at 95%%. Memory is the peak of what was "
		"resident%s; Pareto: none is both faster and smaller.",
		v->sides[v->best].plain ? "" : ", Brick's rings with it");
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

static void print_pair(const struct printer *p)
{
	const struct bench_view *v = p->view;

	fputc('\n', p->terminal->out);
	print_plain(p);
	if (v->is_pair)
		bench_view_print_verdict(p);
	if (v->diff)
		diff_measures(v->diff, p->terminal->out);
	else if (v->side_count == 1)
		print_typical(p);
	if (v->is_kept && v->is_pair)
		say(p, "Kept as", "@%s/a and @%s/b", v->batch, v->batch);
}

void bench_text(const struct bench_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	bench_view_print_runs(&p);
	print_reason(&p);
	bench_view_print_machine(&p);
	print_floor(&p);
	fputc('\n', out);
	print_sides(&p);
	if (view->is_pair || view->side_count == 1)
		print_pair(&p);
	else
		bench_view_print_best(&p);
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

static void bench_view_put_row(
	FILE *out, const char *what, const char *a, const char *b, const struct difference *d)
{
	SCOPED char *said = difference_text(d);

	put_cell(out, what);
	put_cell(out, a);
	put_cell(out, b);
	fprintf(out, "| %s | %s |\n", said ? said : "", compare_verdict_name(d->verdict));
}

static void bench_view_put_rows(const struct bench_view *v, FILE *out)
{
	const struct compare *c = v->diff->compare;
	char a[UNITS_BYTES], b[UNITS_BYTES];
	size_t shown = 0;

	for (size_t i = 0; i < COMPARE_PLACES; i++) {
		const struct compare_row *row = verdict_row(c, i);
		SCOPED char *what = row ? verdict_row_name(row) : NULL;
		bool is_number =
			row && (row->measure == COMPARE_RATE || row->measure == COMPARE_PRINTED);
		if (!what)
			continue;
		bench_view_put_row(out, what,
			is_number ? units_number(a, row->difference.a)
				  : units_time(a, (uint64_t)row->difference.a),
			is_number ? units_number(b, row->difference.b)
				  : units_time(b, (uint64_t)row->difference.b),
			&row->difference);
	}
	for (size_t i = 0; i < c->row_count && shown < ROWS; i++) {
		const struct compare_row *row = &c->rows[i];
		if (!row->name || row->difference.verdict <= COMPARE_SAME)
			continue;
		SCOPED char *what = text_format("%s: %s", phase_label(row->phase), row->name);
		bench_view_put_row(out, what, units_time(a, (uint64_t)row->difference.a),
			units_time(b, (uint64_t)row->difference.b), &row->difference);
		shown++;
	}
}

/* The columns of the table of sides that hold anything. */
static void put_sides(const struct bench_view *v, FILE *out)
{
	bool is_shown[COLUMNS] = {[COLUMN_NAME] = true};

	for (int column = 0; column < COLUMNS; column++)
		for (size_t i = 0; i < v->side_count && !is_shown[column]; i++) {
			SCOPED char *cell = bench_view_cell_of(v, i, (enum column)column);
			is_shown[column] = cell != NULL;
		}
	for (int column = 0; column < COLUMNS; column++)
		if (is_shown[column])
			fprintf(out, "| %s ", bench_view_columns[column].title);
	fputs("|\n", out);
	for (int column = 0; column < COLUMNS; column++)
		if (is_shown[column])
			fputs(bench_view_columns[column].align == TABLE_RIGHT ? "|---:" : "|---",
				out);
	fputs("|\n", out);
	for (size_t i = 0; i < v->side_count; i++) {
		for (int column = 0; column < COLUMNS; column++) {
			SCOPED char *cell = bench_view_cell_of(v, i, (enum column)column);
			if (is_shown[column])
				put_cell(out, cell ? cell : "");
		}
		fputs("|\n", out);
	}
}

/* The answer in a sentence; the caller frees. */
static char *headline(const struct bench_view *v)
{
	SCOPED char *best = v->best < v->side_count && !v->is_pair ? best_text(v) : NULL;

	if (v->fault)
		return text_format("ended early: %s", v->fault);
	return v->is_pair	 ? pair_text(v)
	       : best		 ? text_format("best: %s", best)
	       : v->is_disturbed ? text_format("best: %s", disturbed_text)
				 : text_copy(v->sides[0].command);
}

void bench_markdown(const struct bench_view *v, FILE *out)
{
	SCOPED char *head = headline(v), *safe = text_safe(head);

	fprintf(out, "**%s**", safe);
	if (v->floor > 0 || v->plain_floor > 0)
		fprintf(out, " (A differs from itself by %.1f%%)",
			100 * fmax(v->floor, v->plain_floor));
	fputs("\n\n", out);
	put_sides(v, out);
	if (v->is_pair) {
		fputs("\n| | A | B | effect | verdict |\n|---|---|---|---|---|\n", out);
		if (v->diff)
			bench_view_put_rows(v, out);
	}
	fputc('\n', out);
	for (size_t i = 0; i < v->side_count; i++) {
		SCOPED char *command = text_safe(v->sides[i].command);
		fprintf(out, "- %s: `%s` (%zu plain, %zu recorded)\n", v->sides[i].name, command,
			v->sides[i].plain, v->sides[i].recorded);
	}
}

/* For continuous integration. */

static void bench_view_put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	escape_xml(out, value);
	fputc('"', out);
}

static void put_case(FILE *out, const char *name, double seconds)
{
	fputs("  <testcase classname=\"brick.bench\"", out);
	bench_view_put_attribute(out, "name", name);
	if (!isnan(seconds))
		fprintf(out, " time=\"%.6f\"", seconds);
	fputs(">\n", out);
}

/* A pair that was not judged. */
static bool is_unsure(const struct bench_view *v)
{
	return v->is_pair && !difference_fails(verdict_of(v), false) &&
	       difference_fails(verdict_of(v), true);
}

/* The case that can fail: the whole bench, or "B is not slower". */
static void put_verdict_case(const struct bench_view *v, FILE *out)
{
	SCOPED char *head = headline(v);
	const char *element = v->fault				? "error"
			      : verdict_of(v) == COMPARE_SLOWER ? "failure"
			      : is_unsure(v)			? "skipped"
								: NULL;

	put_case(out, v->is_pair ? "B is not slower than A" : "all runs", NAN);
	if (element) {
		fprintf(out, "    <%s", element);
		bench_view_put_attribute(out, "message", head);
		fputs("/>\n", out);
	}
	fputs("  </testcase>\n", out);
}

void bench_junit(const struct bench_view *v, FILE *out)
{
	bool is_failed = !v->fault && verdict_of(v) == COMPARE_SLOWER;
	bool is_skipped = !v->fault && is_unsure(v);

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"brick bench\" tests=\"%zu\" failures=\"%d\" errors=\"%d\" "
		"skipped=\"%d\" time=\"%.3f\">\n",
		v->side_count + 1, is_failed, v->fault != NULL, is_skipped, v->elapsed_s);
	for (size_t i = 0; i < v->side_count; i++) {
		const struct bench_side *side = &v->sides[i];
		bool is_time = !strcmp(v->measure, "wall time");
		put_case(out, side->name, is_time ? side->spread.mean / 1e9 : NAN);
		fputs("    <system-out>", out);
		escape_xml(out, side->command);
		for (int column = COLUMN_NAME + 1; column < COLUMNS; column++) {
			SCOPED char *cell = bench_view_cell_of(v, i, (enum column)column);
			if (!cell)
				continue;
			fprintf(out, "\n%s ", bench_view_columns[column].title);
			escape_xml(out, cell);
		}
		fputs("</system-out>\n  </testcase>\n", out);
	}
	put_verdict_case(v, out);
	fputs("</testsuite>\n", out);
}

void bench_annotation(const struct bench_view *v, FILE *out)
{
	SCOPED char *head = headline(v), *safe = text_safe(head);
	bool is_bad = v->fault || verdict_of(v) == COMPARE_SLOWER;

	fprintf(out, "::%s title=brick bench::", is_bad ? "error" : "notice");
	for (const char *at = safe ? safe : ""; *at; at++) {
		if (*at == '%')
			fputs("%25", out);
		else
			fputc(*at, out);
	}
	fputc('\n', out);
}

/* A side of a pair, or the only side. null if there are more sides. */
static json_t *bench_view_side_json(const struct bench_view *v, size_t side)
{
	if (side >= v->side_count || (v->side_count > 1 && !v->is_pair))
		return json_null();
	json_t *json = json_object();
	json_put(json, "command", json_text(v->sides[side].command));
	json_put_numbers(json, &v->sides[side], plain, recorded);
	return json;
}

static json_t *bench_view_rate_json(const struct bench_rate *rate)
{
	json_t *json = json_object();

	json_put_signed(json, rate, value, low, high);
	return json;
}

/* Writes the effect on a time: ratios less 1, positive is slower. */
static void put_effect(json_t *json, const struct difference *d)
{
	bool is_time = d->kind == DIFFERENCE_TIME;

	json_put(json, "effect", json_signed(is_time ? d->effect : 1 / (1 + d->effect) - 1));
	json_put(json, "low", json_signed(is_time ? d->low : 1 / (1 + d->high) - 1));
	json_put(json, "high", json_signed(is_time ? d->high : 1 / (1 + d->low) - 1));
}

static json_t *against_json(const struct bench_view *v, size_t side)
{
	if (v->best == v->side_count || v->best == side)
		return json_null();
	json_t *json = json_object();
	json_put(json, "verdict", json_text(compare_verdict_name(v->sides[side].against.verdict)));
	put_effect(json, &v->sides[side].against);
	return json;
}

static json_t *sides_json(const struct bench_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->side_count; i++) {
		const struct bench_side *side = &v->sides[i];
		json_t *json = json_object();
		json_put_texts(json, side, name, command);
		json_put_numbers(json, side, plain, recorded);
		json_put_signed(json, &side->spread, mean, sigma, min, median, max);
		json_put_numbers(json, &side->spread, outliers);
		json_put_signed(json, side, user_ns, system_ns, peak_bytes);
		json_put(json, "prefill_tokens_per_s", bench_view_rate_json(&side->prefill));
		json_put(json, "decode_tokens_per_s", bench_view_rate_json(&side->decode));
		json_put(json, "against_best", against_json(v, i));
		json_put(json, "pareto", json_boolean(side->is_pareto));
		json_add(list, json);
	}
	return list;
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
	const struct compare *c = v->diff ? v->diff->compare : NULL;
	const struct compare_row *printed = c ? compare_find(c, -1, COMPARE_PRINTED) : NULL;
	const struct compare_row *wall = c && c->runs[0].plain && c->runs[1].plain
						 ? compare_find(c, -1, COMPARE_WALL)
						 : NULL;
	const struct difference *d = printed ? &printed->difference
				     : wall  ? &wall->difference
					     : v->plain;

	if (!d)
		return json_null();
	json_t *json = json_object();
	json_put(json, "measure", json_text(v->measure));
	json_put(json, "verdict", json_text(compare_verdict_name(d->verdict)));
	json_put_signed(json, d, a, b);
	if (v->is_pair)
		put_effect(json, d);
	else
		json_put_signed(json, d, effect, low, high);
	json_put_signed(json, d, p);
	return json;
}

void bench_json(const struct bench_view *v, FILE *out)
{
	json_t *root = json_object();

	json_put(root, "schema", json_text("brick/bench/2"));
	if (v->diff) {
		verdict_json(root, v->diff->compare);
	} else {
		SCOPED char *said = v->is_pair ? pair_text(v) : NULL;
		json_put(root, "verdict",
			v->is_pair ? json_text(compare_verdict_name(COMPARE_UNSURE)) : json_null());
		json_put(root, "metric", json_null());
		json_put(root, "mixed", json_null());
		json_put(root, "said", json_text(said));
	}
	json_put(root, "stopped", json_text(v->reason));
	json_put_texts(root, v, fault, batch);
	json_put(root, "a", bench_view_side_json(v, 0));
	json_put(root, "b", bench_view_side_json(v, 1));
	json_put(root, "sides", sides_json(v));
	json_put(root, "best",
		v->best < v->side_count ? json_text(v->sides[v->best].name) : json_null());
	json_put(root, "elapsed_s", json_signed(v->elapsed_s));
	json_put(root, "half_width", json_rate(expm1(v->half_width)));
	json_put(root, "forecast_runs",
		v->forecast == UINT64_MAX ? json_null() : json_number(v->forecast));
	json_put(root, "threshold", json_signed(v->threshold));
	json_put(root, "floor", json_signed(v->floor > 0 ? v->floor : NAN));
	json_put(root, "plain_floor", json_signed(v->plain_floor > 0 ? v->plain_floor : NAN));
	json_put(root, "machine", machine_json(&v->machine));
	json_put(root, "plain", plain_json(v));
	json_put(root, "diff", v->diff ? diff_to_json(v->diff) : json_null());
	json_print(root, out);
}
