/* SPDX-License-Identifier: Apache-2.0 */
/* `brick report`: options, the numbers, and the choice of the form. */
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/ranks/rank_clocks.h"
#include "analysis/ranks/rank_path.h"
#include "analysis/ranks/remote_clocks.h"
#include "analysis/walk/step_index.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "cli/input.h"
#include "cli/job_files.h"
#include "cli/output.h"
#include "cli/selection_options.h"
#include "cli/suggest.h"
#include "ui/page/page_json.h"
#include "ui/text/fault_view.h"
#include "ui/text/functions_view.h"
#include "ui/text/gpus_view.h"
#include "ui/text/json_out.h"
#include "ui/text/memory_view.h"
#include "ui/text/ranks_view.h"
#include "ui/text/remote_view.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"
#include "ui/text/report_json.h"
#include "ui/text/report_text.h"

/* Rows beside the bricks, so no way to sum them up: tables of their own. */
enum { BY_FUNCTION = SUMMARY_BY_COUNT, BY_MEMORY, BY_DEVICE, BY_FAULTS };

enum { RANKS_SHOWN = 32 }; /* of a job */

struct options {
	unsigned by; /* enum summary_by, or one of the above */
	const struct report_field *sort;
	struct report_columns columns;
	struct selection selection; /* all of it except the phase */
	unsigned long top;	    /* the most rows; 0: all */
	int phase;
	bool json, csv, trust, whole, totals;
	const char *html; /* where to write the page */
	const char *budget;
};

static void cmd_report_words_by(struct option_words *words)
{
	for (int i = 0; i < SUMMARY_BY_COUNT; i++)
		words_add(words, summary_by_name(i));
	words_add(words, "function");
	words_add(words, "memory");
	words_add(words, "device");
	words_add(words, "faults");
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
	*(unsigned *)use->to = option_choice(use, text);
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
		"devices, by kernel or queue; or by function, of stacks that were sampled; or "
		"memory that allocators gave; or device, what each GPU did and why it was idle; or "
		"page faults",
		cmd_report_set_by, AT(by), .words = cmd_report_words_by},
	{"phase", "WHAT",
		"only what ran in steps of this phase: prefill, decode, mixed, warm-up or other; "
		"or all "
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
	{"totals", NULL,
		"statistics since recording began, of a recording that 'record --always' made",
		option_flag, AT(totals)},
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
	if (options->by >= SUMMARY_BY_COUNT &&
		(options->sort || options->columns.count || options->trust || options->whole ||
			options->budget))
		die_usage("report",
			"--by %s has its own columns; leave out --sort, --columns, --trust, "
			"--verbose and --budget",
			options->by == BY_DEVICE   ? "device"
			: options->by == BY_MEMORY ? "memory"
			: options->by == BY_FAULTS ? "faults"
						   : "function");
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
	return options->by == BY_FUNCTION || (is_plain && run->stack_count && !run->brick_count);
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

static void print_memory(const struct run *run, const struct options *options)
{
	SCOPED_BY(memory_rows_fini) struct memory_rows rows = {0};
	enum { SHOWN = 20 };

	if (memory_rows_measure(&rows, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
	if (!rows.list.count)
		die(CLI_INPUT,
			"%s: no memory was recorded; Brick sees PyTorch's allocators, ggml's "
			"buffers and the memory of ggml's processes, at the end of each step",
			run->path);
	const struct memory_view view = {&rows, run, options->top ? options->top : SHOWN};
	if (options->json) {
		json_print(memory_to_json(&view), stdout);
	} else if (options->csv) {
		memory_csv(&view, stdout);
	} else {
		input_tell_unfinished(run);
		memory_text(&view, stdout);
	}
}

static void print_faults(const struct run *run, const struct options *options)
{
	SCOPED_BY(fault_rows_fini) struct fault_rows rows = {0};
	enum { SHOWN = 20 };

	if (!run->fault_account.is_known) {
		SCOPED char *why = fault_lack(run);
		die(CLI_INPUT, "%s: %s", run->path, why);
	}
	if (fault_rows_measure(&rows, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
	const struct fault_view view = {&rows, run, options->top ? options->top : SHOWN};
	if (options->json) {
		json_print(fault_to_json(&view), stdout);
	} else if (options->csv) {
		fault_csv(&view, stdout);
	} else {
		input_tell_unfinished(run);
		fault_text(&view, stdout);
	}
}

static void print_devices(const struct run *run, const struct options *options)
{
	SCOPED_BY(step_index_fini) struct step_index index = {0};
	SCOPED_BY(gpu_times_fini) struct gpu_times times = {0};

	if (step_index_init(&index, run) < 0 || gpu_times_init(&times, run, &index, -1) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
	if (!times.spans.count)
		die(CLI_INPUT, "%s: no command of a GPU was recorded", run->path);
	if (options->json) {
		json_t *root = json_object();
		json_put(root, "schema", json_text("brick/gpus/1"));
		json_put(root, "gpus", gpus_to_json(&times, run));
		json_print(root, stdout);
	} else if (options->csv) {
		gpus_csv(&times, run, stdout);
	} else {
		input_tell_unfinished(run);
		gpus_text(&times, run, stdout);
	}
}

static void cmd_report_check_options_of_job(const struct options *options)
{
	if (options->by != SUMMARY_BY_BRICK || options->phase != REPORT_PHASES_APART ||
		selection_is_any(&options->selection) || options->sort || options->columns.count ||
		options->trust || options->whole || options->totals || options->budget)
		die_usage("report",
			"several recordings are the ranks of one job, for which there are --json, "
			"--csv, --html and --top; all other options want one recording");
}

/* Ends the program unless the recordings are of one job, each rank in one of them. */
static void cmd_report_check_job(const struct rank_job *job, const struct job_files *files)
{
	char *const *paths = files->paths.items;

	if (!job->count)
		die(CLI_INPUT,
			"%s and %zu more: no process of theirs is one of several ranks, so they "
			"are no job; give one recording at a time",
			paths[0], files->paths.count - 1);
	for (uint32_t i = 1; i < job->count; i++) {
		const struct rank_row *row = &job->rows[i], *before = row - 1;
		if (row->rank == before->rank)
			die(CLI_INPUT, "%s: is of rank %d, as %s is", paths[row->source],
				(int)row->rank, paths[before->source]);
		if (row->world != before->world)
			die(CLI_INPUT, "%s: is of a job of %d ranks, but %s of one of %d",
				paths[row->source], (int)row->world, paths[before->source],
				(int)before->world);
	}
}

static bool cmd_report_is_remote(const struct run *run)
{
	for (size_t i = 0; i < run->message_count; i++)
		if (run_message_is_remote(&run->messages[i]))
			return true;
	return false;
}

struct remote_runs {
	ARRAY(struct remote_source) list;
};

static void remote_runs_fini(struct remote_runs *runs)
{
	for (size_t i = 0; i < runs->list.count; i++)
		run_destroy((struct run *)runs->list.items[i].run);
	array_fini(&runs->list);
}

/* Recordings of no ranks, but of clients and servers, which are few: all are in memory. */
static int print_remote(const struct job_files *files, const struct options *options)
{
	SCOPED_BY(remote_runs_fini) struct remote_runs runs = {0};
	SCOPED_BY(remote_calls_fini) struct remote_calls calls = {0};
	char *const *paths = files->paths.items;
	uint32_t count = (uint32_t)files->paths.count;

	input_batch_begin(paths, count);
	for (uint32_t i = 0; i < count; i++) {
		struct run *run = input_load_telling(paths[i]);
		if (array_push(&runs.list, (struct remote_source){.run = run}))
			die(CLI_SYSTEM, "%s: not enough memory", paths[i]);
	}
	input_batch_end();
	if (remote_clocks_align(runs.list.items, count) ||
		remote_calls_init_of(&calls, runs.list.items, count))
		die(CLI_SYSTEM, "%s: not enough memory to hold its graphs against others'",
			paths[0]);
	const struct remote_view view = {&calls, runs.list.items, paths, count};
	if (options->json)
		json_print(remote_to_json(&view), stdout);
	else if (options->csv)
		remote_csv(&view, stdout);
	else
		remote_text(&view, stdout);
	return CLI_DONE;
}

/* A file of --slow is no recording of its rank: a path that is NULL goes. */
static void job_leave_out(struct job_files *files, const char *first, size_t skipped)
{
	size_t kept = 0;

	if (skipped)
		warn("files of --slow repeat seconds of their recordings; left out: %zu", skipped);
	if (skipped == files->paths.count)
		die(CLI_INPUT, "%s: no other recording is there", first);
	for (size_t i = 0; i < files->paths.count; i++)
		if (files->paths.items[i])
			files->paths.items[kept++] = files->paths.items[i];
	files->paths.count = kept;
}

/* Says what is wrong with a recording of a job; of very many, the first ones tell enough. */
static void job_tell(const struct run *run, bool has_ranks, size_t *told)
{
	enum { TOLD = 8 };
	bool is_damaged = !run->complete || run->bad_packets;

	if ((has_ranks && !is_damaged) || ++*told > TOLD)
		return;
	if (is_damaged)
		input_tell_all_losses(run);
	if (!has_ranks)
		warn("%s: no process of it is one of several ranks, so it is left out", run->path);
	if (*told == TOLD)
		warn("more recordings may be damaged or of no rank; no more are named");
}

/* All recordings, one after the other; twice, so that only one is in memory. */
static int print_job(struct job_files *files, const struct options *options)
{
	SCOPED_BY(rank_job_fini) struct rank_job job;
	char **paths = files->paths.items;
	SCOPED char *first = xasprintf("%s", paths[0]);
	struct ranks_view view = {&job, paths, options->top ? options->top : RANKS_SHOWN, 0, 0};
	size_t skipped = 0, told = 0;
	bool is_remote = false;
	int error = 0;

	rank_job_init(&job);
	for (int pass = 0; pass < 2 && !error; pass++) {
		input_batch_begin(paths, files->paths.count);
		for (uint32_t i = 0; i < files->paths.count && !error; i++) {
			SCOPED_TO(run_destroy) struct run *run = input_load(paths[i]);
			if (!pass && run_has_mark(run, MARK_EXEMPLAR)) {
				skipped++;
				free(paths[i]);
				paths[i] = NULL;
				continue;
			}
			if (pass) {
				error = rank_job_cut(&job, run, i);
				continue;
			}
			view.unfinished += !run->complete;
			view.dropped += losses_dropped(run);
			is_remote = is_remote || cmd_report_is_remote(run);
			uint32_t before = job.count;
			error = rank_job_add(&job, run);
			job_tell(run, job.count > before || cmd_report_is_remote(run), &told);
		}
		input_batch_end();
		if (!pass)
			job_leave_out(files, first, skipped);
		if (pass || error || (error = rank_job_match(&job)))
			break;
		if (!job.count && is_remote)
			return print_remote(files, options);
		cmd_report_check_job(&job, files);
		error = rank_clocks_align(&job);
		if (!error)
			error = rank_job_order(&job);
		if (!error)
			error = rank_path_find(&job);
	}
	if (error)
		die(CLI_SYSTEM, "%s: not enough memory to sum the job up", paths[0]);
	rank_job_finish(&job);
	if (options->html)
		output_ranks_page(&view, options->html);
	else if (options->json)
		json_print(ranks_to_json(&view), stdout);
	else if (options->csv)
		ranks_csv(&view, stdout);
	else
		ranks_text(&view, stdout);
	return CLI_DONE;
}

static int run_report(int argc, char **argv)
{
	struct options options = {
		.by = SUMMARY_BY_BRICK, .phase = REPORT_PHASES_APART, .selection = SELECTION_INIT};
	options_parse(&command_report, &options, argc, argv);
	cmd_report_check(&options);
	SCOPED_BY(job_files_fini) struct job_files files = {0};
	if (argc - optind > 1 || (optind < argc && job_files_is_several(argv[optind])))
		job_files_take(&files, argv + optind, (size_t)(argc - optind));
	if (files.paths.count > 1) {
		cmd_report_check_options_of_job(&options);
		return print_job(&files, &options);
	}
	const char *operand = files.paths.count ? files.paths.items[0] : input_operand(argc, argv);
	SCOPED char *kept = is_history_reference(operand) ? history_runs_recording(operand) : NULL;
	SCOPED_TO(run_destroy)
	struct run *run = (options.totals ? input_load_totals : input_load)(kept ? kept : operand);
	if (options.by >= SUMMARY_BY_COUNT && options.phase >= 0)
		options.selection.phase = options.phase;
	if (options.totals && (options.phase >= 0 || selection_is_any(&options.selection)))
		die_usage("report", "--totals: statistics do not know when and where it was");
	if (options.by == BY_FAULTS && (options.phase >= 0 || selection_is_any(&options.selection)))
		die_usage("report", "--by faults is of all phases; leave out what chooses a part");
	selection_narrow(&options.selection, run);
	if (is_by_function(&options, run) && !options.html) {
		print_functions(run, &options);
		return CLI_DONE;
	}
	if (options.by == BY_MEMORY) {
		print_memory(run, &options);
		return CLI_DONE;
	}
	if (options.by == BY_FAULTS) {
		print_faults(run, &options);
		return CLI_DONE;
	}
	if (options.by == BY_DEVICE) {
		print_devices(run, &options);
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
	if (report_apart_measure(&apart, run, (enum summary_by)options.by, options.phase) < 0)
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
	.usage = "[OPTIONS] [FILE]\n[OPTIONS] DIRECTORY|FILE...",
	.about =
		"Say where the time of a recording went: steps, bricks, categories, and what is in "
		"none of them; what recording cost, and what was lost. Several recordings, or a "
		"directory of them, are the ranks of one job: which rank made the others wait, and "
		"in which brick it was slower.",
	.options = cmd_report_option_table,
};
