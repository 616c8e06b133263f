/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a comparison's parts and kernels, one for each phase. Called by diff_text.c. */
#include <math.h>
#include <stdlib.h>

#include "ui/text/diff.h"
#include "ui/text/text_table.h"
#include "ui/text/terminal.h"

enum { COLUMNS = 7 };

static void add_value(struct table *table, double ns)
{
	/* A brick may take less than a ns of a token. */
	if (ns > 0 && ns < 9.95)
		table_format(table, "%.1fns", ns);
	else
		table_time(table, (uint64_t)(ns + 0.5));
}

static void add_change(struct table *table, double share)
{
	table_format(table, isfinite(share) ? "%+.1f%%" : "-", 100 * share);
}

static bool says_what_it_sees(const struct compare_row *row)
{
	return row->verdict == COMPARE_UNSURE && isfinite(row->detectable) && row->detectable < 10;
}

static void add_verdict(struct table *table, const struct compare *c, const struct compare_row *row)
{
	if (row->verdict == COMPARE_SAME)
		table_format(table, "same within %.3g%%", 100 * c->threshold);
	else if (says_what_it_sees(row))
		table_format(table, "not enough data (sees %.1f%%)", 100 * row->detectable);
	else
		table_cell(table, compare_verdict_name(row->verdict));
}

static void add(struct table *table, const struct compare *c, const struct compare_row *row)
{
	bool has_bounds = isfinite(row->low) && isfinite(row->high) && !isnan(row->effect);
	enum terminal_style style = row->verdict == COMPARE_SLOWER   ? STYLE_BAD
				    : row->verdict == COMPARE_FASTER ? STYLE_GOOD
				    : row->verdict == COMPARE_UNSURE ? STYLE_DIM
								     : STYLE_PLAIN;

	table_row(table, style);
	table_cell(table, row->name);
	add_value(table, row->a);
	add_value(table, row->b);
	add_change(table, row->effect);
	table_format(table, has_bounds ? "%+.1f..%+.1f" : "-", 100 * row->low, 100 * row->high);
	add_change(table, row->points);
	add_verdict(table, c, row);
}

static bool has_verdict(const struct compare_row *row)
{
	return row->verdict != COMPARE_UNSURE && row->verdict != COMPARE_SAME;
}

static bool belongs(const struct compare_row *row, int phase, bool kernels)
{
	return row->name && row->phase == phase && (row->kind == COMPARE_KERNEL) == kernels;
}

/* What got slower or faster or stands on one side is shown before what only weighs much. */
static void print_table(
	const struct diff_view *view, const struct terminal *terminal, int phase, bool kernels)
{
	const struct table_column columns[COLUMNS] = {
		{kernels			       ? "KERNEL"
			: view->by == SUMMARY_BY_LAYER ? "LAYER"
						       : "BRICK",
			1, 0},
		{"A", 0, 2}, {"B", 0, 2}, {"EFFECT", 0, 0}, {"95%", 0, 1}, {"POINTS", 0, 1},
		{"VERDICT", 1, 0}};
	const struct compare *c = view->compare;
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, COLUMNS);
	size_t shown = 0, left = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < c->row_count; i++) {
			const struct compare_row *row = &c->rows[i];
			if (!belongs(row, phase, kernels) || has_verdict(row) != !pass)
				continue;
			if (view->all || shown < view->top) {
				add(table, c, row);
				shown++;
			} else {
				left++;
			}
		}
	if (shown) {
		fprintf(terminal->out, "\n%s, a token\n", step_phase_name(phase));
		table_hide_empty(table);
		table_print(table, terminal);
	}
	if (left)
		fprintf(terminal->out, "%zu more with --all\n", left);
}

void diff_rows(const struct diff_view *view, const struct terminal *terminal)
{
	for (int phase = STEP_PHASES - 1; phase >= 0; phase--) {
		print_table(view, terminal, phase, false);
		print_table(view, terminal, phase, true);
	}
	for (size_t i = 0; i < view->compare->row_count; i++)
		if (view->compare->rows[i].name && says_what_it_sees(&view->compare->rows[i])) {
			terminal_print(terminal, STYLE_DIM,
				"sees: the smallest effect that four of five such comparisons "
				"would find\n");
			return;
		}
}
