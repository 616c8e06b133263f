/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. Called by whoever needs to know which there are. */
#include <string.h>

#include "cli/command.h"

#define CLI_ENTRY(name) &command_##name,
const struct cli_command *const commands[] = {CLI_COMMANDS(CLI_ENTRY) NULL};

const struct cli_command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}
