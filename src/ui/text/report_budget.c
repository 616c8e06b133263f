/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets on the terminal and in JSON: each limit, the run's value, and a verdict. A limit on a
 * value that was not recorded fails.
 */
#include "ui/text/report_budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

int report_budget_open(struct report_budget *b, const char *path, struct budget_error *error)
{
	*b = (struct report_budget){.path = path};
	int rc = budget_load(&b->budget, path, error);
	if (rc < 0)
		return rc;
	b->verdicts = calloc(b->budget->count + 1, sizeof(*b->verdicts));
	return b->verdicts ? 0 : -ENOMEM;
}

int report_budget_judge(struct report_budget *b, const struct run *run)
{
	struct summary *summaries[STEP_PHASES] = {NULL};
	SCOPED_BY(step_index_fini) struct step_index index;
	struct walk walk;
	int rc = step_index_init(&index, run);

	walk_init(&walk, run, &index);
	for (int phase = 0; phase < STEP_PHASES && rc == 0; phase++)
		rc = summary_create_in(&summaries[phase], &walk, SUMMARY_BY_BRICK, phase);
	if (rc == 0)
		rc = walk_run(&walk);
	b->failed = 0;
	for (size_t i = 0; i < b->budget->count && rc == 0; i++) {
		budget_judge(&b->verdicts[i], &b->budget->lines[i], summaries);
		b->failed += !b->verdicts[i].passed;
	}
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(summaries[phase]);
	return rc;
}

static const char *phase_name(const struct budget_line *line)
{
	return line->phase == STEP_PREFILL ? "prefill" : "decode";
}

static const char *report_budget_unit_of(const struct budget_line *line)
{
	switch (line->what) {
	case BUDGET_TTFT:
		return "once";
	case BUDGET_P50:
	case BUDGET_P95:
	case BUDGET_P99:
		return "a step";
	default:
		return "a token";
	}
}

static const struct table_column report_budget_columns[] = {{"PHASE", 1, 0}, {"BUDGET OF", 1, 0},
	{"LIMIT", 0, 0}, {"TOOK", 0, 0}, {"FOR", 1, 2}, {"USED", 0, 0}, {"SCORE", 0, 2},
	{"GRADE", 1, 1}, {"VERDICT", 1, 0}};

static uint64_t ns_of(double us)
{
	return us < 0 ? UINT64_MAX : number_of_double(us * 1e3 + 0.5);
}

void report_budget_text(const struct report_budget *b, FILE *out)
{
	struct terminal terminal;
	SCOPED_TO(table_destroy)
	struct table *table = table_create(report_budget_columns,
		sizeof(report_budget_columns) / sizeof(*report_budget_columns));

	terminal_init(&terminal, out);
	fputc('\n', out);
	for (size_t i = 0; i < b->budget->count; i++) {
		const struct budget_line *line = &b->budget->lines[i];
		const struct budget_verdict *v = &b->verdicts[i];
		bool is_known = v->actual_us >= 0;
		table_row(table, v->passed ? STYLE_GOOD : STYLE_BAD);
		table_cell(table, phase_name(line));
		table_format(table, "%s%s", line->what == BUDGET_CATEGORY ? "@" : "", line->name);
		table_time(table, ns_of(line->limit_us));
		table_time(table, ns_of(v->actual_us));
		table_cell(table, report_budget_unit_of(line));
		table_percent(table, v->utilisation);
		table_format(table, is_known ? "%.0f" : "-", v->score);
		table_format(table, "%c", is_known ? v->grade : '-');
		if (v->needs_steps)
			table_format(table, "NEEDS %u STEPS", v->needs_steps);
		else
			table_cell(table, v->passed  ? "within"
					  : is_known ? "OVER"
						     : "NOT RECORDED");
	}
	table_print(table, &terminal);
	if (b->failed)
		paragraph(&terminal, 0, "", "%zu of %zu limits of %s not kept.", b->failed,
			b->budget->count, b->path);
	else
		paragraph(
			&terminal, 0, "", "All %zu limits of %s kept.", b->budget->count, b->path);
}

static json_t *report_budget_line_json(
	const struct budget_line *line, const struct budget_verdict *v)
{
	static const char *const kinds[] = {
		[BUDGET_BRICK] = "brick",
		[BUDGET_CATEGORY] = "category",
		[BUDGET_TOTAL] = "total",
		[BUDGET_UNATTRIBUTED] = "unattributed",
		[BUDGET_P50] = "p50",
		[BUDGET_P95] = "p95",
		[BUDGET_P99] = "p99",
		[BUDGET_TTFT] = "ttft",
	};
	json_t *object = json_object();
	bool is_known = v->actual_us >= 0;
	char grade[2] = {v->grade, '\0'};

	json_put(object, "line", json_number(line->line));
	json_put(object, "phase", json_text(phase_name(line)));
	json_put(object, "kind", json_text(kinds[line->what]));
	json_put(object, "name", json_text(line->name));
	json_put(object, "limit_us", json_rate(line->limit_us));
	json_put_rates(object, v, actual_us, utilisation);
	json_put(object, "score", json_rate(is_known ? v->score : -1));
	json_put(object, "grade", json_text(is_known ? grade : NULL));
	json_put(object, "passed", json_boolean(v->passed));
	json_put(object, "needs_steps", v->needs_steps ? json_number(v->needs_steps) : json_null());
	return object;
}

json_t *report_budget_to_json(const struct report_budget *b)
{
	json_t *root = json_object(), *lines = json_array();

	json_put(root, "file", json_text(b->path));
	json_put(root, "passed", json_boolean(!b->failed));
	json_put(root, "failed", json_number(b->failed));
	for (size_t i = 0; i < b->budget->count; i++)
		json_add(lines, report_budget_line_json(&b->budget->lines[i], &b->verdicts[i]));
	json_put(root, "lines", lines);
	return root;
}

void report_budget_close(struct report_budget *b)
{
	budget_destroy(b->budget);
	free(b->verdicts);
}
