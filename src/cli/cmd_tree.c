/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick tree`: options, the choice of the step, and what both forms call things. A recording
 * without steps shows what each of its threads did instead.
 */
#include "ui/text/tree_view.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/die.h"
#include "cli/graph_file.h"
#include "cli/input.h"
#include "cli/selection_options.h"

struct options {
	struct selection selection;
	const char *step;
	unsigned long depth;
	bool nodes, json;
};

static const struct cli_option cmd_tree_option_table[] = {
	{"step", "WHICH",
		"decode (default) or another phase: its step that took the median time; slowest; "
		"or a number, counted from 1 in the order in which they began",
		option_text, AT(step), .words = words_step},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"nodes", NULL, "show each operation below its brick, with the tensor it made", option_flag,
		AT(nodes)},
	{"depth", "N", "show N levels below the step only", option_number, AT(depth), .low = 1,
		.high = 1000},
	{"json", NULL, "as JSON (schema brick/tree/2)", option_flag, AT(json)},
	OPTION_HELP,
};

/* RUN_NONE: the recording has no steps, and none was asked for. */
static uint32_t cmd_tree_choose_step(const struct tree_view *view, const char *which)
{
	if (which)
		return selection_step(view->run, view->index, "tree", which);
	static const enum step_phase wanted[] = {STEP_DECODE, STEP_PREFILL, STEP_OTHER};
	uint32_t step = RUN_NONE;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && step == RUN_NONE; i++)
		step = step_times_median(view->times, view->run, view->index, wanted[i]);
	if (step == RUN_NONE && view->index->count)
		step = view->index->by_lane[0];
	if (step == RUN_NONE && view->run->step_count)
		die(CLI_INPUT, "%s: has no step that ended", view->run->path);
	return step;
}

static struct call_tree *cmd_tree_checked(struct call_tree *tree, int rc)
{
	if (rc < 0)
		die(CLI_SYSTEM, "not enough memory for the tree");
	return tree;
}

/*
 * Counts the commands of each lane that have a known launch: they stand below the calls of threads.
 */
static size_t *count_launched(const struct run *run)
{
	size_t *counts = xcalloc(run->lane_count + 1, sizeof(*counts));
	for (size_t i = 0; i < run->command_count; i++)
		counts[run->commands[i].lane] += run->commands[i].launch_lane != RUN_NONE;
	return counts;
}

/* True if the selection left nothing of it. */
static bool cmd_tree_is_left_out(const struct run *run, const struct run_lane *lane)
{
	for (size_t i = 0; i < lane->sample_count && run->selected; i++) {
		run_lane_passed(lane, i);
		if (!run->sites[lane->samples[i].site].left_out)
			return false;
	}
	return run->selected != NULL;
}

static bool is_shown_elsewhere(const struct run_lane *lane, size_t launched)
{
	return lane->kind == BRICK_LANE_QUEUE && launched == lane->sample_count;
}

/* Makes a tree for each phase, decode first, with the sums over its steps. */
static size_t trees_of_phases(const struct tree_view *view, struct call_tree **trees)
{
	SCOPED uint32_t *steps = xcalloc(view->run->step_count + 1, sizeof(*steps));
	size_t trees_made = 0;
	for (size_t p = 0; p < STEP_PHASES; p++) {
		struct call_tree *tree = NULL;
		size_t count = 0;
		for (uint32_t i = 0; i < view->run->step_count; i++)
			if (step_index_is_evaluated(view->index, view->run, i) &&
				step_phase_of(&view->run->steps[i]) == step_phase_order[p])
				steps[count++] = i;
		if (!count)
			continue;
		int rc = call_tree_of_steps(&tree, view->run, view->index, steps, count);
		trees[trees_made++] = cmd_tree_checked(tree, rc);
	}
	return trees_made;
}

static size_t trees_of_lanes(const struct tree_view *view, struct call_tree **trees)
{
	struct call_tree *tree = NULL;
	size_t count = 0;
	SCOPED size_t *launched = count_launched(view->run);
	for (uint32_t lane = 0; lane < view->run->lane_count; lane++) {
		const struct run_lane *l = &view->run->lanes[lane];
		if (!l->sample_count || is_shown_elsewhere(l, launched[lane]) ||
			cmd_tree_is_left_out(view->run, l))
			continue;
		int rc = call_tree_of_lane(&tree, view->run, view->index, lane);
		trees[count++] = cmd_tree_checked(tree, rc);
	}
	return count;
}

static size_t make_trees(
	const struct tree_view *view, const struct options *options, struct call_tree **trees)
{
	const struct selection *selection = &options->selection;
	bool in_part = selection->step_ranges || selection->speed != SELECT_ANY_SPEED ||
		       selection->since_ns || selection->until_ns != UINT64_MAX;
	if (selection->thread && !options->step)
		return trees_of_lanes(view, trees);
	if (in_part && !options->step && view->index->count)
		return trees_of_phases(view, trees);
	uint32_t step = cmd_tree_choose_step(view, options->step);
	if (step == RUN_NONE)
		return trees_of_lanes(view, trees);
	struct call_tree *tree = NULL;
	int rc = call_tree_of_step(&tree, view->run, view->index, step);
	trees[0] = cmd_tree_checked(tree, rc);
	return 1;
}

static int run_tree(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	options_parse(&command_tree, &options, argc, argv);
	const char *operand = input_operand(argc, argv);
	if (graph_file_is(operand)) {
		if (options.json || options.step)
			die_usage("tree", "%s is a graph: it goes without --json and --step",
				operand);
		struct brick_graph *graph = graph_file_load(operand);
		graph_file_tree(graph, operand, stdout);
		brick_graph_destroy(graph);
		return CLI_DONE;
	}
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(operand);
	selection_narrow(&options.selection, run);
	SCOPED_BY(step_index_fini) struct step_index index;
	SCOPED_BY(step_times_fini) struct step_times times;
	if (step_index_init(&index, run) < 0 || step_times_measure(&times, run, &index) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	struct tree_view view = {run, &index, &times, (unsigned)options.depth, options.nodes};
	SCOPED struct call_tree **trees =
		xcalloc(run->lane_count + STEP_PHASES, sizeof(struct call_tree *));
	size_t count = make_trees(&view, &options, trees);
	struct terminal terminal;
	terminal_init(&terminal, stdout);
	if (options.json)
		tree_json(&view, (const struct call_tree *const *)trees, count, stdout);
	for (size_t i = 0; i < count; i++) {
		if (!options.json && i)
			putchar('\n');
		if (!options.json)
			tree_text(&view, trees[i], &terminal);
		call_tree_destroy(trees[i]);
	}
	if (!count && !options.json)
		fputs("No bricks were recorded.\n", stdout);
	return CLI_DONE;
}

const struct cli_command command_tree = {
	.name = "tree",
	.summary = "show what a step was made of",
	.run = run_tree,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Show what a step was made of, layer by layer and brick by brick, in the order in "
		 "which they ran; with --steps, --since or --until, the mean of several steps, by "
		 "phase. FILE may also be a graph that a program saved as JSON.",
	.options = cmd_tree_option_table,
};
