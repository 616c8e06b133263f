/* SPDX-License-Identifier: Apache-2.0 */
/* `brick graph`: the execution graph of a step or a recording, in a format of the library's. */
#include <errno.h>
#include <stdio.h>

#include "analysis/path/graph_from_run.h"
#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/graph_file.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/selection_options.h"

enum { MANY_NODES = 5000 }; /* Graphviz takes minutes for more */

/* The library's tree format is for programs; `brick tree` is for people. */
static const char *const cmd_graph_formats[] = {
	[BRICK_GRAPH_DOT] = "dot",
	[BRICK_GRAPH_JSON] = "json",
	[BRICK_GRAPH_CSR] = "csr",
	[BRICK_GRAPH_FOLDED] = "folded",
};

enum { FORMATS = sizeof(cmd_graph_formats) / sizeof(cmd_graph_formats[0]) };

struct options {
	int format;
	const char *step, *output;
};

static void cmd_graph_words_format(struct option_words *words)
{
	words_add_all(words, cmd_graph_formats, FORMATS);
}

static const struct cli_option cmd_graph_option_table[] = {
	{"format", "FORMAT",
		"dot for Graphviz (default), json: nodes and edges (schema brick/graph/1), csr: "
		"compressed sparse rows as JSON arrays (schema brick/graph-csr/1), or folded: "
		"stacks with their own times in ns, for flame graphs",
		option_index, AT(format), .words = cmd_graph_words_format},
	{"step", "WHICH",
		"only one step: a phase, for its step that took the median time; slowest; or "
		"a number, counted from 1 in the order in which they began",
		option_text, AT(step), .words = words_step},
	{"output", "OUT", "write to this file (default: standard output)", option_text, AT(output),
		.letter = 'o'},
	OPTION_HELP,
};

static int cmd_graph_write_stream(void *context, const char *data, size_t bytes)
{
	errno = 0;
	if (fwrite(data, 1, bytes, context) == bytes)
		return 0;
	return errno ? -errno : -EIO;
}

static void write(struct brick_graph *graph, const char *path, const struct options *options)
{
	struct output *output = output_open(options->output, path);

	output_commit(output, brick_graph_write(graph, options->format, cmd_graph_write_stream,
				      output_stream(output)));
}

static int run_graph(int argc, char **argv)
{
	struct options options = {.format = BRICK_GRAPH_DOT};

	options_parse(&command_graph, &options, argc, argv);
	const char *operand = input_operand(argc, argv);
	if (graph_file_is(operand)) {
		if (options.step)
			die_usage("graph", "--step: %s is a graph, and has no steps to choose from",
				operand);
		struct brick_graph *graph = graph_file_load(operand);
		write(graph, operand, &options);
		brick_graph_destroy(graph);
		return CLI_DONE;
	}
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(operand);
	SCOPED_BY(step_index_fini) struct step_index index;
	struct brick_graph *graph;
	if (step_index_init(&index, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	uint32_t step = RUN_NONE;
	if (options.step)
		step = selection_step(run, &index, "graph", options.step);
	int rc = graph_from_run(&graph, run, &index, step);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: no bricks were recorded", run->path);
	if (rc == BRICK_ERANGE)
		die(CLI_INPUT, "%s: more than %d samples; choose a step with --step", run->path,
			GRAPH_FROM_RUN_SAMPLES);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for the graph", run->path);
	if (options.format == BRICK_GRAPH_DOT && brick_graph_node_count(graph) > MANY_NODES)
		warn("%zu nodes: dot will take long; --step decode writes one step",
			brick_graph_node_count(graph));
	write(graph, run->path, &options);
	brick_graph_destroy(graph);
	return CLI_DONE;
}

const struct cli_command command_graph = {
	.name = "graph",
	.summary = "write the execution graph",
	.run = run_graph,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Write what ran inside of what, and what had to wait for what. FILE may also be a "
		 "graph "
		 "that a program saved as JSON.",
	.notes = "A picture of one step: brick graph --step decode FILE | dot -Tsvg >step.svg",
	.options = cmd_graph_option_table,
};
