/* SPDX-License-Identifier: Apache-2.0 */
/* `brick history`: options, and the questions that change something. */
#include "cli/cmd_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/steps/step_times.h"
#include "base/clock_ns.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/die.h"
#include "cli/history_entry.h"
#include "cli/input.h"
#include "cli/progress.h"

static WORDS(words_by, "host", "engine")

	static WORDS(words_kind, "recorded", "plain", "imported", "floor")

		static void set_by(const struct option_use *use, const char *text)
{
	*(bool *)use->to = option_choice(use, text) == 1;
}

static void set_kind(const struct option_use *use, const char *text)
{
	option_choice(use, text);
	*(const char **)use->to = text;
}

#define OF(member) .at = offsetof(struct history_arguments, member)

static const struct cli_option option_table[] = {
	{"db", "WHERE",
		"a file of SQLite, or clickhouse+http://HOST:8123/DATABASE (default: BRICK_DB, "
		"else a file in the user's data directory)",
		option_text, OF(db)},
	{"label", "NAME", "only runs with that label", option_text, OF(label),
		.words = words_labels},
	{"host", "NAME", "only runs on that machine", option_text, OF(host)},
	{"kind", "KIND", "only recorded, plain, imported or floor", set_kind, OF(kind),
		.words = words_kind},
	{"limit", "N", "the newest N (list: 20; plot, hosts: all)", option_number, OF(limit),
		.low = 1, .high = UINT32_MAX},
	{"all", NULL, "list: all of them", option_flag, OF(all)},
	{"remove", NULL, "label: take it away", option_flag, OF(remove)},
	{"older-than", "DAYS", "rm: all runs that began longer ago than that", option_number,
		OF(older_than), .low = 1, .high = 100000},
	{"phase", "PHASE", "plot, hosts: prefill, decode (default), mixed or warm-up", option_index,
		OF(phase), .words = words_phases},
	{"brick", "NAME", "plot: that brick (default: the whole of a token)", option_text,
		OF(brick)},
	{"layer", "N", "plot: that layer", option_text, OF(layer)},
	{"kernel", "NAME", "plot: that kernel of a device", option_text, OF(kernel)},
	{"by", "WHAT", "hosts: host (default), or engine: its version", set_by, OF(by_engine),
		.words = words_by},
	{"svg", "OUT", "plot: a picture", option_text, OF(svg)},
	{"html", "OUT", "plot: a page", option_text, OF(html)},
	{"json", NULL, "as JSON", option_flag, OF(json)},
	OPTION_HELP,
};

struct history_filter history_filter_of(const struct history_arguments *a)
{
	return (struct history_filter){
		.label = a->label, .host = a->host, .kind = a->kind, .limit = a->limit};
}

static int change(const struct history_arguments *a, const char *label)
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

static int label(const struct history_arguments *a)
{
	return change(a, a->operands[1]);
}

static int expire(const struct history_arguments *a)
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
	return a->older_than ? expire(a) : change(a, NULL);
}

static int add(const struct history_arguments *a)
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

static int push(const struct history_arguments *a)
{
	return add(a); /* without recordings: only what waits to be sent */
}

static const struct question {
	const char *name;
	int (*answer)(const struct history_arguments *arguments);
	size_t least, most; /* operands */
	const char *wants;
} questions[] = {
	{"list", history_list, 0, 0, "nothing"},
	{"show", history_show, 1, 1, "a run: @last, @3, @NAME"},
	{"label", label, 2, 2, "a run and its label: @last main"},
	{"rm", remove_runs, 0, 1, "a run: @3"},
	{"add", add, 1, SIZE_MAX, "recordings"},
	{"plot", history_plot, 0, 0, "nothing; --brick NAME chooses"},
	{"hosts", history_hosts, 0, 0, "nothing"},
	{"import", history_import, 1, SIZE_MAX, "files of llama-bench -o sql or jsonl"},
	{"push", push, 0, 0, "nothing"},
};

enum { QUESTIONS = sizeof(questions) / sizeof(*questions) };

static const struct question *find_question(const char *name)
{
	for (size_t i = 0; name && i < QUESTIONS; i++)
		if (!strcmp(questions[i].name, name))
			return &questions[i];
	die_usage("history", "%s must be list, show, label, rm, add, plot, hosts, import or push",
		name ? name : "the word behind 'history'");
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
	.about = "What every recorded run took, by phase, brick and layer, is kept in a database: "
		 "for baselines, for trends, over machines. A run is named @last, @3 (the third "
		 "newest), @NAME (all with that label) or @1a2b (its id).",
	.options = option_table,
	.operands = words_operands,
};
