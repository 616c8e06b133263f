/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick bench`: options and commands. How runs are made is in bench_measure.c and bench_launch.c,
 * what is said of them in bench_answer.c.
 */
#include "cli/cmd_bench.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/accounts/summary_accumulator.h"
#include "base/clock_ns.h"
#include "base/members.h"
#include "cli/command.h"
#include "cli/history_runs.h"
#include "cli/options.h"
#include "cli/die.h"

volatile int bench_interrupted;

static void set_percent(const struct option_use *use, const char *text)
{
	*(double *)use->to =
		option_double(use, text, 0, 1000, "percent, a number from 0 to 1000") / 100;
}

/* "90", "90s", "5m", "1.5h". */
static void set_time(const struct option_use *use, const char *text)
{
	SCOPED char *number = xstrdup(text);
	size_t n = strlen(number);
	double unit = 1;

	if (n > 1 && strchr("smh", number[n - 1])) {
		unit = number[n - 1] == 'm' ? 60 : number[n - 1] == 'h' ? 3600 : 1;
		number[n - 1] = '\0';
	}
	*(double *)use->to =
		unit * option_double(use, number, 0.001, 1e6, "a time such as 90, 5m or 1h");
}

#define OF(member) .at = offsetof(struct bench_arguments, member)

static const struct cli_option option_table[] = {
	{"runs", "N", "runs of each side and kind", option_number, OF(runs), .low = 1,
		.high = 100000},
	{"time", "T", "measure for so long: 90, 5m, 1h", set_time, OF(time_s)},
	{"precision", "P",
		"stop when all intervals are within +-P percent (default: 1), or say that they "
		"will not be; 10 to 60 runs",
		set_percent, OF(precision)},
	{"warmup", "N", "runs of each side that do not count (default: 1)", option_number,
		OF(warm_up), .low = 0, .high = 1000},
	{"plain", NULL, "only runs without recording", option_flag, OF(plain)},
	{"recorded", NULL, "only recorded runs", option_flag, OF(recorded)},
	{"value", "REGEX",
		"of plain runs, compare the number that this finds in what the program prints "
		"(first group, last match); less is better",
		option_text, OF(value)},
	{"rate", "REGEX", "the same, and more is better", option_text, OF(rate)},
	{"floor", NULL,
		"also run A against itself; what that differs by is no difference, here and in "
		"'brick diff'",
		option_flag, OF(floor)},
	{"threshold", "PERCENT", "smaller differences do not matter (default: 1, or the floor)",
		set_percent, OF(threshold)},
	{"baseline", "NAME", "A is what the history has with that label", option_text, OF(baseline),
		.words = words_labels},
	{"label", "NAME", "call these runs so in the history (of B where there are two)",
		option_text, OF(label)},
	{"by", "WHAT", "brick (default) or layer", option_rows, OF(by), .words = words_rows},
	{"bisect", NULL, "exit code 125 also when there is not enough data", option_flag,
		OF(bisect)},
	{"seed", "N", "of the random order (default: 1)", option_number, OF(seed), .low = 0,
		.high = UINT32_MAX},
	{"keep", "DIR", "keep the recordings there", option_text, OF(keep)},
	{"resume", "FILE", "count the runs of a bench that was killed: its journal", option_text,
		OF(resume)},
	{"no-history", NULL, "do not keep the runs in the history", option_flag, OF(no_history)},
	{"db", "WHERE", "the history (default: BRICK_DB)", option_text, OF(db)},
	{"export-markdown", "OUT", "also write a table for a pull request", option_text,
		OF(markdown)},
	{"json", NULL, "as JSON (schema brick/bench/1)", option_flag, OF(json)},
	{"quiet", NULL, "no progress", option_flag, OF(quiet), .letter = 'q'},
	OPTION_HELP,
};

static void check(const struct bench_arguments *a)
{
	if (a->plain && a->recorded)
		die_usage("bench", "--plain and --recorded exclude each other");
	if (a->value && a->rate)
		die_usage("bench", "--value and --rate exclude each other");
	if (a->recorded && (a->value || a->rate))
		die_usage("bench", "--value and --rate are of plain runs: not with --recorded");
	if (a->no_history && a->baseline && !a->db && !getenv("BRICK_DB"))
		die_usage("bench", "--baseline is in the history: not with --no-history");
	const char *expression = a->value ? a->value : a->rate;
	double value;
	if (expression && launch_value("/dev/null", expression, &value) < 0)
		die_usage("bench",
			"%s: must be a regular expression with a group: "
			"'([0-9.]+) tokens per second'",
			expression);
}

static void find_commands(struct bench *bench, char **operands, int count)
{
	int between = 0;

	while (between < count && strcmp(operands[between], "---"))
		between++;
	bool has_two = between < count;
	operands[between] = NULL; /* argv ends with NULL */
	if (!between || (has_two && between + 1 == count))
		die_usage("bench", "which command? -- CMD, or -- CMD_A --- CMD_B");
	if (has_two && bench->arguments.baseline)
		die_usage("bench", "--baseline is A: one command, please");
	enum bench_side first = bench->arguments.baseline ? BENCH_B : BENCH_A;
	bench->commands[first] = operands;
	if (has_two)
		bench->commands[BENCH_B] = operands + between + 1;
	if (bench->arguments.floor)
		bench->commands[BENCH_AGAIN] = operands;
	if (bench->arguments.floor && first == BENCH_B)
		die_usage("bench", "--floor runs A against itself: not with --baseline");
}

static void add_work(struct bench *bench, bool is_recorded)
{
	for (int side = 0; side < BENCH_SIDES; side++)
		if (bench->commands[side])
			bench->work[bench->work_count++] =
				(struct bench_work){(enum bench_side)side, is_recorded};
}

static void interrupt(int signal)
{
	bench_interrupted = 1;
}

static void prepare(struct bench *bench)
{
	const char *temporary = getenv("TMPDIR");
	struct sigaction action = {.sa_handler = interrupt};

	bench->directory =
		xasprintf("%s/brick-bench-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(bench->directory))
		die(CLI_SYSTEM, "bench: %s: cannot be made", bench->directory);
	bench->output = xasprintf("%s/output", bench->directory);
	bench->begin_ns = monotonic_ns();
	bench->all_kept = !bench->arguments.no_history;
	if (!bench->arguments.recorded)
		add_work(bench, false);
	if (!bench->arguments.plain)
		add_work(bench, true);
	plan_init(&bench->plan, bench->work_count, bench->arguments.seed);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void clean_up(struct bench *bench)
{
	unlink(bench->output);
	rmdir(bench->directory);
	for (size_t i = 0; i < bench->runs.count; i++)
		history_run_fini(&bench->runs.items[i].entry);
	array_fini(&bench->runs);
	members_free(bench, directory, output, batch, fault);
}

/* What the history has as A. */
static void load_baseline(struct bench *bench)
{
	struct history_runs runs = {0};
	struct history_store *store;

	if (!bench->arguments.baseline)
		return;
	store = history_runs_open(bench->arguments.db, false);
	history_runs_find(&runs, store, bench->arguments.baseline);
	for (size_t i = 0; i < runs.list.count; i++) {
		struct history_run *entry = &runs.list.items[i];
		bool is_recorded = strcmp(entry->kind, "plain") != 0;
		struct bench_run run = {BENCH_A, is_recorded,
			bench->arguments.value || bench->arguments.rate ? entry->value
									: (double)entry->wall_ns,
			*entry};
		xpush(&bench->runs, run);
	}
	array_fini(&runs.list);
	history_store_close(store);
}

static int run_bench(int argc, char **argv)
{
	struct bench bench = {.arguments = {.warm_up = 1,
				      .seed = 1,
				      .precision = -1,
				      .threshold = -1,
				      .by = SUMMARY_BY_BRICK}};

	options_parse(&command_bench, &bench.arguments, argc, argv);
	check(&bench.arguments);
	find_commands(&bench, argv + optind, argc - optind);
	prepare(&bench);
	load_baseline(&bench);
	bench_journal_open(&bench);
	enum stop_reason reason = bench_measure(&bench);
	int code = bench_answer(&bench, reason);
	bench_journal_close(&bench, !bench.all_kept || reason == STOP_INTERRUPTED);
	clean_up(&bench);
	return code;
}

const struct cli_command command_bench = {
	.name = "bench",
	.summary = "run one program, or two in turns, and say which is faster",
	.run = run_bench,
	.flags = CLI_RUNS,
	.usage = "[OPTIONS] -- CMD...\n[OPTIONS] -- CMD_A... --- CMD_B...",
	.about = "Run programs in fresh processes, in turns and in random order, plain and "
		 "recorded, until the answer is precise enough: which is faster, by which brick, "
		 "and is that noise? Exit code 1 when B is slower, 125 when a program failed: fit "
		 "for 'git bisect run'. Ctrl-C ends it with what is there.",
	.options = option_table,
};
