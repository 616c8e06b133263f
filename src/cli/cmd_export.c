/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick export`: a recording in other people's formats, to stdout or to a file that is there only
 * when it is whole. The formats are trace/'s, but for the plain dump of export_json.c.
 */
#include "cli/cmd_export.h"

#include <stdbool.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/die.h"
#include "ui/text/flame.h"
#include "cli/input.h"
#include "cli/selection_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "trace/chrome.h"
#include "trace/trace_csv.h"

struct format {
	const char *name;
	int (*write)(const struct run *run, FILE *out);
};

static int export_pprof(const struct run *run, FILE *out)
{
	struct step_index index;
	struct call_tree *stacks = NULL;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	rc = stacks_create(&stacks, run, &index, false);
	step_index_fini(&index);
	if (rc == 0)
		rc = flame_pprof(stacks, out);
	call_tree_destroy(stacks);
	return rc;
}

static const struct format formats[] = {
	{"chrome", trace_chrome_write},
	{"csv", trace_csv_write},
	{"json", export_json},
	{"pprof", export_pprof},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct options {
	struct selection selection;
	const struct format *format;
	const char *output;
};

static void words_format(struct option_words *words)
{
	for (size_t i = 0; i < FORMATS; i++)
		words_add(words, formats[i].name);
}

static void set_format(const struct option_use *use, const char *text)
{
	*(const struct format **)use->to = &formats[option_choice(use, text)];
}

static const struct cli_option option_table[] = {
	{"format", "FORMAT",
		"chrome: trace events for chrome://tracing, Perfetto and Speedscope; csv: one line "
		"per sample; json: all that was recorded, for scripts (schema brick/export/1); "
		"pprof: what ran in what, for 'pprof -http'",
		set_format, AT(format), .words = words_format},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"output", "OUT", "write to this file (default: standard output)", option_text, AT(output),
		.letter = 'o'},
	OPTION_HELP,
};

static uint64_t passed_before;

static uint64_t written(void)
{
	return run_samples_passed() - passed_before;
}

/* Each form goes through all samples once. Nothing is said in the middle of what a terminal shows.
 */
static struct progress *start_progress(const struct run *run, const struct options *options)
{
	uint64_t total = 0;
	for (size_t i = 0; i < run->lane_count; i++)
		total += run->lanes[i].sample_count;
	passed_before = run_samples_passed();
	return options->output || !isatty(1) ? progress_start("export", written, total) : NULL;
}

static int run_export(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	options_parse(&command_export, &options, argc, argv);
	if (!options.format)
		die_usage("export", "--format: must be chrome, csv, json or pprof");
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	if (selection_drop(run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to choose a part of it", run->path);
	struct output *output = output_open(options.output, run->path);
	struct progress *progress = start_progress(run, &options);
	int rc = options.format->write(run, output_stream(output));
	progress_end(progress);
	output_commit(output, rc);
	return CLI_DONE;
}

const struct cli_command command_export = {
	.name = "export",
	.summary = "convert a recording for other tools",
	.run = run_export,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "--format FORMAT [OPTIONS] [FILE]",
	.about = "Convert a recording.",
	.notes = "The recording itself is a Perfetto trace: https://ui.perfetto.dev opens it as it "
		 "is.",
	.options = option_table,
};
