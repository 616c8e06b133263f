/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick path`: options, numbers, and the choice of the form. ui/text/path_view.c writes the forms.
 */
#include "ui/text/path_view.h"

#include <stdbool.h>
#include <stdint.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/graph_file.h"
#include "cli/input.h"
#include "cli/selection_options.h"
#include "ui/text/json_out.h"

struct options {
	struct selection selection;
	const char *step;
	unsigned long top;
	bool all, json;
};

static const struct cli_option cmd_path_option_table[] = {
	{"step", "WHICH",
		"only one step, with the longest parts of its path: a phase, for its step that "
		"took the median time; slowest; or a number, counted from 1",
		option_text, AT(step), .words = words_step},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"top", "N", "show the N best opportunities only", option_number, AT(top), .low = 1,
		.high = UINT32_MAX},
	{"all", NULL, "show all bricks, also those below 0.5 % of the path", option_flag, AT(all)},
	{"json", NULL, "all of it as JSON (schema brick/path/1)", option_flag, AT(json)},
	OPTION_HELP,
};

/* Returns RUN_NONE for all steps. */
static uint32_t cmd_path_choose_step(
	const struct options *options, const struct run *run, const struct step_index *index)
{
	if (options->step)
		return selection_step(run, index, "path", options->step);
	bool one = index->count == 1 &&
		   (options->selection.step_ranges || options->selection.speed == SELECT_SLOWEST);
	return one ? index->by_lane[0] : RUN_NONE;
}

static int run_path(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	struct path *path;

	options_parse(&command_path, &options, argc, argv);
	if (options.top && options.all)
		die_usage("path", "--top and --all: one of them, please");
	const char *operand = input_operand(argc, argv);
	if (graph_file_is(operand)) {
		if (options.json || options.step)
			die_usage("path", "%s is a graph: it goes without --json and --step",
				operand);
		struct brick_graph *graph = graph_file_load(operand);
		graph_file_path(graph, operand, stdout);
		brick_graph_destroy(graph);
		return CLI_DONE;
	}
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(operand);
	SCOPED_BY(step_index_fini) struct step_index index;
	selection_narrow(&options.selection, run);
	if (step_index_init(&index, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	uint32_t step = cmd_path_choose_step(&options, run, &index);
	int rc = path_create(&path, run, &index, step);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: %s", run->path,
			run->step_count ? "has no steps that ended" : "no bricks were recorded");
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its path", run->path);
	const struct path_view view = {run, path, &index, options.top, options.all};
	if (options.json)
		json_print(path_to_json(&view), stdout);
	else
		path_text(&view, stdout);
	path_destroy(path);
	return CLI_DONE;
}

const struct cli_command command_path = {
	.name = "path",
	.summary = "say what decided the time, and what a faster brick would buy",
	.run = run_path,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Find the chain of bricks that decided how long the steps took, and predict how "
		 "fast the program would be if a brick took 10 % less time, or none. FILE may also "
		 "be a graph that a program saved as JSON.",
	.options = cmd_path_option_table,
};
