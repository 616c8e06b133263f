/* SPDX-License-Identifier: Apache-2.0 */
/* `brick mark`: a recording keeps a text with the moment at which it was given. */
#include <string.h>

#include "cli/command.h"
#include "cli/control_command.h"
#include "cli/options.h"

static const struct cli_option cmd_mark_option_table[] = {
	OPTION_HELP,
};

static int run_mark(int argc, char **argv)
{
	options_parse(&command_mark, NULL, argc, argv);
	if (optind + 2 != argc)
		die_usage("mark", "mark: which process, and which text?");
	const char *text = argv[optind + 1];
	if (!*text || strlen(text) >= CONTROL_TEXT)
		die_usage("mark", "mark: the text must have 1 to %d bytes", CONTROL_TEXT - 1);
	control_command("mark", argv[optind], CONTROL_MARK, text);
	return CLI_DONE;
}

const struct cli_command command_mark = {
	.name = "mark",
	.summary = "put a mark into a recording that is being made",
	.run = run_mark,
	.usage = "PID TEXT",
	.about = "Put TEXT into the recording of a program that runs, with the present time. "
		 "Reports and the page show it. PID is the recorder or any process that it "
		 "records.",
	.options = cmd_mark_option_table,
};
