/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick selftest`: shows on this machine that the numbers are measured. Runs the protocols of
 * selftest_*.c one after the other and prints what each found. Exit code 1 when one failed.
 */
#include "cli/cmd_selftest.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "brick/brick.h"
#include "cli/command.h"
#include "cli/die.h"
#include "ui/text/json_out.h"
#include "cli/options.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

/* ---- what the protocols share ---- */

void selftest_say(struct selftest_result *r, enum selftest_state state, const char *format, ...)
{
	va_list arguments;

	r->state = state;
	va_start(arguments, format);
	vsnprintf(r->text, sizeof r->text, format, arguments);
	va_end(arguments);
}

void selftest_judge(struct selftest_result *r, double measured, double limit, const char *unit,
	const char *what)
{
	r->measured = measured;
	r->limit = limit;
	r->unit = unit;
	selftest_say(r, measured <= limit ? SELFTEST_PASSED : SELFTEST_FAILED,
		"%s: %.3g %s (at most %.4g)", what, measured, unit, limit);
}

double selftest_cost_ns(void (*function)(unsigned count), unsigned count, unsigned rounds)
{
	double best = INFINITY;

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t begin = monotonic_ns();
		function(count);
		best = fmin(best, (double)(monotonic_ns() - begin) / count);
	}
	return best;
}

/* ---- the command ---- */

static const struct {
	const struct selftest *tests;
	const size_t *count;
} groups[] = {
	{selftest_clock, &selftest_clock_count},
	{selftest_probe, &selftest_probe_count},
	{selftest_engine, &selftest_engine_count},
};

static const char *const state_names[] = {"passed", "failed", "unknown"};

struct report {
	struct terminal terminal;
	json_t *rows; /* NULL: text */
	unsigned counts[3];
};

static void show(
	struct report *report, const struct selftest *test, const struct selftest_result *r)
{
	static const enum terminal_style styles[] = {STYLE_GOOD, STYLE_BAD, STYLE_WARN};
	size_t width = report->terminal.width ? report->terminal.width : 100;

	report->counts[r->state]++;
	if (report->rows) {
		json_t *row = json_object();
		json_put(row, "protocol", json_text(test->id));
		json_put(row, "claim", json_text(test->title));
		json_put(row, "state", json_text(state_names[r->state]));
		json_put_rates(row, r, measured, limit);
		json_put(row, "unit", json_text(r->unit));
		json_put(row, "found", json_text(r->text));
		json_add(report->rows, row);
		return;
	}
	terminal_print(&report->terminal, styles[r->state], state_names[r->state]);
	printf("%*s %-6s ", 7 - (int)strlen(state_names[r->state]), "", test->id);
	text_flow(stdout, width, 15, 15, test->title);
	printf("%15s", "");
	text_flow(stdout, width, 15, 15, r->text);
	fflush(stdout);
}

static int is_chosen(const struct selftest *test, int argc, char **argv)
{
	int any = optind < argc;

	for (int i = optind; i < argc; i++)
		if (!strcmp(argv[i], test->id))
			return 1;
	return !any;
}

static void check_names(int argc, char **argv)
{
	for (int i = optind; i < argc; i++) {
		int known = 0;
		for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
			for (size_t k = 0; k < *groups[g].count; k++)
				known |= !strcmp(groups[g].tests[k].id, argv[i]);
		if (!known)
			die_usage("selftest", "%s: no such protocol", argv[i]);
	}
}

static void run_all(struct report *report, int argc, char **argv)
{
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
		for (size_t k = 0; k < *groups[g].count; k++) {
			const struct selftest *test = &groups[g].tests[k];
			struct selftest_result r = {
				SELFTEST_UNKNOWN, NAN, NAN, NULL, "it said nothing"};
			if (!is_chosen(test, argc, argv))
				continue;
			test->run(&r);
			show(report, test, &r);
		}
}

struct options {
	bool json;
};

static const struct cli_option option_table[] = {
	{"json", NULL, "as JSON (schema brick/selftest/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static int run_selftest(int argc, char **argv)
{
	struct options options = {0};
	struct report report = {.rows = NULL};
	json_t *root = NULL;

	options_parse(&command_selftest, &options, argc, argv);
	if (options.json) {
		root = json_object();
		report.rows = json_array();
	}
	check_names(argc, argv);
	if (getenv("BRICK_SESSION_DIR"))
		die(CLI_SYSTEM, "selftest: is being recorded itself: run it without brick record");
	terminal_init(&report.terminal, stdout);
	run_all(&report, argc, argv);
	if (root) {
		json_put(root, "schema", json_text("brick/selftest/1"));
		json_put(root, "clock",
			json_text(brick_clock_source_name(brick_clock_get()->source)));
		json_put(root, "passed", json_number(report.counts[SELFTEST_PASSED]));
		json_put(root, "failed", json_number(report.counts[SELFTEST_FAILED]));
		json_put(root, "unknown", json_number(report.counts[SELFTEST_UNKNOWN]));
		json_put(root, "protocols", report.rows);
		json_print(root, stdout);
	} else {
		printf("\n%u passed, %u failed, %u could not be found out\n", report.counts[0],
			report.counts[1], report.counts[2]);
	}
	return report.counts[SELFTEST_FAILED] ? CLI_GATE : CLI_DONE;
}

static void words_protocols(struct option_words *words)
{
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
		for (size_t k = 0; k < *groups[g].count; k++)
			words_add(words, groups[g].tests[k].id);
}

const struct cli_command command_selftest = {
	.name = "selftest",
	.summary = "show on this machine that the numbers are measured",
	.run = run_selftest,
	.flags = CLI_ANSWERS,
	.usage = "[OPTIONS] [PROTOCOL...]",
	.about = "Show on this machine that the numbers are measured: clocks, what a brick "
		 "costs, that nothing is lost silently, that sums add up; and slow one brick "
		 "of a running engine by a known amount, to see exactly that brick, and no "
		 "other, change by that amount. PROTOCOL is a number such as F109, or 'moves'; "
		 "default: all. Exit code 1 when one fails.",
	.options = option_table,
	.operands = words_protocols,
};
