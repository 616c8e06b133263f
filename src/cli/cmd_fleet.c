/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick fleet`: asks a history about the windows that `brick push` sent from many machines: which
 * host or rank is slow, percentiles of each brick over all of them, which brick got slower since a
 * version of the engine, and the newest exemplars. Each question is about one workload.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/steps/step_times.h"
#include "base/clock_ns.h"
#include "base/number.h"
#include "base/order.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_groups.h"
#include "cli/history_runs.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

struct fleet_arguments {
	const char *db, *host, *model, *command;
	unsigned long limit, hours;
	int phase; /* enum step_phase; -1: not given */
	bool json;
	const char *operand; /* after the question */
};

enum { FLEET_HOURS = 24, FLEET_LIMIT = 20 };

/* What every question begins with. */
struct question {
	const struct fleet_arguments *arguments;
	struct history_store *store;
	struct history_filter filter;
	struct history_groups groups; /* its choice is that of the workload */
	const char *phase;
};

static void question_fini(struct question *q)
{
	history_store_close(q->store);
	history_groups_fini(&q->groups);
}

static void question_init(struct question *q, const struct fleet_arguments *a)
{
	uint64_t hour_ns = 3600000000000ull, now_ns = real_ns();

	*q = (struct question){.arguments = a,
		.store = history_runs_open(a->db, false),
		.phase = step_phase_name(a->phase < 0 ? STEP_DECODE : a->phase),
		.filter = {.kind = HISTORY_WINDOW,
			.host = a->host,
			.model = a->model,
			.command = a->command,
			.since_ns = number_minus(now_ns / hour_ns, a->hours) * hour_ns}};
	history_choose(&q->groups.choice, q->store, &q->filter, true);
	if (!q->filter.workload)
		die(CLI_INPUT,
			"fleet: there are no windows of the last %lu hours (--hours asks for "
			"more); 'brick "
			"push' sends them",
			a->hours);
	/* the workload says as much, and sums know no models and commands */
	q->filter.model = q->filter.command = NULL;
}

/* Asks for sums; the program ends if there are none. */
static void ask_groups(struct question *q, enum history_by by, const char *phase,
	history_group_fn each, void *context)
{
	history_runs_check(
		q->store, history_store_groups(q->store, &q->filter, by, phase, each, context));
}

static json_t *fleet_json(const struct question *q, const char *rows, json_t *list)
{
	json_t *root = json_object();

	json_put(root, "schema", json_text("brick/fleet/1"));
	json_put(root, "since_unix_ns", json_number(q->filter.since_ns));
	json_put(root, rows, list);
	trend_workloads_json(root, &q->groups.choice.chosen, q->groups.choice.left_out.items,
		q->groups.choice.left_out.count);
	return root;
}

static void fleet_print_workload(const struct question *q, const struct terminal *terminal)
{
	const struct history_choice *choice = &q->groups.choice;

	trend_workloads_text(
		terminal, &choice->chosen, choice->left_out.items, choice->left_out.count);
}

static const char *fleet_where(const struct question *q)
{
	return q->filter.host ? q->filter.host : "all hosts";
}

/* Hosts. */

static void fleet_hosts(struct question *q)
{
	ask_groups(q, HISTORY_BY_RANK, q->phase, history_groups_take, &q->groups);
	if (!q->groups.list.count)
		die(CLI_INPUT, "fleet: no window has %s steps", q->phase);
	history_groups_compute(&q->groups);
	if (q->arguments->json)
		history_groups_json(&q->groups, "brick/fleet/1", "hosts");
	else
		history_groups_text(&q->groups, "HOST", "WINDOWS",
			q->arguments->limit ? q->arguments->limit : FLEET_LIMIT);
}

/* Bricks. */

struct fleet_brick {
	char *phase, *kind, *name;
	uint64_t count, p50_ns, p99_ns;
	double token_ns; /* NAN: not known */
};

struct fleet_bricks {
	ARRAY(struct fleet_brick) list;
};

static int take_brick(void *context, const struct history_group *g)
{
	struct fleet_bricks *bricks = context;
	const struct history_part *p = g->part;

	return array_push(&bricks->list,
		((struct fleet_brick){xstrdup(p->phase), xstrdup(p->kind), xstrdup(p->name),
			p->count, history_histogram_percentile(&p->histogram, 50),
			history_histogram_percentile(&p->histogram, 99),
			p->typical_tokens ? (double)p->typical_ns / (double)p->typical_tokens
					  : NAN}));
}

COMPARATOR(bricks_by_time, struct fleet_brick,
	strcmp(x->phase, y->phase)
		?: strcmp(y->kind, x->kind) ?: ORDER(y->token_ns, x->token_ns)
						       ?: strcmp(x->name, y->name))

static void fleet_bricks_json(const struct question *q, const struct fleet_bricks *bricks)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < bricks->list.count; i++) {
		const struct fleet_brick *b = &bricks->list.items[i];
		json_t *row = json_object();
		json_put_texts(row, b, phase, kind, name);
		json_put_numbers(row, b, count);
		json_put(row, "ns_per_token", json_rate(b->token_ns));
		json_put(row, "p50_ns", b->p50_ns ? json_number(b->p50_ns) : json_null());
		json_put(row, "p99_ns", b->p99_ns ? json_number(b->p99_ns) : json_null());
		json_add(rows, row);
	}
	json_print(fleet_json(q, "bricks", rows), stdout);
}

static void fleet_bricks_text(const struct question *q, const struct fleet_bricks *bricks)
{
	static const struct table_column columns[] = {{"PHASE", 1, 0}, {"BRICK", 1, 0},
		{"COUNT", 0, 1}, {"/TOKEN", 0, 0}, {"P50", 0, 1}, {"P99", 0, 0}};
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 6);
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	for (size_t i = 0; i < bricks->list.count; i++) {
		const struct fleet_brick *b = &bricks->list.items[i];
		table_row(table, STYLE_PLAIN);
		table_cell(table, b->phase);
		table_cell(table, *b->name ? b->name : "(step)");
		table_count(table, b->count);
		table_time(table, isnan(b->token_ns) ? ANALYSIS_UNKNOWN : (uint64_t)b->token_ns);
		table_time(table, b->p50_ns ? b->p50_ns : ANALYSIS_UNKNOWN);
		table_time(table, b->p99_ns ? b->p99_ns : ANALYSIS_UNKNOWN);
	}
	table_print(table, &terminal);
	fleet_print_workload(q, &terminal);
	printf("P50, P99: of single executions on %s, within 3.2%%\n", fleet_where(q));
}

static void fleet_bricks(struct question *q)
{
	struct fleet_bricks bricks = {0};

	ask_groups(q, HISTORY_BY_NOTHING, q->arguments->phase < 0 ? NULL : q->phase, take_brick,
		&bricks);
	if (!bricks.list.count)
		die(CLI_INPUT, "fleet: no window has %s steps", q->phase);
	array_sort(&bricks.list, bricks_by_time);
	(q->arguments->json ? fleet_bricks_json : fleet_bricks_text)(q, &bricks);
	for (size_t i = 0; i < bricks.list.count; i++) {
		free(bricks.list.items[i].phase);
		free(bricks.list.items[i].kind);
		free(bricks.list.items[i].name);
	}
	array_fini(&bricks.list);
}

/* Since a version. */

struct fleet_engine {
	char *name;
	uint64_t first_ns;
	bool is_after;
};

struct fleet_sum {
	char *engine, *name; /* "": whole steps */
	uint64_t ns, tokens;
};

struct fleet_change {
	const char *name;
	double before_ns, after_ns; /* a token; NAN: the brick was not there */
};

struct fleet_since {
	ARRAY(struct fleet_engine) engines;
	ARRAY(struct fleet_sum) sums;
};

static int take_engine(void *context, const struct history_group *g)
{
	struct fleet_since *s = context;
	const struct history_part *p = g->part;
	bool is_step = !strcmp(p->kind, "step");

	if (is_step && array_push(&s->engines,
			       ((struct fleet_engine){xstrdup(g->group), g->first_ns, false})))
		return -ENOMEM;
	return array_push(
		&s->sums, ((struct fleet_sum){xstrdup(g->group), xstrdup(is_step ? "" : p->name),
				  p->typical_ns, p->typical_tokens}));
}

/* Versions that began later than the first of the named ones, and these, are after it. */
static void judge_engines(struct fleet_since *s, const char *version)
{
	uint64_t first_ns = UINT64_MAX;
	size_t after = 0;

	for (size_t i = 0; i < s->engines.count; i++)
		if (strstr(s->engines.items[i].name, version))
			first_ns = number_min(first_ns, s->engines.items[i].first_ns);
	if (first_ns == UINT64_MAX)
		die(CLI_INPUT, "fleet: no window has a version with '%s' in its name: %s%s",
			version, s->engines.count ? "one is " : "",
			s->engines.count ? s->engines.items[0].name : "");
	for (size_t i = 0; i < s->engines.count; i++) {
		struct fleet_engine *e = &s->engines.items[i];
		e->is_after = e->first_ns > first_ns || strstr(e->name, version);
		after += e->is_after;
	}
	if (after == s->engines.count)
		die(CLI_INPUT,
			"fleet: no window is of a version before '%s'; --hours asks for more",
			version);
}

static bool is_of_after(const struct fleet_since *s, const char *engine)
{
	for (size_t i = 0; i < s->engines.count; i++)
		if (!strcmp(s->engines.items[i].name, engine))
			return s->engines.items[i].is_after;
	return false;
}

COMPARATOR(sums_by_name, struct fleet_sum, strcmp(x->name, y->name))

/* The whole step first, then the bricks that got slower most. */
static int changes_by_size(const void *a, const void *b)
{
	const struct fleet_change *x = a, *y = b;
	double x_ns = x->after_ns - x->before_ns, y_ns = y->after_ns - y->before_ns;

	return ORDER(!!*x->name, !!*y->name)
		?: ORDER(isnan(x_ns), isnan(y_ns)) ?: ORDER(y_ns, x_ns) ?: strcmp(x->name, y->name);
}

static double per_token(uint64_t ns, uint64_t tokens)
{
	return tokens ? (double)ns / (double)tokens : NAN;
}

struct fleet_changes {
	ARRAY(struct fleet_change) list;
};

static void compute_changes(struct fleet_changes *changes, struct fleet_since *s)
{
	array_sort(&s->sums, sums_by_name);
	for (size_t i = 0; i < s->sums.count;) {
		const char *name = s->sums.items[i].name;
		uint64_t ns[2] = {0}, tokens[2] = {0};
		for (; i < s->sums.count && !strcmp(s->sums.items[i].name, name); i++) {
			bool after = is_of_after(s, s->sums.items[i].engine);
			ns[after] += s->sums.items[i].ns;
			tokens[after] += s->sums.items[i].tokens;
		}
		xpush(&changes->list, ((struct fleet_change){name, per_token(ns[0], tokens[0]),
					      per_token(ns[1], tokens[1])}));
	}
	array_sort(&changes->list, changes_by_size);
}

static void since_json(
	const struct question *q, const struct fleet_since *s, const struct fleet_changes *changes)
{
	json_t *rows = json_array(), *sides[2] = {json_array(), json_array()};

	for (size_t i = 0; i < changes->list.count; i++) {
		const struct fleet_change *c = &changes->list.items[i];
		json_t *row = json_object();
		json_put(row, "name", json_text(c->name));
		json_put(row, "before_ns_per_token", json_rate(c->before_ns));
		json_put(row, "after_ns_per_token", json_rate(c->after_ns));
		json_put(row, "change_ns_per_token", json_signed(c->after_ns - c->before_ns));
		json_add(rows, row);
	}
	for (size_t i = 0; i < s->engines.count; i++)
		json_add(sides[s->engines.items[i].is_after], json_text(s->engines.items[i].name));
	json_t *root = fleet_json(q, "changes", rows);
	json_put(root, "before", sides[0]);
	json_put(root, "after", sides[1]);
	json_print(root, stdout);
}

static void since_text(
	const struct question *q, const struct fleet_since *s, const struct fleet_changes *changes)
{
	static const struct table_column columns[] = {{"BRICK", 1, 0}, {"BEFORE", 0, 0},
		{"SINCE", 0, 0}, {"EFFECT", 0, 0}, {"POINTS", 0, 1}};
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 5);
	double step_ns = changes->list.items[0].before_ns; /* steps come first */
	char *sides[2] = {NULL, NULL};
	struct terminal terminal;

	terminal_init(&terminal, stdout);
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct fleet_change *c = &changes->list.items[i];
		const struct difference d = {.effect = c->after_ns / c->before_ns - 1};
		char effect[DIFFERENCE_BYTES];
		table_row(table, STYLE_PLAIN);
		table_cell(table, *c->name ? c->name : "(step)");
		table_time(table, isnan(c->before_ns) ? ANALYSIS_UNKNOWN : (uint64_t)c->before_ns);
		table_time(table, isnan(c->after_ns) ? ANALYSIS_UNKNOWN : (uint64_t)c->after_ns);
		double points = 100 * (c->after_ns - c->before_ns) / step_ns;
		table_cell(table, difference_size(effect, &d));
		table_format(table, isnan(points) ? "-" : "%+.1f", points);
	}
	table_print(table, &terminal);
	fleet_print_workload(q, &terminal);
	for (size_t i = 0; i < s->engines.count; i++)
		xappend(&sides[s->engines.items[i].is_after], ", ", "%s", s->engines.items[i].name);
	printf("Before: %s\nSince: %s\n", sides[0], sides[1]);
	free(sides[0]);
	free(sides[1]);
}

static void fleet_since(struct question *q)
{
	struct fleet_since since = {0};
	struct fleet_changes changes = {0};

	ask_groups(q, HISTORY_BY_ENGINE, q->phase, take_engine, &since);
	judge_engines(&since, q->arguments->operand);
	compute_changes(&changes, &since);
	(q->arguments->json ? since_json : since_text)(q, &since, &changes);
	for (size_t i = 0; i < since.engines.count; i++)
		free(since.engines.items[i].name);
	for (size_t i = 0; i < since.sums.count; i++) {
		free(since.sums.items[i].engine);
		free(since.sums.items[i].name);
	}
	array_fini(&since.engines);
	array_fini(&since.sums);
	array_fini(&changes.list);
}

/* Exemplars. */

/* The window's fact about its longest step: "NS ns, step N". */
static uint64_t read_slowest(const struct history_run *run, const char *phase, uint64_t *step)
{
	SCOPED char *key = xasprintf(HISTORY_SLOWEST "%s", phase);
	const char *fact = history_run_fact_find(run, key);
	uint64_t ns = 0;

	*step = 0;
	if (fact)
		sscanf(fact, "%" SCNu64 " ns, step %" SCNu64, &ns, step);
	return ns;
}

static void exemplars_json(
	const struct question *q, const struct history_runs *runs, uint64_t p99_ns)
{
	json_t *rows = json_array();
	uint64_t step;

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct history_run *run = &runs->list.items[i];
		json_t *row = json_object();
		json_put_texts(row, run, id, host, engine, path);
		json_put(row, "rank", run->rank < 0 ? json_null() : json_integer(run->rank));
		json_put(row, "start_unix_ns", json_number(run->start_ns));
		json_put(row, "ns", json_number(read_slowest(run, q->phase, &step)));
		json_put(row, "step", json_number(step));
		json_add(rows, row);
	}
	json_t *root = fleet_json(q, "exemplars", rows);
	json_put(root, "phase", json_text(q->phase));
	json_put(root, "p99_ns", json_number(p99_ns));
	json_print(root, stdout);
}

static void exemplars_text(
	const struct question *q, const struct history_runs *runs, uint64_t p99_ns)
{
	static const struct table_column columns[] = {{"WINDOW", 1, 0}, {"HOST", 1, 0},
		{"RANK", 0, 1}, {"STEP", 0, 0}, {"LENGTH", 0, 0}, {"RECORDING", 1, 1}};
	SCOPED_TO(table_destroy) struct table *table = table_create(columns, 6);
	char text[UNITS_BYTES];
	struct terminal terminal;
	uint64_t step;

	terminal_init(&terminal, stdout);
	for (size_t i = 0; i < runs->list.count; i++) {
		const struct history_run *run = &runs->list.items[i];
		SCOPED char *date = trend_date(run->start_ns);
		uint64_t ns = read_slowest(run, q->phase, &step);
		table_row(table, STYLE_PLAIN);
		table_cell(table, date);
		table_cell(table, run->host);
		table_format(table, run->rank < 0 ? "-" : "%" PRId64, run->rank);
		table_format(table, "%" PRIu64, step);
		table_time(table, ns);
		table_cell(table, *run->path ? run->path : "-");
	}
	table_hide_empty(table);
	table_print(table, &terminal);
	fleet_print_workload(q, &terminal);
	printf("Longest %s steps of windows, no shorter than the p99 on %s, %s\n", q->phase,
		fleet_where(q), units_time(text, p99_ns));
}

static void fleet_exemplars(struct question *q)
{
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	ask_groups(q, HISTORY_BY_ENGINE, q->phase, history_groups_take, &q->groups);
	uint64_t steps = history_histogram_count(&q->groups.all);
	uint64_t p99_ns = history_histogram_percentile(&q->groups.all, 99);
	if (!steps)
		die(CLI_INPUT, "fleet: no window has %s steps", q->phase);
	if (!p99_ns)
		die(CLI_INPUT, "fleet: %" PRIu64 " %s steps have no 99th percentile; 100 have",
			steps, q->phase);
	q->filter.whole = true; /* facts are not of heads */
	q->filter.slowest_phase = q->phase;
	/* a step as long as the p99 may lie anywhere in its bucket */
	q->filter.slowest_ns = history_bucket_low_ns(history_bucket_of(p99_ns));
	q->filter.limit = q->arguments->limit ? q->arguments->limit : FLEET_LIMIT;
	history_runs_check(
		q->store, history_store_list(q->store, &q->filter, history_runs_take, &runs));
	(q->arguments->json ? exemplars_json : exemplars_text)(q, &runs, p99_ns);
}

/* The command. */

static const struct fleet_question {
	const char *name;
	void (*answer)(struct question *question);
	int operands;
} fleet_questions[] = {
	{"hosts", fleet_hosts, 0},
	{"bricks", fleet_bricks, 0},
	{"since", fleet_since, 1},
	{"exemplars", fleet_exemplars, 0},
};

enum { FLEET_QUESTIONS = sizeof(fleet_questions) / sizeof(*fleet_questions) };

#define OF(member) .at = offsetof(struct fleet_arguments, member)

static const struct cli_option cmd_fleet_option_table[] = {
	{"db", "WHERE",
		"clickhouse+http://HOST:8123/DATABASE, or a file of SQLite (default: BRICK_DB, "
		"else a file in the user's data directory)",
		option_text, OF(db)},
	{"hours", "N", "windows of the last N hours (default: 24)", option_number, OF(hours),
		.low = 1, .high = 1000000},
	{"host", "NAME", "only this machine", option_text, OF(host)},
	{"model", "TEXT", "the newest workload of a model with that text in its name or type",
		option_text, OF(model)},
	{"command", "TEXT", "the newest workload with that text in its command", option_text,
		OF(command)},
	{"phase", "PHASE", "prefill, decode (default), mixed, warm-up or other; bricks: all",
		option_index, OF(phase), .words = words_phases},
	{"limit", "N", "hosts, exemplars: so many (default: 20)", option_number, OF(limit),
		.low = 1, .high = UINT32_MAX},
	{"json", NULL, "as JSON", option_flag, OF(json)},
	OPTION_HELP,
};

static const struct fleet_question *fleet_question_of(const char *name)
{
	for (size_t i = 0; name && i < FLEET_QUESTIONS; i++)
		if (!strcmp(fleet_questions[i].name, name))
			return &fleet_questions[i];
	die_usage("fleet", "fleet%s%s: must be hosts, bricks, since or exemplars", name ? " " : "",
		name ? name : "");
}

static int run_fleet(int argc, char **argv)
{
	struct fleet_arguments arguments = {.phase = -1, .hours = FLEET_HOURS};
	SCOPED_BY(question_fini) struct question question;

	options_parse(&command_fleet, &arguments, argc, argv);
	const struct fleet_question *asked = fleet_question_of(optind < argc ? argv[optind] : NULL);
	if (argc - optind - 1 != asked->operands)
		die_usage("fleet", "fleet %s takes %s", asked->name,
			asked->operands ? "a version, or a part of its name" : "nothing");
	arguments.operand = argv[optind + 1];
	struct progress *progress = progress_start("fleet", NULL, 0);
	question_init(&question, &arguments);
	progress_end(progress);
	asked->answer(&question);
	return CLI_DONE;
}

static void words_fleet(struct option_words *words)
{
	for (size_t i = 0; i < FLEET_QUESTIONS; i++)
		words_add(words, fleet_questions[i].name);
}

const struct cli_command command_fleet = {
	.name = "fleet",
	.summary = "ask about many machines: the slow one, percentiles, versions",
	.run = run_fleet,
	.flags = CLI_ANSWERS,
	.usage = "hosts | bricks | since VERSION | exemplars",
	.about = "Ask about the windows that 'brick push' and 'brick record --push' sent from many "
		 "machines: which host or rank is slow, and in which brick; percentiles of each "
		 "brick over "
		 "all of them; which brick got slower since a version of the engine; where the "
		 "longest "
		 "steps are. Answers are about the workload of the newest window.",
	.options = cmd_fleet_option_table,
	.operands = words_fleet,
};
