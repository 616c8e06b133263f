/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `brick advise`: settings with their times, and which one to run. */
#include "ui/text/advise_view.h"

#include <math.h>
#include <string.h>

#include "analysis/compare/difference.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13, ROWS = 12 };

struct printer {
	const struct advise_view *view;
	const struct terminal *terminal;
};

/* Tokens a second of a phase or of all; NAN: not known. The bounds are swapped: more is better. */
static struct advise_time advise_view_rate_of(
	const struct advise_view *v, const struct advise_answer *answer, enum advise_phase goal)
{
	const struct advise_time *time = &answer->times[goal];
	double tokens = 1;

	if (goal == ADVISE_ALL) {
		tokens = 0;
		for (int phase = 0; phase < ADVISE_PHASES; phase++)
			tokens += v->tokens[phase];
	}
	return (struct advise_time){
		1e9 * tokens / time->ns, 1e9 * tokens / time->high, 1e9 * tokens / time->low};
}

/* "412 (398 to 430)"; "-": not known. The caller frees. */
static char *advise_view_rate_text(struct advise_time rate)
{
	char value[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	return isnan(rate.ns) ? text_copy("-")
			      : text_format("%s (%s to %s)", units_number(value, rate.ns),
					units_number(low, rate.low), units_number(high, rate.high));
}

static char *how_text(const struct advise_view *v, const struct advise_row *row)
{
	double told = advise_view_rate_of(v, &row->predicted, v->goal).ns;
	double is = advise_view_rate_of(v, &row->answer, v->goal).ns;
	char out[UNITS_BYTES];

	if (!row->answer.runs)
		return text_copy("predicted");
	if (row->predicted.runs || isnan(told))
		return text_format("%zu run%s", row->answer.runs, plural_s(row->answer.runs));
	return text_format("%zu run%s; predicted %s (%+.1f %%)", row->answer.runs,
		plural_s(row->answer.runs), units_number(out, told), 100 * (told / is - 1));
}

static void advise_view_add_row(const struct printer *p, struct table *table, size_t i)
{
	const struct advise_view *v = p->view;
	const struct advise_row *row = &v->rows[i];
	double factor = v->rows[v->base].answer.times[v->goal].ns / row->answer.times[v->goal].ns;

	table_row(table, i == v->best ? STYLE_GOOD : STYLE_PLAIN);
	for (size_t axis = 0; axis < v->axis_count; axis++)
		table_cell(table, row->values[axis]);
	for (int phase = 0; phase <= ADVISE_ALL; phase++) {
		SCOPED char *rate = advise_view_rate_text(
			advise_view_rate_of(v, &row->answer, (enum advise_phase)phase));
		table_cell(table, rate);
	}
	if (i == v->base)
		table_cell(table, "as it is");
	else if (isnan(factor))
		table_cell(table, "-");
	else
		table_format(table, "%.3gx", factor);
	SCOPED char *how = how_text(v, row);
	table_cell(table, how);
}

static const struct table_column figures[] = {
	{"PREFILL/S", TABLE_LEFT, 2},
	{"DECODE/S", TABLE_LEFT, 2},
	{"MIXED/S", TABLE_LEFT, 3},
	{"TOKENS/S", TABLE_LEFT, 1},
	{"", TABLE_RIGHT, 1},
	{"BY", TABLE_LEFT, 1},
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static void advise_view_print_rows(const struct printer *p)
{
	const struct advise_view *v = p->view;
	SCOPED struct table_column *columns = text_room(v->axis_count + FIGURES, sizeof(*columns));
	SCOPED_TO(table_destroy) struct table *table = NULL;
	size_t shown = v->row_count < ROWS ? v->row_count : ROWS;

	if (!columns)
		return;
	for (size_t axis = 0; axis < v->axis_count; axis++)
		columns[axis] = (struct table_column){v->axes[axis], TABLE_RIGHT, 0};
	memcpy(columns + v->axis_count, figures, sizeof(figures));
	table = table_create(columns, v->axis_count + FIGURES);
	for (size_t i = 0; i < shown; i++)
		advise_view_add_row(p, table, i);
	if (v->base >= shown)
		advise_view_add_row(p, table, v->base);
	table_hide_empty(table);
	table_print(table, p->terminal);
	if (shown < v->row_count)
		say(p, "", "%zu more settings are not shown; --json has them",
			v->row_count - shown);
}

static void advise_view_print_head(const struct printer *p)
{
	const struct advise_view *v = p->view;
	char prompt[UNITS_BYTES], decoded[UNITS_BYTES];

	say(p, "Command", "%s", v->pattern);
	say(p, "Measured",
		"%zu of %zu settings, to predict the others by each brick's time; %zu run%s, %.0f "
		"s",
		v->measured, v->row_count, v->runs, plural_s(v->runs), v->elapsed_s);
	say(p, "For", "%s: %s prompt tokens, %s generated a run",
		v->goal == ADVISE_ALL ? "all tokens" : advise_goal_name(v->goal),
		units_count(prompt, (uint64_t)v->tokens[ADVISE_PREFILL]),
		units_count(decoded, (uint64_t)v->tokens[ADVISE_DECODE]));
	if (v->disturbed)
		say_in(p, STYLE_WARN, "Machine",
			"other processes used the CPUs during %zu of these runs, also when they "
			"were repeated: do not trust what follows",
			v->disturbed);
	if (v->is_interrupted)
		say_in(p, STYLE_WARN, "Stopped",
			"by a signal: the advice is the best of the settings that were run so far, "
			"and other rows are predictions from these");
	if (v->faults)
		say(p, "Left out", "%s", v->faults);
}

static const char *goal_text(const struct advise_view *v)
{
	return v->goal == ADVISE_ALL	   ? "tokens/s of prompt and output together"
	       : v->goal == ADVISE_PREFILL ? "tokens/s of prefill"
	       : v->goal == ADVISE_DECODE  ? "tokens/s of decode"
					   : "tokens/s of mixed steps";
}

char *advise_said(const struct advise_view *v, const struct advise_answer *answer)
{
	double rate = advise_view_rate_of(v, answer, v->goal).ns;
	char value[UNITS_BYTES];

	return rate > 0 ? text_format("%s %s", units_number(value, rate), goal_text(v)) : NULL;
}

/* False: the intervals of the advice and of what the user has meet, so that either may be faster.
 */
static bool is_told_apart(const struct advise_view *v)
{
	return v->best == v->base || v->rows[v->best].answer.times[v->goal].high <
					     v->rows[v->base].answer.times[v->goal].low;
}

static void print_advice(const struct printer *p)
{
	const struct advise_view *v = p->view;
	const struct advise_row *best = &v->rows[v->best];
	SCOPED char *rate = advise_view_rate_text(advise_view_rate_of(v, &best->answer, v->goal));

	fputc('\n', p->terminal->out);
	if (v->best == v->base)
		say_in(p, STYLE_GOOD, "Advice",
			"keep %s: %s %s, and no other that was run or predicted beats it",
			best->setting, rate, goal_text(v));
	else
		say_in(p, is_told_apart(v) ? STYLE_GOOD : STYLE_PLAIN, "Advice",
			"%s: %s %s, %.2fx what %s gives%s", best->setting, rate, goal_text(v),
			v->rows[v->base].answer.times[v->goal].ns / best->answer.times[v->goal].ns,
			v->rows[v->base].setting,
			is_told_apart(v) ? "" : "; the intervals do not tell them apart");
	if (!v->is_checked && !best->answer.runs)
		say(p, "",
			"This is predicted, and was not run: 'brick advise -- COMMAND' runs its "
			"choice.");
}

void advise_text(const struct advise_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	advise_view_print_head(&p);
	fputc('\n', out);
	advise_view_print_rows(&p);
	print_advice(&p);
}

static json_t *answer_json(const struct advise_view *v, const struct advise_answer *answer)
{
	json_t *json = json_object();

	json_put(json, "runs", json_number(answer->runs));
	for (int goal = 0; goal < ADVISE_GOALS; goal++) {
		struct advise_time rate = advise_view_rate_of(v, answer, (enum advise_phase)goal);
		json_put(json, advise_goal_name((enum advise_phase)goal),
			isnan(rate.ns) ? json_null()
				       : json_pack("{sf sf sf}", "tokens_per_s", rate.ns, "low",
						 rate.low, "high", rate.high));
	}
	return json;
}

void advise_json(const struct advise_view *v, FILE *out)
{
	json_t *root = json_object(), *rows = json_array();

	json_put(root, "schema", json_text("brick/advise/1"));
	json_put(root, "command", json_text(v->pattern));
	json_put(root, "goal", json_text(advise_goal_name(v->goal)));
	json_put(root, "advice", json_text(v->rows[v->best].setting));
	json_put(root, "base", json_text(v->rows[v->base].setting));
	json_put(root, "sure", json_boolean(is_told_apart(v)));
	json_put(root, "checked", json_boolean(v->is_checked));
	json_put(root, "interrupted", json_boolean(v->is_interrupted));
	json_put_numbers(root, v, measured, runs, repeated, disturbed);
	json_put_signed(root, v, elapsed_s);
	json_put_texts(root, v, faults);
	for (size_t i = 0; i < v->row_count; i++) {
		json_t *row = json_object();
		json_put(row, "setting", json_text(v->rows[i].setting));
		json_put(row, "predicted", answer_json(v, &v->rows[i].predicted));
		json_put(row, "answer", answer_json(v, &v->rows[i].answer));
		json_add(rows, row);
	}
	json_put(root, "settings", rows);
	json_print(root, out);
}
