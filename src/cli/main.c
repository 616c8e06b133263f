/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `brick`: finds the command, runs it, and makes sure that its answer was written.
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "brick/version.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "record/stacks/stack_names.h"

enum { COMMANDS_MAX = 64 };

#define CLI_ENTRY(name) &command_##name,
static const struct cli_command *const main_table[] = {CLI_COMMANDS(CLI_ENTRY) NULL};

static void print_help(FILE *out)
{
	fputs("Usage: brick COMMAND [OPTIONS]\n"
	      "\n"
	      "Brick says where the time of every token went: it records a program that runs a\n"
	      "language model, and reports what its steps, layers and bricks took.\n"
	      "\n"
	      "Commands:\n",
		out);
	for (size_t i = 0; commands[i]; i++)
		fprintf(out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     show this and exit\n"
	      "  -V, --version  show the version and exit\n"
	      "\n"
	      "Start with:\n"
	      "  brick doctor                       what will work on this machine\n"
	      "  brick record -- ./my-program ARGS  record a program\n"
	      "  brick report run.pftrace           see where its time went\n"
	      "\n"
	      "'brick COMMAND --help' describes a command, 'man brick-COMMAND' all of it.\n",
		out);
}

static int run_command(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[0], "help")) {
		argv[0] = argv[1];
		argv[1] = "--help";
		argc = 2;
	}
	const struct cli_command *command = command_find(argv[0]);
	if (!command) {
		const char *names[COMMANDS_MAX];
		size_t count = 0;
		for (; commands[count] && count < COMMANDS_MAX; count++)
			names[count] = commands[count]->name;
		const char *near = suggest(argv[0], names, count);
		if (near)
			die_usage(NULL, "%s: no such command; did you mean '%s'?", argv[0], near);
		die_usage(NULL, "%s: no such command", argv[0]);
	}
	if (command->flags & CLI_ANSWERS)
		signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error of writing */
	optind = 0;			  /* getopt starts afresh */
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	commands = main_table;
	output_init();
	run_namer_set(stack_names_find);
	setlocale(LC_CTYPE, ""); /* the character set, from the environment */
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	const char *first = argv[1];
	if (!strcmp(first, "--help") || !strcmp(first, "-h") ||
		(!strcmp(first, "help") && argc == 2))
		print_help(stdout);
	else if (!strcmp(first, "--version") || !strcmp(first, "-V"))
		printf("brick %s\n", brick_version());
	else if (first[0] == '-')
		die_usage(NULL, "%s: no such option", first);
	else
		return output_finish(run_command(argc - 1, argv + 1));
	return output_finish(CLI_DONE);
}
