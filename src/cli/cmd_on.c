/* SPDX-License-Identifier: Apache-2.0 */
/* `brick on`: a recorder that was idle, or switched off, records from the next step on. */
#include "cli/command.h"
#include "cli/control_command.h"
#include "cli/options.h"

static const struct cli_option cmd_on_option_table[] = {
	OPTION_HELP,
};

static int run_on(int argc, char **argv)
{
	options_parse(&command_on, NULL, argc, argv);
	return control_command_switch("on", argc, argv, CONTROL_ON);
}

const struct cli_command command_on = {
	.name = "on",
	.summary = "switch recording on in a program that runs",
	.run = run_on,
	.usage = "PID",
	.about = "Switch recording on, from the next step on, in a program that 'brick record "
		 "--idle' has started, or that 'brick off' has switched off. PID is the recorder "
		 "or any process that it records; all processes of the recording follow.",
	.options = cmd_on_option_table,
};
