/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands: one const entry each, defined in the file that implements it. The list below is the
 * only one. A command returns its exit code; it may end the program with die().
 */
#pragma once

#include "cli/die.h"

/* In the order in which --help shows them. */
/* clang-format off */
#define CLI_COMMANDS(each) \
	each(record) \
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
	/* Writes an answer to stdout and runs no program that would inherit signal dispositions. */
	CLI_ANSWERS = 1,
	/* Runs a program: options end at the first operand, which is its name. */
	CLI_RUNS = 2,
	/* Its operands are recordings. */
	CLI_READS = 4,
};

struct cli_option; /* options.h */
struct option_words;

struct cli_command {
	const char *name, *summary;
	/* argv[0] is the command's name; getopt's state is fresh. */
	int (*run)(int argc, char **argv);
	unsigned flags; /* enum cli_command_flags */
	/*
	 * For --help: the text after the name, a line for each way to call it; the command's
	 * purpose; the text below the options, or NULL.
	 */
	const char *usage, *about, *notes;
	const struct cli_option *options;	      /* ends with an entry without a name */
	void (*operands)(struct option_words *words); /* what they can be; NULL: anything */
};

#define CLI_DECLARE(name) extern const struct cli_command command_##name;
CLI_COMMANDS(CLI_DECLARE)

/* The table of commands, in that order, NULL at its end: main() hands it in, so that no command
 * needs all others. */
extern const struct cli_command *const *commands;
const struct cli_command *command_find(const char *name); /* NULL: there is none */
