/* SPDX-License-Identifier: Apache-2.0 */
/* `brick off`: a recorder records nothing from the next step on, until `brick on`. */
#include "cli/command.h"
#include "cli/control_command.h"
#include "cli/options.h"

static const struct cli_option cmd_off_option_table[] = {
	OPTION_HELP,
};

static int run_off(int argc, char **argv)
{
	options_parse(&command_off, NULL, argc, argv);
	return control_command_switch("off", argc, argv, CONTROL_OFF);
}

const struct cli_command command_off = {
	.name = "off",
	.summary = "switch recording off in a program that runs",
	.run = run_off,
	.usage = "PID",
	.about = "Switch recording off, from the next step on, in a program that 'brick record' "
		 "records. The program then runs as fast as if it were not recorded, until 'brick "
		 "on'. PID is the recorder or any process that it records; all processes of the "
		 "recording follow.",
	.options = cmd_off_option_table,
};
