/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick report`: options, numbers, and the choice of the form. The forms themselves are in
 * report_text.c, report_json.c, report_csv.c and report_html.c.
 */
#include "view/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "view/die.h"
#include "view/input.h"
#include "view/memory.h"
#include "cli/options.h"
#include "html/page.h"
#include "view/report_sort.h"
#include "view/suggest.h"

static const char help[] =
	"Usage: brick report [OPTIONS] FILE\n"
	"\n"
	"Say where the time of a recording went: steps, bricks, categories, and what is in none "
	"of\n"
	"them; what recording cost, and what was lost.\n"
	"\n"
	"  --by WHAT     rows by brick (default), category, layer, phase or thread; or, of\n"
	"                devices, by kernel or queue\n"
	"  --phase WHAT  only what ran in steps of this phase: prefill or decode\n"
	"  --sort COL    order by any column (default: share), largest first\n"
	"  --columns LIST\n"
	"                show these columns, for example self,/token,GB/s; man brick-report\n"
	"                lists them all\n"
	"  --top N       show the first N rows only\n"
	"  --json        all of it as JSON (schema brick/report/1)\n"
	"  --csv         the rows as CSV\n"
	"  --budget F    also hold it against the limits in this file; exit code 1 when one is\n"
	"                not kept\n"
	"  --html OUT    all of it, with pictures, as a page for a browser: one file\n"
	"  -h, --help    show this and exit\n";

struct options {
	enum summary_by by;
	const struct report_field *sort;
	struct report_columns columns;
	unsigned long top; /* 0: all */
	int phase;
	bool json, csv;
	const char *html; /* where to write the page */
	const char *budget;
};

static enum summary_by parse_by(const char *text)
{
	const char *names[SUMMARY_BY_COUNT];
	for (int i = 0; i < SUMMARY_BY_COUNT; i++) {
		names[i] = summary_by_name(i);
		if (!strcmp(text, names[i]))
			return i;
	}
	const char *near = suggest(text, names, SUMMARY_BY_COUNT);
	if (near)
		die_usage("report", "--by %s: unknown; did you mean '%s'?", text, near);
	die_usage("report",
		"--by %s: must be brick, category, layer, phase, thread, kernel or queue", text);
}

static const struct report_field *parse_sort(const char *text)
{
	const struct report_field *field = report_field_find(text);
	if (!field)
		die_usage("report", "--sort %s: must be one of %s", text, report_field_names());
	return field;
}

static void parse_columns(struct report_columns *columns, const char *text)
{
	char *wrong;
	if (report_columns_parse(columns, text, &wrong) < 0)
		die_usage(
			"report", "--columns: '%s' must be one of %s", wrong, report_field_names());
}

/* The page holds all rows, and lets its reader choose. */
static void check_html(const struct options *options)
{
	if (options->json || options->csv)
		die_usage("report", "--html with --json or --csv: one form at a time, please");
	if (options->by != SUMMARY_BY_BRICK || options->phase != SUMMARY_ALL_PHASES ||
		options->sort || options->top)
		die_usage("report", "--html: the page has all rows, to be sorted and chosen there; "
				    "leave out --by, --phase, --sort and --top");
	if (!page_available())
		die(CLI_SYSTEM, "--html: %s", page_missing());
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"by", required_argument, NULL, 'b'},
		{"phase", required_argument, NULL, 'p'},
		{"sort", required_argument, NULL, 's'},
		{"columns", required_argument, NULL, 'C'},
		{"top", required_argument, NULL, 't'},
		{"json", no_argument, NULL, 'j'},
		{"csv", no_argument, NULL, 'c'},
		{"html", required_argument, NULL, 'o'},
		{"budget", required_argument, NULL, 'u'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	while ((c = options_next(argc, argv, "", longs, help)) != -1) {
		switch (c) {
		case 'b':
			options->by = parse_by(optarg);
			break;
		case 'p':
			options->phase = options_phase("report", optarg);
			break;
		case 's':
			options->sort = parse_sort(optarg);
			break;
		case 'C':
			parse_columns(&options->columns, optarg);
			break;
		case 't':
			options->top = options_number("report", "--top", optarg, 1, UINT32_MAX);
			break;
		case 'j':
			options->json = true;
			break;
		case 'c':
			options->csv = true;
			break;
		case 'o':
			options->html = optarg;
			break;
		case 'u':
			options->budget = optarg;
			break;
		}
	}
	if (options->json && options->csv)
		die_usage("report", "--json and --csv: one form at a time, please");
	if (options->budget && (options->csv || options->html))
		die_usage("report", "--budget goes with the text and with --json only");
	if (options->html)
		check_html(options);
}

static void compute(struct report *report, const struct options *options)
{
	report_measure(report, report->run, options->by, options->phase);
	report->columns = options->columns;
	struct summary *summary = report->summary;
	if (options->phase != SUMMARY_ALL_PHASES && !summary->wall_ns)
		die(CLI_INPUT, "%s: has no %s step that ended", report->run->path,
			report_phase_name(options->phase));
	if (options->sort)
		report_sort_rows(report, options->sort);
	if (options->top && options->top < report->shown)
		report->shown = options->top;
}

static int run_report(int argc, char **argv)
{
	struct options options = {.by = SUMMARY_BY_BRICK, .phase = SUMMARY_ALL_PHASES};
	parse(&options, argc, argv);
	struct run *run = input_load(input_operand(argc, argv));
	if (options.html) {
		report_html(run, options.html);
		run_destroy(run);
		return CLI_DONE;
	}
	struct report report = {.run = run};
	struct report_budget budget = {0};
	if (options.budget)
		report_budget_open(&budget, options.budget);
	compute(&report, &options);
	if (options.budget) {
		report_budget_judge(&budget, run);
		report.budget = &budget;
	}
	if (options.json)
		report_json(&report, stdout);
	else if (options.csv)
		report_csv(&report, stdout);
	else
		report_text(&report, stdout);
	if (options.budget && !options.json)
		report_budget_text(&budget, stdout);
	int code = budget.failed ? CLI_GATE : CLI_DONE;
	report_budget_close(&budget);
	summary_destroy(report.summary);
	run_destroy(run);
	return code;
}

const struct cli_command command_report = {
	.name = "report",
	.summary = "say where the time of a recording went",
	.run = run_report,
	.flags = CLI_ANSWERS,
};
