/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `brick bisect`: for people, and as JSON (schema brick/bisect/1). */
#include "ui/text/bisect_view.h"

#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13 };

struct printer {
	const struct terminal *terminal;
};

static const struct bisect_step *bisect_view_step_of(
	const struct bisect_view *view, const char *build)
{
	for (size_t i = 0; i < view->step_count; i++)
		if (view->steps[i].build == build)
			return &view->steps[i];
	return NULL;
}

void bisect_text(const struct bisect_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer printer = {&terminal}, *p = &printer;

	terminal_init(&terminal, out);
	if (!view->bad) {
		say_in(p, STYLE_WARN, "Nothing found",
			"%s is not slower than %s, as far as these runs tell", view->last,
			view->first);
	} else {
		const struct bisect_step *step = bisect_view_step_of(view, view->bad);
		SCOPED char *said = difference_text(&step->difference);
		say_in(p, STYLE_BAD, "First bad",
			"%s: %s of %s takes %s against %s; the last good one is %s", view->bad,
			view->brick ? view->brick : "a token", view->phase, said, view->first,
			view->good);
		if (view->between)
			say(p, "", "or one of %zu before it that could not be judged",
				view->between);
		say(p, "Found in", "%zu steps, of %zu builds", view->step_count - 1, view->builds);
		diff_summary(view->diff, out);
	}
	fputc('\n', out);
	static const struct table_column columns[] = {{"BUILD", 1, 0}, {"RUNS", 0, 1},
		{"EFFECT", 0, 0}, {"INTERVAL", 0, 1}, {"", TABLE_REST, 0}};
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 5);
	char text[DIFFERENCE_BYTES];
	for (size_t i = 0; i < view->step_count; i++) {
		const struct bisect_step *step = &view->steps[i];
		table_row(table, step->is_bad ? STYLE_BAD : STYLE_PLAIN);
		table_cell(table, step->build);
		table_count(table, step->runs);
		table_cell(table, step->fault ? "-" : difference_size(text, &step->difference));
		table_cell(table, step->fault ? "-" : difference_interval(text, &step->difference));
		table_format(table, "%s%s",
			step->fault    ? step->fault
			: step->is_bad ? "bad"
				       : "good",
			step->is_doubtful ? ", the nearer side: not enough data" : "");
	}
	table_print(table, &terminal);
}

static json_t *bisect_view_step_json(const struct bisect_step *step)
{
	json_t *json = json_object();

	json_put_texts(json, step, build, fault);
	json_put(json, "runs", json_number(step->runs));
	if (!step->fault) {
		json_put_signed(json, &step->difference, a, b, effect, low, high);
		json_put(json, "is_bad", json_boolean(step->is_bad));
		json_put(json, "is_doubtful", json_boolean(step->is_doubtful));
	}
	return json;
}

void bisect_json(const struct bisect_view *view, FILE *out)
{
	json_t *root = json_object(), *steps = json_array();

	for (size_t i = 0; i < view->step_count; i++)
		json_add(steps, bisect_view_step_json(&view->steps[i]));
	json_put(root, "schema", json_text("brick/bisect/1"));
	json_put_texts(root, view, first, last, good, bad, phase, brick);
	json_put_numbers(root, view, builds, between);
	json_put(root, "steps", steps);
	json_put(root, "diff", view->diff ? diff_to_json(view->diff) : json_null());
	json_print(root, out);
}
