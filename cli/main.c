/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `brick`: finds the command, runs it, and makes sure that its answer was written.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "brick/version.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/output.h"
#include "view/suggest.h"
#include "view/text.h"

#define CLI_ENTRY(name) &command_##name,
static const struct cli_command *const commands[] = {CLI_COMMANDS(CLI_ENTRY)};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
	fputs("Usage: brick COMMAND [OPTIONS]\n"
	      "\n"
	      "Brick says where the time of every token went: it records a program that runs a\n"
	      "language model, and reports what its steps, layers and bricks took.\n"
	      "\n"
	      "Commands:\n",
		out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s  %s\n", commands[i]->name, commands[i]->summary);
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

static const struct cli_command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void die_unknown(const char *name)
{
	const char *names[COMMANDS];
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i]->name;
	const char *near = suggest(name, names, COMMANDS);
	if (near)
		die_usage(NULL, "%s: no such command; did you mean '%s'?", name, near);
	die_usage(NULL, "%s: no such command", name);
}

static int run_command(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[0], "help")) {
		argv[0] = argv[1];
		argv[1] = "--help";
		argc = 2;
	}
	const struct cli_command *command = find(argv[0]);
	if (!command)
		die_unknown(argv[0]);
	if (command->flags & CLI_ANSWERS)
		output_ignore_pipe();
	optind = 0; /* getopt starts afresh */
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	output_init();
	text_init();
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
