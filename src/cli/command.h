/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands. Each command is a const struct cli_command in the file cmd_NAME.c. A new
 * command goes into CLI_COMMANDS, the only list of them. A command returns its exit code, or ends
 * the program with die(). Main thread.
 */
#pragma once

#include "cli/die.h"

/* In the order in which --help shows them. */
/* clang-format off */
#define CLI_COMMANDS(each) \
	each(record) \
	each(on) \
	each(off) \
	each(mark) \
	each(report) \
	each(tree) \
	each(graph) \
	each(path) \
	each(ceilings) \
	each(roofline) \
	each(tiles) \
	each(requests) \
	each(scaling) \
	each(experts) \
	each(explain) \
	each(diff) \
	each(bench) \
	each(bisect) \
	each(advise) \
	each(history) \
	each(push) \
	each(fleet) \
	each(diverge) \
	each(top) \
	each(serve) \
	each(flame) \
	each(export) \
	each(import) \
	each(open) \
	each(doctor) \
	each(selftest) \
	each(completion)
/* clang-format on */

enum cli_command_flags {
	/* Writes an answer to stdout, and runs no program that would inherit signal actions. */
	CLI_ANSWERS = 1,
	/* Runs a program: options end at the first operand, the program's name. */
	CLI_RUNS = 2,
	/* The operands are recordings. */
	CLI_READS = 4,
};

struct cli_option; /* options.h */
struct option_words;

struct cli_command {
	const char *name;
	const char *summary; /* one line, for `brick --help` */
	/* argv[0] is the command's name; getopt's state is fresh. */
	int (*run)(int argc, char **argv);
	unsigned flags; /* enum cli_command_flags */
	/* For `brick NAME --help`: */
	const char *usage; /* the operands; a line for each way to call the command */
	const char *about; /* the command's purpose */
	const char *notes; /* the text below the options; NULL: none */
	const struct cli_option *options; /* ends with OPTION_HELP, or an entry without a name */
	/* Adds the words that operands can be; NULL: anything. */
	void (*operands)(struct option_words *words);
};

#define CLI_DECLARE(name) extern const struct cli_command command_##name;
CLI_COMMANDS(CLI_DECLARE)

/*
 * All commands in the order of CLI_COMMANDS, ended by NULL. main() sets the pointer, so that a test
 * of one command need not link all others.
 */
extern const struct cli_command *const *commands;

/* The command of this name; NULL: there is none. */
const struct cli_command *command_find(const char *name);
