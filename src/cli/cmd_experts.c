/* SPDX-License-Identifier: Apache-2.0 */
/* `brick experts`: options, and the choice of the form (src/ui/text/experts_view.h). */
#include "ui/text/experts_view.h"

#include <stdbool.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/selection_options.h"
#include "ui/text/json_out.h"

struct options {
	struct selection selection;
	bool json, csv;
};

static const struct cli_option cmd_experts_option_table[] = {
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"json", NULL, "all of it as JSON (schema brick/experts/1)", option_flag, AT(json)},
	{"csv", NULL, "a line for each expert of each layer as CSV", option_flag, AT(csv)},
	OPTION_HELP,
};

static int run_experts(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	struct experts *experts;

	options_parse(&command_experts, &options, argc, argv);
	if (options.json && options.csv)
		die_usage("experts", "--json and --csv: one of them, please");
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	int rc = experts_create(&experts, run);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: no operation in it chooses experts (MUL_MAT_ID)", run->path);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its experts", run->path);
	if (!experts->models.count)
		die(CLI_INPUT,
			"%s: does not say which experts its operations chose; 'brick record "
			"--experts' asks those that run on the CPU",
			run->path);
	if (options.json)
		json_print(experts_to_json(run, experts), stdout);
	else if (options.csv)
		experts_csv(run, experts, stdout);
	else
		experts_text(run, experts, stdout);
	experts_destroy(experts);
	return CLI_DONE;
}

const struct cli_command command_experts = {
	.name = "experts",
	.summary = "say which experts of a mixture get tokens",
	.run = run_experts,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Show which experts of a mixture get tokens: how evenly each layer chooses them, "
		 "how much of the weights it reads, how long its products take, and what part of "
		 "this fast memory with the hottest experts would serve. Needs 'brick record "
		 "--experts'.",
	.options = cmd_experts_option_table,
};
