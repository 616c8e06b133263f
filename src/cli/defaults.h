/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that a user wants always: lines of ~/.config/brick/config, then of the environment
 * variable BRICK_OPTIONS, in this order, each `COMMAND OPTION...`. Main thread.
 */
#pragma once

/* One line of them, for one command. */
struct defaults_line {
	char *where; /* "/home/me/.config/brick/config:3" */
	int argc;
	char **argv; /* argv[0]: the command's name */
};

/*
 * All lines for a command; *count says how many. They live as long as the process: options point
 * into them. Wrong lines end the program as wrong usage does.
 */
const struct defaults_line *defaults_of(const char *command, int *count);
