/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command, declared once: the table makes what getopt_long() accepts, --help, and what
 * is suggested for a slip of the pen. All complaints look alike. Main thread.
 */
#pragma once

#include <getopt.h> /* optind, for operands */
#include <stddef.h>
#include "cli/command.h"

/* An option that was given. */
struct option_use {
	const struct cli_command *command;
	const struct cli_option *option;
	void *to; /* the member of the command's options, see below */
};

struct cli_option {
	const char *name; /* without the dashes */
	/* what stands for its value in --help; "[=WHAT]": it can do without; NULL: it takes none */
	const char *value;
	const char *help;
	/* Stores the value, or ends the program with wrong usage. text: NULL without a value. */
	void (*set)(const struct option_use *use, const char *text);
	size_t at;		 /* offset in the command's options of what is set */
	unsigned long low, high; /* of a number */
	char letter;		 /* 0: it has no short form */
};

static inline int option_value_is_optional(const struct cli_option *option)
{
	return option->value && option->value[0] == '[';
}

/* The end of each table. */
/* clang-format off */
#define OPTION_HELP {"help", NULL, "show this and exit", .letter = 'h'}, {.name = NULL}
/* clang-format on */

/* Setters: of a bool, a const char *, an unsigned long within its bounds, an int for a phase: an
 * enum step_phase or SUMMARY_ALL_PHASES. */
void option_flag(const struct option_use *use, const char *text);
void option_text(const struct option_use *use, const char *text);
void option_number(const struct option_use *use, const char *text);
void option_phase(const struct option_use *use, const char *text);
void option_phase_or_all(const struct option_use *use, const char *text);

/*
 * Which of some names it is: their index. Else wrong usage, with the one that may be meant, or all
 * of them.
 */
int option_choice(
	const struct option_use *use, const char *text, const char *const *names, size_t count);

/* A number within bounds; else wrong usage: it "must be <what>". */
double option_double(
	const struct option_use *use, const char *text, double low, double high, const char *what);

/*
 * Store all options: those of the configuration and the environment (defaults.h), then those of the
 * command line. There options and operands may be mixed, unless the command runs a program;
 * operands are from optind on afterwards. Help and wrong usage end the program.
 */
void options_parse(const struct cli_command *command, void *options, int argc, char **argv);

void options_help(const struct cli_command *command);
