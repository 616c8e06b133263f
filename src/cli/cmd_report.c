/* SPDX-License-Identifier: Apache-2.0 */
/* `brick report`: options, the numbers, and the choice of the form. */
#include <stdbool.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/selection_options.h"
#include "cli/suggest.h"
#include "ui/page/page_json.h"
#include "ui/text/functions_view.h"
#include "ui/text/json_out.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"
#include "ui/text/report_json.h"
#include "ui/text/report_text.h"

struct options {
	enum summary_by by; /* SUMMARY_BY_COUNT stands for functions */
	const struct report_field *sort;
	struct report_columns columns;
	struct selection selection; /* all of it except the phase */
	unsigned long top;	    /* the most rows; 0: all */
	int phase;
	bool json, csv, trust, whole;
	const char *html; /* where to write the page */
	const char *budget;
};

static void cmd_report_words_by(struct option_words *words)
{
	for (int i = 0; i < SUMMARY_BY_COUNT; i++)
		words_add(words, summary_by_name(i));
	words_add(words, "function"); /* beside the bricks, so no way to sum them up */
}

static void words_fields(struct option_words *words)
{
	for (size_t i = 0; i < report_field_count; i++) {
		SCOPED char *name = report_field_written(&report_fields[i]);
		words_add(words, name);
	}
}

static void cmd_report_set_by(const struct option_use *use, const char *text)
{
	*(enum summary_by *)use->to = option_choice(use, text);
}

/* Ends the program: a name is no column. Suggests a similar column, or lists all. */
static void die_column(const char *option, const char *name)
{
	SCOPED_BY(words_fini) struct option_words words = {0};
	words_fields(&words);
	const char *near = suggest(name, (const char *const *)words.list.items, words.list.count);
	if (near)
		die_usage(
			"report", "%s %s: no such column; did you mean '%s'?", option, name, near);
	SCOPED char *names = report_field_names();
	warn("%s %s: no such column; it must be one of", option, name);
	text_wrap(stderr, 80, 2, "", names);
	exit(CLI_USAGE);
}

static void set_sort(const struct option_use *use, const char *text)
{
	const struct report_field *field = report_field_find(text);
	if (!field)
		die_column("--sort", text);
	*(const struct report_field **)use->to = field;
}

static void set_columns(const struct option_use *use, const char *text)
{
	char *wrong;
	if (report_columns_parse(use->to, text, &wrong) < 0)
		die_column("--columns", wrong);
}

static const struct cli_option cmd_report_option_table[] = {
	{"by", "WHAT",
		"rows by brick (default), category, layer, phase, step, model or thread; or, of "
		"devices, by kernel or queue; or by function, of stacks that were sampled",
		cmd_report_set_by, AT(by), .words = cmd_report_words_by},
	{"phase", "WHAT",
		"only what ran in steps of this phase: prefill, decode, mixed or warm-up; or all "
		"together (default: a table for each phase)",
		option_phase_or_all, AT(phase), .words = words_phases_or_all},
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"sort", "COL", "order by any column (default: share), largest first", set_sort, AT(sort),
		.words = words_fields},
	{"columns", "LIST",
		"show these columns, for example self,/token,GB/s; man brick-report lists them all",
		set_columns, AT(columns), .words = words_fields},
	{"trust", NULL,
		"how far to trust it: coverage, distortion, losses, CPUs, and where it comes from",
		option_flag, AT(trust)},
	{"verbose", NULL, "all rows and columns, categories and notes", option_flag, AT(whole),
		.letter = 'v'},
	{"top", "N", "show the first N rows only", option_number, AT(top), .low = 1,
		.high = UINT32_MAX},
	{"json", NULL, "all of it as JSON (schema brick/report/2)", option_flag, AT(json)},
	{"csv", NULL, "the rows as CSV", option_flag, AT(csv)},
	{"budget", "FILE", "also check the limits in this file; exit code 1 when one is exceeded",
		option_text, AT(budget)},
	{"html", "OUT", "all of it, with charts, as a page for a browser: one file", option_text,
		AT(html)},
	OPTION_HELP,
};

static void cmd_report_check(const struct options *options)
{
	if (options->json + options->csv + options->trust + options->whole > 1)
		die_usage("report",
			"--json, --csv, --trust and --verbose: one form at a time, please");
	if (options->budget && (options->csv || options->html))
		die_usage("report", "--budget goes with the text and with --json only");
	if (options->html) {
		/* the page holds all rows, and lets its reader choose */
		if (options->json || options->csv)
			die_usage("report",
				"--html with --json or --csv: one form at a time, please");
		if (options->by != SUMMARY_BY_BRICK || options->phase != REPORT_PHASES_APART ||
			options->sort || options->top)
			die_usage("report",
				"--html: the page has all rows, to be sorted and chosen "
				"there; leave out --by, --phase, --sort and --top");
		if (!page_available())
			die(CLI_SYSTEM, "--html: %s", page_missing());
	}
	/* functions have a table of their own */
	if (options->by == SUMMARY_BY_COUNT &&
		(options->sort || options->columns.count || options->trust || options->whole ||
			options->budget))
		die_usage("report", "--by function has its own columns; leave out --sort, "
				    "--columns, --trust, --verbose and --budget");
}

static void arrange(struct report *report, const struct options *options)
{
	report->columns = options->columns.count ? &options->columns : NULL;
	report->is_sorted = options->sort != NULL;
	if (options->sort)
		report_sort_rows(report, options->sort);
	if (options->top && options->top < report->shown)
		report->shown = options->top;
}

/* True if functions were asked for, or if the recording has nothing but stacks. */
static bool is_by_function(const struct options *options, const struct run *run)
{
	bool is_plain = options->by == SUMMARY_BY_BRICK && !options->json && !options->csv &&
			!options->trust && !options->whole && !options->budget;
	return options->by == SUMMARY_BY_COUNT ||
	       (is_plain && run->stack_count && !run->brick_count);
}

static void print_functions(struct run *run, const struct options *options)
{
	SCOPED_BY(functions_fini) struct functions functions = {0};
	if (!run->stack_count) {
		SCOPED char *why = functions_missing(run);
		die(CLI_INPUT, "%s: %s", run->path, why);
	}
	if (functions_measure(&functions, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
	size_t shown =
		options->top && options->top < functions.count ? options->top : functions.count;
	const struct functions_view view = {&functions, shown};
	if (options->json) {
		json_print(functions_to_json(&view), stdout);
	} else if (options->csv) {
		functions_csv(&view, stdout);
	} else {
		input_tell_unfinished(run);
		functions_text(&view, stdout);
	}
}

static int run_report(int argc, char **argv)
{
	struct options options = {
		.by = SUMMARY_BY_BRICK, .phase = REPORT_PHASES_APART, .selection = SELECTION_INIT};
	options_parse(&command_report, &options, argc, argv);
	cmd_report_check(&options);
	const char *operand = input_operand(argc, argv);
	SCOPED char *kept = is_history_reference(operand) ? history_runs_recording(operand) : NULL;
	SCOPED_TO(run_destroy) struct run *run = input_load(kept ? kept : operand);
	if (options.by == SUMMARY_BY_COUNT && options.phase >= 0)
		options.selection.phase = options.phase;
	selection_narrow(&options.selection, run);
	if (is_by_function(&options, run) && !options.html) {
		print_functions(run, &options);
		return CLI_DONE;
	}
	if (options.html) {
		output_page(run, options.html);
		return CLI_DONE;
	}
	SCOPED_BY(report_apart_fini) struct report_apart apart = {0};
	struct report_budget budget = {0};
	if (options.budget)
		input_budget(&budget, options.budget);
	if (report_apart_measure(&apart, run, options.by, options.phase) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
	if (options.phase >= 0 && !apart.all.summary->wall_ns)
		die(CLI_INPUT, "%s: has no %s step that ended", run->path,
			step_phase_name(options.phase));
	arrange(&apart.all, &options);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (apart.all.apart[phase])
			arrange(&apart.phases[phase], &options);
	if (options.budget) {
		input_budget_judge(&budget, run);
		apart.all.budget = &budget;
	}
	const struct report *report = &apart.all;
	if (options.json) {
		json_print(report_to_json(report), stdout);
	} else if (options.csv) {
		report_csv(report, stdout);
		input_tell_losses(report->run, &report->losses); /* CSV has no row for them */
	} else if (options.trust) {
		report_whole_trust_text(report, stdout);
	} else if (options.whole) {
		report_whole_text(report, stdout);
	} else {
		input_tell_unfinished(report->run);
		report_text(report, stdout);
	}
	if (options.budget && !options.json)
		report_budget_text(report->budget, stdout);
	int code = budget.failed ? CLI_GATE : CLI_DONE;
	report_budget_close(&budget);
	return code;
}

const struct cli_command command_report = {
	.name = "report",
	.summary = "say where the time of a recording went",
	.run = run_report,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about =
		"Say where the time of a recording went: steps, bricks, categories, and what is in "
		"none of them; what recording cost, and what was lost.",
	.options = cmd_report_option_table,
};
