/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brick record: parses the command line, has record/ run the program, says on stderr what came of
 * it. Returns the program's own exit code; stdout is the program's alone.
 */
#include "cli/cmd_record.h"

#include <stdlib.h>

#include "cli/die.h"

/* What is attached to, and how else it may be, as the table of attachers has it. */
static char *notes(void)
{
	char *all = NULL;
	for (const struct attacher *const *a = attachers; *a; a++) {
		char *methods = NULL;
		if (!(*a)->methods)
			continue;
		for (const char *const *method = (*a)->methods; *method; method++)
			xappend(&methods, ", ", "%s", *method);
		xappend(&all, "", "Methods of --attach for %s: %s. ", (*a)->title, methods);
		free(methods);
	}
	xappend(&all, "", "Then: brick report FILE");
	return all;
}

static char *about(void)
{
	char kinds[INJECT_KINDS_BYTES];
	return xasprintf("Run CMD, record it and its children, and return its exit code (128 + "
			 "signal when a signal ended it, 127 when there is no such command). "
			 "Programs that use %s through shared libraries are attached to; programs "
			 "with libbrick inside record themselves.",
		inject_kinds(kinds));
}

static int run(int argc, char **argv)
{
	SCOPED_BY(record_arguments_fini) struct record_arguments arguments;
	struct recorder_result result;

	struct cli_command command = command_record;
	command.about = about();
	command.notes = notes();
	record_parse(&arguments, &command, argc, argv);
	recorder_run(&arguments.options, &result);
	if (result.refused)
		result.exit_code = CLI_SYSTEM;
	if (!arguments.quiet)
		record_summary(&arguments, &result);
	record_history(&arguments, &result);
	recorder_result_fini(&result);
	free((char *)command.about);
	free((char *)command.notes);
	return result.exit_code;
}

const struct cli_command command_record = {
	.name = "record",
	.summary = "run a program and record it",
	.run = run,
	.flags = CLI_RUNS,
	.usage = "[OPTIONS] [--] CMD [ARGS...]",
	.about = "Run a program and record it.",
	.options = record_option_table,
};
