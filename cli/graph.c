/* SPDX-License-Identifier: Apache-2.0 */
/* `brick graph`: the execution graph of a step or a recording, in a format of the library's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/graph_from_run.h"
#include "brick/error.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/input.h"
#include "cli/options.h"
#include "view/output.h"
#include "view/step_choice.h"
#include "view/suggest.h"

static const char help[] =
	"Usage: brick graph [OPTIONS] FILE\n"
	"\n"
	"Write what ran inside of what, and what had to wait for what.\n"
	"\n"
	"  --format dot      for Graphviz (default): brick graph --step decode FILE | dot -Tsvg\n"
	"  --format json     nodes and edges (schema brick/graph/1)\n"
	"  --format csr      compressed sparse rows, as JSON arrays (schema brick/graph-csr/1)\n"
	"  --format folded   stacks with their own times in ns, for flame graphs\n"
	"  --step WHICH      of one step only: decode or prefill, the one that took the median\n"
	"                    time; or a number, counted from 1 in the order of their begins\n"
	"  -o, --output OUT  write to this file (default: standard output)\n"
	"  -h, --help        show this and exit\n";

enum { MANY_NODES = 5000 }; /* Graphviz takes minutes for more */

/* The library's tree is for programs; people have `brick tree`. */
static const char *const formats[] = {
	[BRICK_GRAPH_DOT] = "dot",
	[BRICK_GRAPH_JSON] = "json",
	[BRICK_GRAPH_CSR] = "csr",
	[BRICK_GRAPH_FOLDED] = "folded",
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct options {
	int format;
	const char *step, *output;
};

static int parse_format(const char *text)
{
	for (int i = 0; i < FORMATS; i++)
		if (!strcmp(text, formats[i]))
			return i;
	const char *near = suggest(text, formats, FORMATS);
	if (near)
		die_usage("graph", "--format %s: unknown; did you mean '%s'?", text, near);
	die_usage("graph", "--format %s: must be dot, json, csr or folded", text);
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"format", required_argument, NULL, 'f'},
		{"step", required_argument, NULL, 's'},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = options_next(argc, argv, "o:", longs, help)) != -1) {
		switch (c) {
		case 'f':
			options->format = parse_format(optarg);
			break;
		case 's':
			options->step = optarg;
			break;
		case 'o':
			options->output = optarg;
			break;
		}
	}
}

static int write_stream(void *context, const char *data, size_t bytes)
{
	errno = 0;
	if (fwrite(data, 1, bytes, context) == bytes)
		return 0;
	return errno ? -errno : -EIO;
}

static struct brick_graph *make(const struct run *run, const struct options *options)
{
	struct step_index index;
	struct brick_graph *graph;

	if (step_index_init(&index, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	uint32_t step = RUN_NONE;
	if (options->step)
		step = step_choose(run, &index, "graph", options->step);
	int rc = graph_from_run(&graph, run, &index, step);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: no bricks were recorded", run->path);
	if (rc == BRICK_ERANGE)
		die(CLI_INPUT, "%s: more than %d samples; choose a step with --step", run->path,
			GRAPH_FROM_RUN_SAMPLES);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for the graph", run->path);
	step_index_fini(&index);
	return graph;
}

static void write(struct brick_graph *graph, const struct run *run, const struct options *options)
{
	struct output *output = output_open(options->output, run->path);

	output_commit(output,
		brick_graph_write(graph, options->format, write_stream, output_stream(output)));
}

static int run_graph(int argc, char **argv)
{
	struct options options = {.format = BRICK_GRAPH_DOT};

	parse(&options, argc, argv);
	struct run *run = input_load_telling(input_operand(argc, argv));
	struct brick_graph *graph = make(run, &options);
	if (options.format == BRICK_GRAPH_DOT && brick_graph_node_count(graph) > MANY_NODES)
		warn("%zu nodes: dot will take long; --step decode writes one step",
			brick_graph_node_count(graph));
	write(graph, run, &options);
	brick_graph_destroy(graph);
	run_destroy(run);
	return CLI_DONE;
}

const struct cli_command command_graph = {
	.name = "graph",
	.summary = "write the execution graph",
	.run = run_graph,
	.flags = CLI_ANSWERS,
};
