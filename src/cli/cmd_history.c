/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick history`: lists, shows and changes the runs that a history keeps; plots a part of a token
 * over runs; compares machines, or versions of the engine; imports what other programs measured.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/statistics.h"
#include "analysis/statistics/unknown.h"
#include "analysis/history/llama_bench.h"
#include "analysis/steps/step_times.h"
#include "base/clock_ns.h"
#include "base/order.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_groups.h"
#include "cli/history_runs.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/suggest.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/report_trust.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"
#include "ui/text/trend.h"

struct history_arguments {
	const char *db, *label, *host, *kind, *model, *command, *svg, *html;
	const char *brick, *layer, *kernel; /* for the subcommand plot */
	unsigned long limit, older_than;    /* in days */
	int phase;			    /* enum step_phase */
	bool all, json, remove, by_engine;
	char **operands; /* after the subcommand */
	size_t operand_count;
};

/* The runs that --label, --host, --kind, --model, --command and --limit select. */
static struct history_filter history_filter_of(const struct history_arguments *a)
{
	return (struct history_filter){.label = a->label,
		.host = a->host,
		.kind = a->kind,
		.model = a->model,
		.command = a->command,
		.limit = a->limit};
}

/* List. */

enum { COLUMNS = 11, DEFAULT_LIMIT = 20, LABEL = 12 };

static const struct table_column cmd_history_columns[COLUMNS] = {{"N", 0, 0}, {"RUN", 1, 0},
	{"START", 1, 1}, {"KIND", 1, 3}, {"PREFILL", 0, 2}, {"DECODE", 0, 0}, {"WALL", 0, 3},
	{"LABELS", 1, 1}, {"ENGINE", 1, 5}, {"MODEL", 1, 4}, {"COMMAND", TABLE_REST, 2}};

/* Tokens per s; negative: not known. */
static double cmd_history_rate_of(const struct history_run *run, const char *phase)
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

static json_t *cmd_history_head_json(const struct history_run *run)
{
	json_t *json = json_object(), *labels = json_array();

	json_put_texts(json, run, id, kind);
	json_put(json, "start_unix_ns", json_number(run->start_ns));
	json_put_texts(
		json, run, host, cpu, engine, version, model, workload, command, path, batch);
	json_put(json, "wall_ns", json_number(run->wall_ns));
	json_put(json, "ttft_ns", run->ttft_ns ? json_number(run->ttft_ns) : json_null());
	json_put(json, "exit_code", json_integer(run->exit_code));
	json_put(json, "value", json_rate(run->value));
	json_put(json, "prefill_tokens_per_s", json_rate(cmd_history_rate_of(run, "prefill")));
	json_put(json, "decode_tokens_per_s", json_rate(cmd_history_rate_of(run, "decode")));
	for (size_t i = 0; i < run->labels.count; i++)
		json_add(labels, json_text(run->labels.items[i]));
	json_put(json, "labels", labels);
	return json;
}

/* Runs of one program, and the bytes that all their commands begin and end with. */
struct program {
	const char *command; /* of its first run */
	size_t begin, end;
	bool differ;
};
struct programs {
	ARRAY(struct program) list;
};

static bool cmd_history_is_of(const struct program *program, const char *command)
{
	size_t length = strcspn(program->command, " ");

	return length == strcspn(command, " ") && !strncmp(program->command, command, length);
}

/* Cut a length of common text back to the begin of a word, or of a file's name in its folder. */
static void cmd_history_shorten(struct program *c, const char *other)
{
	const char *one = c->command;
	size_t length = strlen(one), with = strlen(other), same = 0, words = 0;

	c->differ |= strcmp(one, other) != 0;
	for (; same < c->begin && same < with && one[same] == other[same]; same++)
		if (one[same] == ' ' || one[same] == '/')
			words = same + 1;
	c->begin = words;
	for (same = words = 0;
		same < c->end && same < length - c->begin && same < with - c->begin &&
		one[length - 1 - same] == other[with - 1 - same];
		same++)
		if (one[length - 1 - same] == ' ')
			words = same + 1;
	c->end = words;
}

static struct program *program_of(const struct programs *programs, const char *command)
{
	for (size_t i = 0; i < programs->list.count; i++)
		if (cmd_history_is_of(&programs->list.items[i], command))
			return &programs->list.items[i];
	return NULL;
}

static void find_programs(struct programs *programs, const struct history_runs *runs)
{
	for (size_t i = 0; i < runs->list.count; i++) {
		const char *command = runs->list.items[i].command;
		struct program *known = program_of(programs, command);
		size_t length = strlen(command);
		if (known)
			cmd_history_shorten(known, command);
		else
			xcheck(array_push(&programs->list,
				((struct program){command, length, length, false})));
	}
}

/* The option whose value a row begins with: "-t"; "" if it begins with another word. Caller frees.
 */
static char *option_before(const char *command, size_t begin)
{
	size_t word = begin, before;

	while (word > 0 && command[word - 1] != ' ')
		word--;
	before = word > 0 ? word - 1 : 0;
	while (before > 0 && command[before - 1] != ' ')
		before--;
	return word && command[before] == '-' && command[begin] != '-'
		       ? xasprintf("%.*s", (int)(word - before), command + before)
		       : xstrdup("");
}

static void list_json(const struct history_runs *runs)
{
	json_t *root = json_object(), *array = json_array();

	for (size_t i = 0; i < runs->list.count; i++)
		json_add(array, cmd_history_head_json(&runs->list.items[i]));
	json_put(root, "schema", json_text("brick/history/1"));
	json_put(root, "runs", array);
	json_print(root, stdout);
}

static void list_text(const struct history_runs *runs, bool is_cut)
{
	struct programs programs = {0};
	SCOPED_TO(table_destroy) struct table *table = table_create(cmd_history_columns, COLUMNS);
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	find_programs(&programs, runs);
	for (size_t i = 0; i < runs->list.count; i++) {
		const struct history_run *run = &runs->list.items[i];
		const struct program *program = program_of(&programs, run->command);
		SCOPED char *labels = labels_of(run), *date = trend_date(run->start_ns);
		size_t begin = program->differ ? program->begin : 0;
		size_t end = program->differ ? program->end : 0;
		int own = (int)(strlen(run->command) - begin - end);
		SCOPED char *option = option_before(run->command, begin);
		table_row(table, STYLE_PLAIN);
		table_format(table, "%zu", i + 1);
		table_format(table, "%.8s", run->id);
		table_cell(table, date);
		table_cell(table, run->kind);
		table_number(table, cmd_history_rate_of(run, "prefill"));
		table_number(table, cmd_history_rate_of(run, "decode"));
		table_time(table, run->wall_ns ? run->wall_ns : ANALYSIS_UNKNOWN);
		table_cell(table, labels);
		table_cell(table, run->engine);
		table_cell(table, run->model);
		table_format(table, "%s%s%.*s%s", begin ? "... " : "", option, own,
			run->command + begin, end ? " ..." : "");
	}
	array_fini(&programs.list);
	table_hide_empty(table);
	table_print(table, &terminal);
	printf("PREFILL, DECODE: tokens/s%s\n", is_cut ? ". More with --all or --limit N" : "");
}

static int history_list(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	struct history_filter filter = history_filter_of(a);
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	if (!filter.limit && !a->all && !a->json)
		filter.limit = DEFAULT_LIMIT;
	history_runs_check(store, history_store_list(store, &filter, history_runs_take, &runs));
	if (a->json)
		list_json(&runs);
	else if (runs.list.count)
		list_text(&runs, filter.limit && runs.list.count == filter.limit);
	else
		puts("no runs");
	return CLI_DONE;
}

/* Show. */

static json_t *cmd_history_part_json(const struct history_part *p)
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
	json_t *root = cmd_history_head_json(run), *facts = json_array(), *parts = json_array();

	for (size_t i = 0; i < run->facts.count; i++) {
		json_t *pair = json_array();
		json_add(pair, json_text(run->facts.items[i].key));
		json_add(pair, json_text(run->facts.items[i].value));
		json_add(facts, pair);
	}
	for (size_t i = 0; i < run->parts.count; i++)
		json_add(parts, cmd_history_part_json(&run->parts.items[i]));
	json_put(root, "schema", json_text("brick/history-run/1"));
	json_put(root, "facts", facts);
	json_put(root, "parts", parts);
	json_print(root, stdout);
}

/* Orders parts: decode before prefill; then steps, their bricks, layers; else as they are kept. */
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
	paragraph(&terminal, LABEL, "Workload", "%s", run->workload);
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

static int history_show(const struct history_arguments *a)
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

/* Plot. */

static int cmd_history_take_point(void *context, const struct history_point *point)
{
	struct trend *t = context;
	const struct trend_run run = {xstrdup(point->id), xstrdup(point->engine),
		xstrdup(point->labels), point->start_ns};

	return array_push(&t->runs, run) ? -ENOMEM : array_push(&t->ns, point->ns);
}

/* The part of a token that the options name; the caller frees its name. */
static struct history_part cmd_history_part_of(const struct history_arguments *a)
{
	struct history_part part = {.phase = (char *)step_phase_name(a->phase)};

	if (!!a->brick + !!a->layer + !!a->kernel > 1)
		die_usage("history", "--brick, --layer and --kernel exclude each other");
	part.kind = a->brick ? "brick" : a->layer ? "layer" : a->kernel ? "kernel" : "step";
	part.name = a->layer ? xasprintf("layer %s", a->layer)
			     : xstrdup(a->brick	   ? a->brick
				       : a->kernel ? a->kernel
						   : "");
	return part;
}

/* Ends with a message about a part that no run has, and suggests names from the newest run. */
static void die_without(struct history_store *store, struct history_filter filter,
	const struct history_part *part, const char *what)
{
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	filter.limit = 1;
	filter.whole = true;
	history_runs_check(store, history_store_list(store, &filter, history_runs_take, &runs));
	if (!runs.list.count)
		die(CLI_INPUT, "history: no run has %s", what);
	const struct history_run *run = &runs.list.items[0];
	SCOPED const char **names = xcalloc(run->parts.count + 1, sizeof(*names));
	size_t count = 0;
	for (size_t i = 0; i < run->parts.count; i++)
		if (!strcmp(run->parts.items[i].kind, part->kind))
			names[count++] = run->parts.items[i].name;
	const char *near = suggest(part->name, names, count);
	die(CLI_INPUT, "history: no run has %s%s%s%s", what, near ? "; did you mean '" : "",
		near ? near : "", near ? "'?" : "");
}

static void cmd_history_write_file(const struct trend *t, const char *path,
	void (*write)(const struct trend *trend, FILE *out))
{
	struct output *output = output_open(path, NULL);

	write(t, output_stream(output));
	output_commit(output, 0);
}

static int history_plot(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	struct history_filter filter = history_filter_of(a);
	struct history_part part = cmd_history_part_of(a);
	SCOPED_BY(history_choice_fini) struct history_choice choice = {0};
	SCOPED char *what = *part.name ? xasprintf("%s, %s", part.name, part.phase)
				       : xasprintf("%s, whole token", part.phase);
	struct trend trend = {.what = what};

	struct progress *progress = progress_start("history", NULL, 0);
	history_choose(&choice, store, &filter, false);
	trend.workload = &choice.chosen;
	trend.left_out = choice.left_out.items;
	trend.left_out_count = choice.left_out.count;
	int rc = history_store_points(store, &filter, &part, cmd_history_take_point, &trend);
	progress_end(progress);
	history_runs_check(store, rc);
	if (!trend.ns.count)
		die_without(store, filter, &part, what);
	long changes = change_points_find(&trend.changes, trend.ns.items, trend.ns.count);
	if (changes < 0)
		die(CLI_SYSTEM, "not enough memory");
	trend.change_count = (size_t)changes;
	if (a->svg)
		cmd_history_write_file(&trend, a->svg, trend_svg);
	if (a->html)
		cmd_history_write_file(&trend, a->html, trend_page);
	if (!a->svg && !a->html)
		(a->json ? trend_json : trend_text)(&trend, stdout);
	for (size_t i = 0; i < trend.runs.count; i++) {
		free(trend.runs.items[i].id);
		free(trend.runs.items[i].engine);
		free(trend.runs.items[i].labels);
	}
	array_fini(&trend.runs);
	array_fini(&trend.ns);
	free(trend.changes);
	free(part.name);
	return CLI_DONE;
}

/* Hosts. */

static int history_hosts(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	struct history_filter filter = history_filter_of(a);
	SCOPED_BY(history_groups_fini) struct history_groups groups = {0};

	struct progress *progress = progress_start("history", NULL, 0);
	history_choose(&groups.choice, store, &filter, !a->by_engine);
	int rc = history_store_groups(store, &filter,
		a->by_engine ? HISTORY_BY_ENGINE : HISTORY_BY_HOST, step_phase_name(a->phase),
		history_groups_take, &groups);
	progress_end(progress);
	history_runs_check(store, rc);
	if (!groups.list.count)
		die(CLI_INPUT, "history: no run has %s steps", step_phase_name(a->phase));
	history_groups_compute(&groups);
	if (a->json)
		history_groups_json(
			&groups, "brick/history-hosts/1", a->by_engine ? "engines" : "hosts");
	else
		history_groups_text(&groups, a->by_engine ? "ENGINE" : "HOST", "RUNS", 0);
	return CLI_DONE;
}

/* Import. */

struct import {
	struct history_store *store;
	const char *label;
	int rc;
};

static int take_imported(void *context, struct history_run *run)
{
	struct import *import = context;

	import->rc = history_store_add(import->store, run);
	if (import->rc == 0 && import->label)
		import->rc = history_store_label(import->store, run->id, import->label, 0);
	return import->rc;
}

static int history_import(const struct history_arguments *a)
{
	struct import import = {history_runs_open(a->db, true), a->label, 0};

	for (size_t i = 0; i < a->operand_count; i++) {
		char error[512] = "";
		long count = llama_bench_read(
			a->operands[i], take_imported, &import, error, sizeof(error));
		history_runs_check(import.store, import.rc);
		if (count < 0)
			die(CLI_INPUT, "%s", error);
		printf("%s: %ld test%s\n", a->operands[i], count, count == 1 ? "" : "s");
	}
	struct progress *progress = progress_start("history", NULL, 0);
	int rc = history_store_flush(import.store);
	progress_end(progress);
	history_runs_check(import.store, rc);
	history_store_close(import.store);
	return CLI_DONE;
}
/* The command. */

static WORDS(cmd_history_words_by, "host", "engine");
static WORDS(words_kind, "recorded", "plain", "imported", "floor", HISTORY_WINDOW);

static void cmd_history_set_by(const struct option_use *use, const char *text)
{
	*(bool *)use->to = option_choice(use, text) == 1;
}

static void set_kind(const struct option_use *use, const char *text)
{
	option_choice(use, text);
	*(const char **)use->to = text;
}

#define OF(member) .at = offsetof(struct history_arguments, member)

static const struct cli_option cmd_history_option_table[] = {
	{"db", "WHERE",
		"a file of SQLite, or clickhouse+http://HOST:8123/DATABASE (default: BRICK_DB, "
		"else a file in the user's data directory)",
		option_text, OF(db)},
	{"label", "NAME", "only runs with that label", option_text, OF(label),
		.words = words_labels},
	{"host", "NAME", "only runs on that machine", option_text, OF(host)},
	{"kind", "KIND", "only recorded, plain, imported, floor or window", set_kind, OF(kind),
		.words = words_kind},
	{"model", "TEXT", "only runs of a model with that text in its name or type", option_text,
		OF(model)},
	{"command", "TEXT", "only runs with that text in their command", option_text, OF(command)},
	{"limit", "N", "the newest N (list: 20; plot, hosts: all)", option_number, OF(limit),
		.low = 1, .high = UINT32_MAX},
	{"all", NULL, "list: all of them", option_flag, OF(all)},
	{"remove", NULL, "label: take the label away", option_flag, OF(remove)},
	{"older-than", "DAYS", "rm: all runs that began longer ago than that", option_number,
		OF(older_than), .low = 1, .high = 100000},
	{"phase", "PHASE", "plot, hosts: prefill, decode (default), mixed, warm-up or other",
		option_index, OF(phase), .words = words_phases},
	{"brick", "NAME", "plot: this brick (default: the whole token)", option_text, OF(brick)},
	{"layer", "N", "plot: this layer", option_text, OF(layer)},
	{"kernel", "NAME", "plot: this kernel of a device", option_text, OF(kernel)},
	{"by", "WHAT", "hosts: host (default), or engine: its version", cmd_history_set_by,
		OF(by_engine), .words = cmd_history_words_by},
	{"svg", "OUT", "plot: write a picture", option_text, OF(svg)},
	{"html", "OUT", "plot: write a page", option_text, OF(html)},
	{"json", NULL, "as JSON", option_flag, OF(json)},
	OPTION_HELP,
};

static int cmd_history_change(const struct history_arguments *a, const char *label)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	history_runs_find(&runs, store, a->operands[0]);
	for (size_t i = 0; i < runs.list.count; i++) {
		const char *id = runs.list.items[i].id;
		history_runs_check(store, label ? history_store_label(store, id, label, a->remove)
						: history_store_remove(store, id));
	}
	printf("%zu run%s\n", runs.list.count, runs.list.count == 1 ? "" : "s");
	return CLI_DONE;
}

static int cmd_history_label(const struct history_arguments *a)
{
	return cmd_history_change(a, a->operands[1]);
}

static int cmd_history_expire(const struct history_arguments *a)
{
	const uint64_t day_ns = 24ull * 3600 * 1000000000, now = real_ns();
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	uint64_t age_ns = a->older_than * day_ns, count = 0;

	history_runs_check(
		store, history_store_expire(store, age_ns < now ? now - age_ns : 0, &count));
	printf("%" PRIu64 " run%s\n", count, count == 1 ? "" : "s");
	return CLI_DONE;
}

static int remove_runs(const struct history_arguments *a)
{
	if (!a->operand_count == !a->older_than)
		die_usage("history", "rm takes a run, @3, or --older-than DAYS");
	return a->older_than ? cmd_history_expire(a) : cmd_history_change(a, NULL);
}

static int cmd_history_add(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close) struct history_store *store = history_runs_open(a->db, true);
	int code = CLI_DONE;

	for (size_t i = 0; i < a->operand_count; i++) {
		SCOPED_TO(run_destroy) struct run *run = input_load_telling(a->operands[i]);
		SCOPED_BY(history_run_fini) struct history_run entry;
		history_entry_init(&entry, run, a->operands[i]);
		if (a->label)
			xcheck(history_run_label(&entry, a->label));
		history_runs_check(store, history_store_add(store, &entry));
	}
	struct progress *progress = progress_start("history", NULL, 0);
	int rc = history_store_flush(store);
	progress_end(progress);
	if (rc < 0) {
		warn("history: %s", history_store_error(store));
		code = CLI_SYSTEM;
	}
	return code;
}

static int cmd_history_push(const struct history_arguments *a)
{
	return cmd_history_add(a); /* without recordings: sends only the waiting runs */
}

static const struct question {
	const char *name;
	int (*answer)(const struct history_arguments *arguments);
	size_t least, most; /* operands */
	const char *wants;
} questions[] = {
	{"list", history_list, 0, 0, "nothing"},
	{"show", history_show, 1, 1, "a run: @last, @3, @NAME"},
	{"label", cmd_history_label, 2, 2, "a run and its label: @last main"},
	{"rm", remove_runs, 0, 1, "a run: @3"},
	{"add", cmd_history_add, 1, SIZE_MAX, "recordings"},
	{"plot", history_plot, 0, 0, "nothing; --brick NAME chooses"},
	{"hosts", history_hosts, 0, 0, "nothing"},
	{"import", history_import, 1, SIZE_MAX, "files of llama-bench -o sql or jsonl"},
	{"push", cmd_history_push, 0, 0, "nothing"},
};

enum { QUESTIONS = sizeof(questions) / sizeof(*questions) };

static const struct question *find_question(const char *name)
{
	for (size_t i = 0; name && i < QUESTIONS; i++)
		if (!strcmp(questions[i].name, name))
			return &questions[i];
	die_usage("history",
		"%s%s: must be list, show, label, rm, add, plot, hosts, import or push",
		name ? "history " : "history", name ? name : "");
}

static int run_history(int argc, char **argv)
{
	struct history_arguments arguments = {.phase = STEP_DECODE};

	options_parse(&command_history, &arguments, argc, argv);
	const struct question *question = find_question(optind < argc ? argv[optind] : NULL);
	arguments.operands = argv + optind + 1;
	arguments.operand_count = (size_t)(argc - optind - 1);
	if (arguments.operand_count < question->least || arguments.operand_count > question->most)
		die_usage("history", "%s takes %s", question->name, question->wants);
	return question->answer(&arguments);
}

static void words_operands(struct option_words *words)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		words_add(words, questions[i].name);
	words_references(words);
}

const struct cli_command command_history = {
	.name = "history",
	.summary = "keep summaries of runs: list, label, trends, machines",
	.run = run_history,
	.flags = CLI_ANSWERS,
	.usage = "list | show @RUN | label @RUN NAME | add FILE...\n"
		 "rm @RUN | rm --older-than DAYS | import FILE... | push\n"
		 "plot [--brick NAME] [--svg OUT] | hosts [--by engine]",
	.about = "Keep a summary of every recorded run in a database, by phase, brick and layer: "
		 "for baselines, for trends, for comparing machines. A run is named @last, @3 (the "
		 "third newest), @NAME (all with that label) or @1a2b (its id).",
	.options = cmd_history_option_table,
	.operands = words_operands,
};
