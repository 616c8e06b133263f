/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick history hosts`: which machine, or version of the engine, is slow, and in which brick:
 * against the median of all of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/statistics.h"
#include "analysis/accounts/unknown.h"
#include "analysis/steps/step_times.h"
#include "base/order.h"
#include "cli/cmd_history.h"
#include "cli/die.h"
#include "ui/text/json_out.h"
#include "cli/progress.h"
#include "ui/text/text_table.h"
#include "ui/text/text.h"

/* A part of one group: time a token. */
struct cell {
	size_t group;
	char *name;
	double ns;
};

struct group {
	char *name;
	uint64_t runs, p99_ns;
	double ns;	   /* a token */
	double effect;	   /* against the median of all groups; a ratio less 1 */
	const char *brick; /* that adds most to it; NULL: none is slower */
	double points;	   /* what it adds, of the median token */
};

struct hosts {
	ARRAY(struct group) groups;
	ARRAY(struct cell) cells;
	struct history_histogram all; /* steps of all groups */
	double median_ns;
};

static int take(void *context, const struct history_group *g)
{
	struct hosts *h = context;
	const struct history_part *p = g->part;
	double ns = p->typical_tokens ? (double)p->typical_ns / (double)p->typical_tokens : NAN;
	size_t last = h->groups.count - 1;

	if (!h->groups.count || strcmp(h->groups.items[last].name, g->group)) {
		if (array_push(&h->groups, (struct group){.name = xstrdup(g->group), .ns = NAN}))
			return -ENOMEM;
		last = h->groups.count - 1;
	}
	if (!strcmp(p->kind, "step")) {
		h->groups.items[last].runs = g->runs;
		h->groups.items[last].ns = ns;
		h->groups.items[last].p99_ns = history_histogram_percentile(&p->histogram, 99);
		return history_histogram_merge(&h->all, &p->histogram);
	}
	if (strcmp(p->kind, "brick"))
		return 0;
	return array_push(&h->cells, (struct cell){last, xstrdup(p->name), ns});
}

COMPARATOR(compare_cells, struct cell, strcmp(x->name, y->name) ?: ORDER(x->group, y->group))

/* What a brick adds in each group, against its median over the groups. */
static void weigh(struct hosts *h, const struct cell *cells, size_t count, double *scratch)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = cells[i].ns;
	double median = statistics_median(scratch, count);
	for (size_t i = 0; i < count; i++) {
		struct group *g = &h->groups.items[cells[i].group];
		double points = (cells[i].ns - median) / h->median_ns;
		if (points > g->points) {
			g->points = points;
			g->brick = cells[i].name;
		}
	}
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	double a_ns = isnan(x->ns) ? -1 : x->ns, b_ns = isnan(y->ns) ? -1 : y->ns;

	return ORDER(b_ns, a_ns) ?: strcmp(x->name, y->name);
}

static void compute(struct hosts *h)
{
	SCOPED double *scratch = xcalloc(h->groups.count + h->cells.count + 1, sizeof(*scratch));
	size_t known = 0;

	for (size_t i = 0; i < h->groups.count; i++)
		if (!isnan(h->groups.items[i].ns))
			scratch[known++] = h->groups.items[i].ns;
	h->median_ns = known ? statistics_median(scratch, known) : NAN;
	if (h->cells.count)
		qsort(h->cells.items, h->cells.count, sizeof(*h->cells.items), compare_cells);
	for (size_t i = 0, end; i < h->cells.count; i = end) {
		for (end = i; end < h->cells.count &&
			      !strcmp(h->cells.items[end].name, h->cells.items[i].name);
			end++)
			;
		weigh(h, h->cells.items + i, end - i, scratch);
	}
	for (size_t i = 0; i < h->groups.count; i++)
		h->groups.items[i].effect = h->groups.items[i].ns / h->median_ns - 1;
	if (h->groups.count)
		qsort(h->groups.items, h->groups.count, sizeof(*h->groups.items), compare_groups);
}

static void print_json(const struct hosts *h, bool by_engine)
{
	json_t *root = json_object(), *rows = json_array();
	uint64_t p99 = history_histogram_percentile(&h->all, 99);

	for (size_t i = 0; i < h->groups.count; i++) {
		const struct group *g = &h->groups.items[i];
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
	json_put(root, "schema", json_text("brick/history-hosts/1"));
	json_put(root, "p99_ns", p99 ? json_number(p99) : json_null());
	json_put(root, "steps", json_number(history_histogram_count(&h->all)));
	json_put(root, by_engine ? "engines" : "hosts", rows);
	json_print(root, stdout);
}

static void add_row(struct table *table, const struct group *g)
{
	table_row(table, STYLE_PLAIN);
	table_cell(table, *g->name ? g->name : "(not known)");
	table_count(table, g->runs);
	table_time(table, isnan(g->ns) ? ANALYSIS_UNKNOWN : (uint64_t)g->ns);
	table_format(table, isfinite(g->effect) ? "%+.1f%%" : "-", 100 * g->effect);
	table_time(table, g->p99_ns ? g->p99_ns : ANALYSIS_UNKNOWN);
	table_cell(table, g->brick ? g->brick : "-");
	table_format(table, g->brick ? "%+.1f" : "-", 100 * g->points);
}

static void print_text(const struct hosts *h, bool by_engine)
{
	const struct table_column columns[] = {{by_engine ? "ENGINE" : "HOST", 1, 0},
		{"RUNS", 0, 1}, {"/TOKEN", 0, 0}, {"EFFECT", 0, 0}, {"P99", 0, 2}, {"BRICK", 1, 0},
		{"POINTS", 0, 1}};
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 7);
	uint64_t p99 = history_histogram_percentile(&h->all, 99);
	char text[UNITS_BYTES], count[UNITS_BYTES];
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	for (size_t i = 0; i < h->groups.count; i++)
		add_row(table, &h->groups.items[i]);
	table_print(table, &terminal);
	printf("EFFECT, POINTS: against the median of %zu; p99 of %s steps: %s\n", h->groups.count,
		units_count(count, history_histogram_count(&h->all)),
		p99 ? units_time(text, p99) : "-");
}

int history_hosts(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	const struct history_filter filter = history_filter_of(a);
	struct hosts h = {0};

	struct progress *progress = progress_start("history", NULL, 0);
	int rc = history_store_groups(
		store, &filter, a->by_engine, step_phase_name(a->phase), take, &h);
	progress_end(progress);
	history_runs_check(store, rc);
	if (!h.groups.count)
		die(CLI_INPUT, "history: no run has %s steps", step_phase_name(a->phase));
	compute(&h);
	(a->json ? print_json : print_text)(&h, a->by_engine);
	for (size_t i = 0; i < h.groups.count; i++)
		free(h.groups.items[i].name);
	for (size_t i = 0; i < h.cells.count; i++)
		free(h.cells.items[i].name);
	array_fini(&h.groups);
	array_fini(&h.cells);
	history_histogram_fini(&h.all);
	return CLI_DONE;
}
