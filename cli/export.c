/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick export`: a recording in other people's formats, to stdout or to a file that is there only
 * when it is whole. The formats are trace/'s, but for the plain dump of export_json.c.
 */
#include "cli/export.h"

#include <stdbool.h>

#include "cli/command.h"
#include "view/die.h"
#include "view/flame.h"
#include "view/input.h"
#include "cli/selection_options.h"
#include "view/output.h"
#include "trace/chrome.h"
#include "trace/csv.h"

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
		set_format, .at = offsetof(struct options, format), .words = words_format},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"output", "OUT", "write to this file (default: standard output)", option_text,
		.at = offsetof(struct options, output), .letter = 'o'},
	OPTION_HELP,
};

static int run_export(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	options_parse(&command_export, &options, argc, argv);
	if (!options.format)
		die_usage("export", "--format: must be chrome, csv, json or pprof");
	struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	if (selection_drop(run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to choose a part of it", run->path);
	struct output *output = output_open(options.output, run->path);
	output_commit(output, options.format->write(run, output_stream(output)));
	run_destroy(run);
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
