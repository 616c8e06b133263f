/* SPDX-License-Identifier: Apache-2.0 */
/* `brick history list` and `show`. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_history.h"
#include "analysis/accounts/unknown.h"
#include "cli/die.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/report_notes.h"
#include "ui/text/text_table.h"
#include "ui/text/text.h"
#include "ui/text/trend.h"

enum { COLUMNS = 10, DEFAULT_LIMIT = 20, LABEL = 12 };

static const struct table_column columns[COLUMNS] = {{"N", 0, 0}, {"RUN", 1, 0}, {"START", 1, 1},
	{"KIND", 1, 3}, {"PREFILL", 0, 2}, {"DECODE", 0, 0}, {"WALL", 0, 3}, {"LABELS", 1, 1},
	{"ENGINE", 1, 4}, {"COMMAND", TABLE_REST, 2}};

struct listing {
	struct table *table; /* NULL: as JSON */
	json_t *array;
	size_t place;
};

/* Tokens per s; negative: not known. */
static double rate_of(const struct history_run *run, const char *phase)
{
	const struct history_part *step = history_run_step(run, phase);

	return step && step->total_ns
		       ? (double)step->tokens * 1e9 / ((double)step->total_ns * step->united)
		       : -1;
}

/* The caller frees. */
static char *labels_of(const struct history_run *run)
{
	SCOPED char *text = xstrdup("");

	for (size_t i = 0; i < run->labels.count; i++)
		xappend(&text, ",", "%s", run->labels.items[i]);
	return text_safe(text);
}

static json_t *head_json(const struct history_run *run)
{
	json_t *json = json_object(), *labels = json_array();

	json_put_texts(json, run, id, kind);
	json_put(json, "start_unix_ns", json_number(run->start_ns));
	json_put_texts(json, run, host, cpu, engine, version, command, path, batch);
	json_put(json, "wall_ns", json_number(run->wall_ns));
	json_put(json, "ttft_ns", run->ttft_ns ? json_number(run->ttft_ns) : json_null());
	json_put(json, "exit_code", json_integer(run->exit_code));
	json_put(json, "value", json_rate(run->value));
	json_put(json, "prefill_tokens_per_s", json_rate(rate_of(run, "prefill")));
	json_put(json, "decode_tokens_per_s", json_rate(rate_of(run, "decode")));
	for (size_t i = 0; i < run->labels.count; i++)
		json_add(labels, json_text(run->labels.items[i]));
	json_put(json, "labels", labels);
	return json;
}

static void add_row(struct listing *l, const struct history_run *run)
{
	SCOPED char *labels = labels_of(run), *date = trend_date(run->start_ns);

	table_row(l->table, STYLE_PLAIN);
	table_format(l->table, "%zu", l->place);
	table_format(l->table, "%.8s", run->id);
	table_cell(l->table, date);
	table_cell(l->table, run->kind);
	table_number(l->table, rate_of(run, "prefill"));
	table_number(l->table, rate_of(run, "decode"));
	table_time(l->table, run->wall_ns ? run->wall_ns : ANALYSIS_UNKNOWN);
	table_cell(l->table, labels);
	table_cell(l->table, run->engine);
	table_cell(l->table, run->command);
}

static int take(void *context, struct history_run *run)
{
	struct listing *l = context;

	l->place++;
	if (l->array)
		json_add(l->array, head_json(run));
	else
		add_row(l, run);
	return 0;
}

int history_list(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	struct history_filter filter = history_filter_of(a);
	struct listing l = {.array = a->json ? json_array() : NULL};
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	l.table = table_create(columns, COLUMNS);
	if (!filter.limit && !a->all && !a->json)
		filter.limit = DEFAULT_LIMIT;
	history_runs_check(store, history_store_list(store, &filter, take, &l));
	if (a->json) {
		json_t *root = json_object();
		json_put(root, "schema", json_text("brick/history/1"));
		json_put(root, "runs", l.array);
		json_print(root, stdout);
	} else if (l.place) {
		table_hide_empty(l.table);
		table_print(l.table, &terminal);
		if (filter.limit && l.place == filter.limit)
			puts("PREFILL, DECODE: tokens/s. More with --all or --limit N");
		else
			puts("PREFILL, DECODE: tokens/s");
	} else {
		puts("no runs");
	}
	table_destroy(l.table);
	return CLI_DONE;
}

/* ---- one run ---- */

static json_t *part_json(const struct history_part *p)
{
	json_t *json = json_object();
	uint64_t p99 = history_histogram_percentile(&p->histogram, 99);

	json_put_texts(json, p, phase, kind, name);
	json_put_numbers(json, p, count, tokens, total_ns);
	json_put(json, "ns_per_token",
		json_rate(p->typical_tokens ? (double)p->typical_ns / (double)p->typical_tokens
					    : -1));
	json_put(json, "p99_ns", p99 ? json_number(p99) : json_null());
	return json;
}

static void show_json(const struct history_run *run)
{
	json_t *root = head_json(run), *facts = json_array(), *parts = json_array();

	for (size_t i = 0; i < run->facts.count; i++) {
		json_t *pair = json_array();
		json_add(pair, json_text(run->facts.items[i].key));
		json_add(pair, json_text(run->facts.items[i].value));
		json_add(facts, pair);
	}
	for (size_t i = 0; i < run->parts.count; i++)
		json_add(parts, part_json(&run->parts.items[i]));
	json_put(root, "schema", json_text("brick/history-run/1"));
	json_put(root, "facts", facts);
	json_put(root, "parts", parts);
	json_print(root, stdout);
}

/* Decode before prefill; its steps, what they were made of, layers; else as they are kept. */
static int by_phase(const void *a, const void *b)
{
	const struct history_part *x = *(const struct history_part *const *)a;
	const struct history_part *y = *(const struct history_part *const *)b;
	int phase = strcmp(x->phase, y->phase), kind = strcmp(x->kind, y->kind);
	int step = !strcmp(y->kind, "step") - !strcmp(x->kind, "step");

	return phase ? phase : step ? step : kind ? kind : (x > y) - (x < y);
}

static void print_parts(const struct history_run *run, const struct terminal *terminal)
{
	static const struct table_column titles[] = {{"PHASE", 1, 0}, {"KIND", 1, 1},
		{"NAME", 1, 0}, {"/TOKEN", 0, 0}, {"SELF", 0, 0}, {"COUNT", 0, 1}, {"P50", 0, 2},
		{"P99", 0, 2}};
	SCOPED_TO(table_destroy) struct table *table = table_create(titles, 8);
	SCOPED const struct history_part **sorted = xcalloc(run->parts.count, sizeof(*sorted));

	for (size_t i = 0; i < run->parts.count; i++)
		sorted[i] = &run->parts.items[i];
	qsort(sorted, run->parts.count, sizeof(*sorted), by_phase);
	for (size_t n = 0; n < run->parts.count; n++) {
		const struct history_part *p = sorted[n];
		uint64_t p50 = history_histogram_percentile(&p->histogram, 50);
		uint64_t p99 = history_histogram_percentile(&p->histogram, 99);
		table_row(table, STYLE_PLAIN);
		table_cell(table, p->phase);
		table_cell(table, p->kind);
		table_cell(table, p->name);
		table_time(table, history_part_token_ns(p));
		table_time(table, p->total_ns);
		table_count(table, p->count ? p->count : ANALYSIS_UNKNOWN);
		table_time(table, p50 ? p50 : ANALYSIS_UNKNOWN);
		table_time(table, p99 ? p99 : ANALYSIS_UNKNOWN);
	}
	table_hide_empty(table);
	table_print(table, terminal);
}

static void show_text(const struct history_run *run)
{
	char *labels = labels_of(run), *date = trend_date(run->start_ns), wall[UNITS_BYTES];
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	paragraph(&terminal, LABEL, "Run", "%s, %s, %s UTC on %s", run->id, run->kind, date,
		run->host);
	if (*labels)
		paragraph(&terminal, LABEL, "Labels", "%s", labels);
	paragraph(&terminal, LABEL, "Command", "%s", run->command);
	if (run->wall_ns)
		paragraph(&terminal, LABEL, "Wall time", "%s", units_time(wall, run->wall_ns));
	if (*run->path)
		paragraph(&terminal, LABEL, "Recording", "%s", run->path);
	if (*run->batch)
		paragraph(&terminal, LABEL, "Batch", "%s", run->batch);
	const char *label = "Facts";
	for (size_t i = 0; i < run->facts.count; i++) {
		const char *key = report_note_title(run->facts.items[i].key);
		if (!key || !strcmp(key, "command"))
			continue;
		paragraph(&terminal, LABEL, label, "%s: %s", key, run->facts.items[i].value);
		label = "";
	}
	if (run->parts.count) {
		print_parts(run, &terminal);
		paragraph(&terminal, 0, "",
			"/TOKEN is of typical steps: those of a recording that took less than the "
			"median. P50 and P99 are within 3.2%% (from histograms).");
	}
	free(labels);
	free(date);
}

int history_show(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	history_runs_find(&runs, store, a->operands[0]);
	if (runs.list.count > 1 && !a->json)
		printf("%zu runs; this is the newest:\n", runs.list.count);
	(a->json ? show_json : show_text)(&runs.list.items[runs.list.count - 1]);
	return CLI_DONE;
}
