/* SPDX-License-Identifier: Apache-2.0 */
/* `brick flame`: a flame graph of a recording, or the stacks for other tools that draw one. */
#include "ui/text/flame.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "analysis/accounts/function_accounts.h"
#include "analysis/walk/step_index.h"
#include "cli/selection_options.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/output.h"
#include "ui/text/functions_view.h"

struct form {
	const char *name;
	int (*write)(const struct call_tree *stacks, FILE *out);
	const char *suffix; /* of the default file on a terminal; NULL: text, which stdout takes */
};

static const struct form cmd_flame_forms[] = {
	{"svg", flame_svg, "svg"},
	{"folded", flame_folded, NULL},
	{"speedscope", flame_speedscope, "speedscope.json"},
	{"pprof", flame_pprof, "pb"},
};

enum { FORMS = sizeof(cmd_flame_forms) / sizeof(cmd_flame_forms[0]) };

struct options {
	struct selection selection;
	const struct form *form;
	const char *output;
	bool layers, functions;
};

static void cmd_flame_words_form(struct option_words *words)
{
	for (size_t i = 0; i < FORMS; i++)
		words_add(words, cmd_flame_forms[i].name);
}

static void cmd_flame_set_form(const struct option_use *use, const char *text)
{
	*(const struct form **)use->to = &cmd_flame_forms[option_choice(use, text)];
}

static const struct cli_option cmd_flame_option_table[] = {
	{"format", "FORMAT",
		"svg (default): a picture; folded: lines for flamegraph.pl; speedscope: for "
		"https://speedscope.app; pprof: for 'pprof -http'",
		cmd_flame_set_form, AT(form), .words = cmd_flame_words_form},
	{"layers", NULL, "put layers between phases and bricks", option_flag, AT(layers)},
	{"functions", NULL, "functions on their callers, from sampled stacks, instead of bricks",
		option_flag, AT(functions)},
	{"output", "OUT",
		"write to this file (default: standard output; if that is a terminal, NAME.svg for "
		"NAME.pftrace)",
		option_text, AT(output), .letter = 'o'},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	OPTION_HELP,
};

static struct call_tree *make_stacks(const struct options *options, const struct run *run)
{
	struct call_tree *stacks;
	SCOPED_BY(step_index_fini) struct step_index index = {0};
	bool functions = options->functions || (run->stack_count && !run->brick_count);
	if (functions && !run->stack_count) {
		SCOPED char *why = functions_missing(run);
		die(CLI_INPUT, "%s: %s", run->path, why);
	}
	int rc = functions ? functions_tree(&stacks, run) : step_index_init(&index, run);
	if (!functions && rc == 0)
		rc = stacks_create(&stacks, run, &index, options->layers);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	return stacks;
}

/*
 * "run-1.5b.svg" of "/data/run-1.5b.pftrace", in the working directory: without the suffix of
 * recordings, else without what follows the last point. The caller frees.
 */
static char *name_beside(const struct run *run, const char *suffix)
{
	const char *slash = strrchr(run->path, '/'), *base = slash ? slash + 1 : run->path;
	const char *point = strrchr(base, '.');
	size_t bytes = point ? (size_t)(point - base) : strlen(base);

	return xasprintf("%.*s.%s", bytes ? (int)bytes : 3, bytes ? base : "run", suffix);
}

static int run_flame(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT, .form = &cmd_flame_forms[0]};
	options_parse(&command_flame, &options, argc, argv);
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	struct call_tree *stacks = make_stacks(&options, run);
	SCOPED char *beside = !options.output && options.form->suffix && isatty(STDOUT_FILENO)
				      ? name_beside(run, options.form->suffix)
				      : NULL;
	struct output *output = output_open(beside ? beside : options.output, run->path);
	output_commit(output, options.form->write(stacks, output_stream(output)));
	if (beside)
		printf("%s: the flame graph%s\n", beside,
			options.form == &cmd_flame_forms[0] ? "; a browser shows it, a click zooms"
							    : "");
	call_tree_destroy(stacks);
	return CLI_DONE;
}

const struct cli_command command_flame = {
	.name = "flame",
	.summary = "draw a flame graph, or write its stacks for other tools",
	.run = run_flame,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Draw a flame graph: bricks on the bricks that held them, by thread and phase; or "
		 "functions on their callers, by thread. A frame is as wide as its time.",
	.options = cmd_flame_option_table,
};
