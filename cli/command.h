/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What main() knows of a command: one const entry per command, defined in the file that implements
 * it and listed in main.c. A command returns its exit code; it may end the program with die().
 */
#ifndef BRICK_CLI_COMMAND_H
#define BRICK_CLI_COMMAND_H

#include "view/exit_code.h"

enum cli_command_flags {
	/* Writes an answer to stdout and runs no program that would inherit signal dispositions. */
	CLI_ANSWERS = 1,
};

struct cli_command {
	const char *name, *summary;
	/* argv[0] is the command's name; getopt's state is fresh. */
	int (*run)(int argc, char **argv);
	unsigned flags; /* enum cli_command_flags */
};

extern const struct cli_command command_record;
extern const struct cli_command command_report;
extern const struct cli_command command_serve;
extern const struct cli_command command_tree;
extern const struct cli_command command_graph;
extern const struct cli_command command_path;
extern const struct cli_command command_ceilings;
extern const struct cli_command command_roofline;
extern const struct cli_command command_tiles;
extern const struct cli_command command_diverge;
extern const struct cli_command command_selftest;
extern const struct cli_command command_top;
extern const struct cli_command command_export;
extern const struct cli_command command_doctor;

#endif
