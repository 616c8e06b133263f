/* SPDX-License-Identifier: Apache-2.0 */
/* `brick scaling`: options, and the choice of the form (src/ui/text/scaling_view.h). */
#include "ui/text/scaling_view.h"

#include <stdbool.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/options.h"
#include "ui/text/json_out.h"

struct options {
	bool json;
};

static const struct cli_option cmd_scaling_option_table[] = {
	{"json", NULL, "all of it as JSON (schema brick/scaling/2)", option_flag, AT(json)},
	OPTION_HELP,
};

static int run_scaling(int argc, char **argv)
{
	struct options options = {0};
	struct step_index index = {0};
	struct scaling *scaling;

	options_parse(&command_scaling, &options, argc, argv);
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	int rc = step_index_init(&index, run);
	if (rc == 0)
		rc = scaling_create(&scaling, run, &index);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: %s", run->path,
			run->step_count ? "no step that decodes, with a context that is known"
					: "has no steps");
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its steps", run->path);
	struct scaling_view view = {.run = run, .scaling = scaling};
	presence_of_run(&view.presence, run, &index);
	if (options.json)
		json_print(scaling_to_json(&view), stdout);
	else
		scaling_text(&view, stdout);
	scaling_destroy(scaling);
	step_index_fini(&index);
	return CLI_DONE;
}

const struct cli_command command_scaling = {
	.name = "scaling",
	.summary = "say how bricks grow with context and batch size",
	.run = run_scaling,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Say how the time of each brick grows with the context, in the recording's own "
		 "decode steps, and with the number of tokens in a step.",
	.options = cmd_scaling_option_table,
};
