/* SPDX-License-Identifier: Apache-2.0 */
/* A store sums parts by group; what is computed here is the difference of these sums. */
#include "cli/history_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/statistics.h"
#include "analysis/statistics/unknown.h"
#include "base/order.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

static int history_groups_take_workload(void *context, const struct history_workload *w)
{
	struct history_choice *choice = context;
	const struct trend_workload copy = {
		xstrdup(w->workload), xstrdup(w->host), xstrdup(w->cpu), w->runs};

	if (choice->chosen.workload)
		return array_push(&choice->left_out, copy);
	choice->chosen = copy;
	return 0;
}

static void workload_fini(struct trend_workload *w)
{
	free(w->workload);
	free(w->host);
	free(w->cpu);
}

void history_choice_fini(struct history_choice *choice)
{
	workload_fini(&choice->chosen);
	for (size_t i = 0; i < choice->left_out.count; i++)
		workload_fini(&choice->left_out.items[i]);
	array_fini(&choice->left_out);
}

void history_choose(struct history_choice *choice, struct history_store *store,
	struct history_filter *filter, bool any_machine)
{
	size_t kept = 0;

	filter->kind = filter->kind ? filter->kind : HISTORY_TIMED;
	history_runs_check(store,
		history_store_workloads(store, filter, history_groups_take_workload, choice));
	struct trend_workload *chosen = &choice->chosen, *list = choice->left_out.items;
	filter->workload = chosen->workload;
	if (!any_machine) {
		filter->host = chosen->host;
		filter->cpu = chosen->cpu;
	}
	for (size_t i = 0; i < choice->left_out.count; i++)
		if (any_machine && !strcmp(list[i].workload, chosen->workload))
			workload_fini(&list[i]);
		else
			list[kept++] = list[i];
	choice->left_out.count = kept;
}

int history_groups_take(void *context, const struct history_group *g)
{
	struct history_groups *h = context;
	const struct history_part *p = g->part;
	double ns = p->typical_tokens ? (double)p->typical_ns / (double)p->typical_tokens : NAN;
	size_t last = h->list.count - 1;

	if (!h->list.count || strcmp(h->list.items[last].name, g->group)) {
		if (array_push(&h->list,
			    (struct history_group_row){.name = xstrdup(g->group), .ns = NAN}))
			return -ENOMEM;
		last = h->list.count - 1;
	}
	if (!strcmp(p->kind, "step")) {
		h->list.items[last].runs = g->runs;
		h->list.items[last].first_ns = g->first_ns;
		h->list.items[last].ns = ns;
		h->list.items[last].p99_ns = history_histogram_percentile(&p->histogram, 99);
		return history_histogram_merge(&h->all, &p->histogram);
	}
	if (strcmp(p->kind, "brick"))
		return 0;
	return array_push(&h->cells, (struct history_cell){last, xstrdup(p->name), ns});
}

COMPARATOR(history_groups_by_cell, struct history_cell,
	strcmp(x->name, y->name) ?: ORDER(x->group, y->group))

static int history_groups_slowest(const void *a, const void *b)
{
	const struct history_group_row *x = a, *y = b;
	double a_ns = isnan(x->ns) ? -1 : x->ns, b_ns = isnan(y->ns) ? -1 : y->ns;

	return ORDER(b_ns, a_ns) ?: strcmp(x->name, y->name);
}

void history_groups_compute(struct history_groups *h)
{
	SCOPED double *scratch = xcalloc(h->list.count + h->cells.count + 1, sizeof(*scratch));
	size_t known = 0;

	for (size_t i = 0; i < h->list.count; i++)
		if (!isnan(h->list.items[i].ns))
			scratch[known++] = h->list.items[i].ns;
	h->median_ns = known ? statistics_median(scratch, known) : NAN;
	array_sort(&h->cells, history_groups_by_cell);
	for (size_t i = 0, end; i < h->cells.count; i = end) {
		for (end = i; end < h->cells.count &&
			      !strcmp(h->cells.items[end].name, h->cells.items[i].name);
			end++)
			;
		const struct history_cell *cells = h->cells.items + i;
		size_t count = end - i;
		for (size_t k = 0; k < count; k++)
			scratch[k] = cells[k].ns;
		double median = statistics_median(scratch, count);
		for (size_t k = 0; k < count; k++) {
			struct history_group_row *g = &h->list.items[cells[k].group];
			double points = (cells[k].ns - median) / h->median_ns;
			if (points > g->points) {
				g->points = points;
				g->brick = cells[k].name;
			}
		}
	}
	for (size_t i = 0; i < h->list.count; i++)
		h->list.items[i].effect = h->list.items[i].ns / h->median_ns - 1;
	array_sort(&h->list, history_groups_slowest);
}

void history_groups_json(const struct history_groups *h, const char *schema, const char *name)
{
	json_t *root = json_object(), *rows = json_array();
	uint64_t p99 = history_histogram_percentile(&h->all, 99);

	for (size_t i = 0; i < h->list.count; i++) {
		const struct history_group_row *g = &h->list.items[i];
		json_t *row = json_object();
		json_put(row, "name", json_text(g->name));
		json_put(row, "runs", json_number(g->runs));
		json_put(row, "ns_per_token", json_rate(g->ns));
		json_put(row, "effect", isfinite(g->effect) ? json_real(g->effect) : json_null());
		json_put(row, "p99_ns", g->p99_ns ? json_number(g->p99_ns) : json_null());
		json_put(row, "brick", json_text(g->brick));
		json_put(row, "points", json_real(g->points));
		json_add(rows, row);
	}
	json_put(root, "schema", json_text(schema));
	json_put(root, "p99_ns", p99 ? json_number(p99) : json_null());
	json_put(root, "steps", json_number(history_histogram_count(&h->all)));
	json_put(root, name, rows);
	trend_workloads_json(
		root, &h->choice.chosen, h->choice.left_out.items, h->choice.left_out.count);
	json_print(root, stdout);
}

void history_groups_text(
	const struct history_groups *h, const char *title, const char *runs, size_t most)
{
	const struct table_column columns[] = {{title, 1, 0}, {runs, 0, 1}, {"/TOKEN", 0, 0},
		{"EFFECT", 0, 0}, {"P99", 0, 2}, {"BRICK", 1, 0}, {"POINTS", 0, 1}};
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 7);
	uint64_t p99 = history_histogram_percentile(&h->all, 99);
	size_t shown = most && most < h->list.count ? most : h->list.count;
	char text[UNITS_BYTES], count[UNITS_BYTES];
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	for (size_t i = 0; i < shown; i++) {
		const struct history_group_row *g = &h->list.items[i];
		const struct difference d = {.effect = g->effect};
		char effect[DIFFERENCE_BYTES];
		table_row(table, STYLE_PLAIN);
		table_cell(table, *g->name ? g->name : "(not known)");
		table_count(table, g->runs);
		table_time(table, isnan(g->ns) ? ANALYSIS_UNKNOWN : (uint64_t)g->ns);
		table_cell(table, difference_size(effect, &d));
		table_time(table, g->p99_ns ? g->p99_ns : ANALYSIS_UNKNOWN);
		table_cell(table, g->brick ? g->brick : "-");
		table_format(table, g->brick ? "%+.1f" : "-", 100 * g->points);
	}
	table_print(table, &terminal);
	if (shown < h->list.count)
		printf("... and %zu that take less; more with --limit N\n", h->list.count - shown);
	trend_workloads_text(
		&terminal, &h->choice.chosen, h->choice.left_out.items, h->choice.left_out.count);
	printf("EFFECT, POINTS: against the median of %zu; p99 of %s steps: %s\n", h->list.count,
		units_count(count, history_histogram_count(&h->all)),
		p99 ? units_time(text, p99) : "-");
}

void history_groups_fini(struct history_groups *h)
{
	for (size_t i = 0; i < h->list.count; i++)
		free(h->list.items[i].name);
	for (size_t i = 0; i < h->cells.count; i++)
		free(h->cells.items[i].name);
	array_fini(&h->list);
	array_fini(&h->cells);
	history_histogram_fini(&h->all);
	history_choice_fini(&h->choice);
}
