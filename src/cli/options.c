/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options, those that a user wants always before those that were given. Called by all
 * commands. */
#include "cli/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/summary.h"

#include "base/number.h"
#include "cli/defaults.h"
#include "cli/die.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "ui/text/text.h"

enum { MAX_OPTIONS = 48, FIRST_VALUE = 256, HELP_WIDTH = 80 };

/* ---- values ---- */

void option_flag(const struct option_use *use, const char *text)
{
	*(bool *)use->to = true;
}

void option_text(const struct option_use *use, const char *text)
{
	*(const char **)use->to = text;
}

void option_number(const struct option_use *use, const char *text)
{
	const struct cli_option *option = use->option;
	uint64_t value;
	if (number_u64(text, option->low, option->high, &value) < 0)
		die_usage(use->command->name, "--%s %s: must be a whole number from %lu to %lu",
			option->name, text, option->low, option->high);
	*(unsigned long *)use->to = (unsigned long)value;
}

double option_double(
	const struct option_use *use, const char *text, double low, double high, const char *what)
{
	double value;
	if (number_double(text, low, high, &value) < 0)
		die_usage(use->command->name, "--%s %s: must be %s", use->option->name, text, what);
	return value;
}

/* "a, b or c"; the caller frees. */
static char *enumerate(const char *const *names, size_t count)
{
	char *all = xstrdup("");
	for (size_t i = 0; i < count; i++)
		xappend(&all, i + 1 == count ? " or " : ", ", "%s", names[i]);
	return all;
}

int option_choice(const struct option_use *use, const char *text)
{
	SCOPED_BY(words_fini) struct option_words words = {0};
	use->option->words(&words);
	const char *const *names = (const char *const *)words.list.items;
	size_t count = words.list.count;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(text, names[i]))
			return (int)i;
	const char *near = suggest(text, names, count);
	if (near)
		die_usage(use->command->name, "--%s %s: unknown; did you mean '%s'?",
			use->option->name, text, near);
	die_usage(use->command->name, "--%s %s: must be %s", use->option->name, text,
		enumerate(names, count));
}

void option_index(const struct option_use *use, const char *text)
{
	*(int *)use->to = option_choice(use, text);
}

void option_phase_or_all(const struct option_use *use, const char *text)
{
	int choice = option_choice(use, text);
	*(int *)use->to = choice == STEP_PHASES ? SUMMARY_ALL_PHASES : choice;
}

void option_rows(const struct option_use *use, const char *text)
{
	*(int *)use->to = option_choice(use, text) ? SUMMARY_BY_LAYER : SUMMARY_BY_BRICK;
}

/* ---- help ---- */

/* "-o, --output OUT"; the caller frees. */
static char *left_of(const struct cli_option *option, bool any_letter)
{
	const char *blanks = any_letter ? "    " : "";
	char letter[5] = {'-', option->letter, ',', ' ', '\0'};
	bool apart = option->value && !option_value_is_optional(option);
	return xasprintf("  %s--%s%s%s", option->letter ? letter : blanks, option->name,
		apart ? " " : "", option->value ? option->value : "");
}

static void print_options(const struct cli_option *options)
{
	bool any_letter = false;
	size_t widest = 0;
	for (const struct cli_option *o = options; o->name; o++)
		any_letter |= o->letter && o->letter != 'h';
	for (const struct cli_option *o = options; o->name; o++) {
		SCOPED char *left = left_of(o, any_letter);
		if (strlen(left) > widest)
			widest = strlen(left);
	}
	for (const struct cli_option *o = options; o->name; o++) {
		SCOPED char *left = left_of(o, any_letter);
		text_wrap(stdout, HELP_WIDTH, widest + 2, left, o->help);
	}
}

static void options_help(const struct cli_command *command)
{
	const char *line = command->usage, *before = "Usage:";
	for (; line; before = "      ") {
		size_t length = strcspn(line, "\n");
		printf("%s brick %s %.*s\n", before, command->name, (int)length, line);
		line = line[length] ? line + length + 1 : NULL;
	}
	putchar('\n');
	text_wrap(stdout, HELP_WIDTH, 0, "", command->about);
	putchar('\n');
	print_options(command->options);
	if (command->notes) {
		putchar('\n');
		text_wrap(stdout, HELP_WIDTH, 0, "", command->notes);
	}
}

/* ---- parsing ---- */

struct getopt_tables {
	char shorts[2 * MAX_OPTIONS + 3];
	struct option longs[MAX_OPTIONS + 1];
	size_t count;
};

static void tables_init(struct getopt_tables *tables, const struct cli_command *command)
{
	char *s = tables->shorts;
	memset(tables, 0, sizeof(*tables));
	if (command->flags & CLI_RUNS)
		*s++ = '+';
	*s++ = ':';
	for (const struct cli_option *o = command->options; o->name && tables->count < MAX_OPTIONS;
		o++) {
		int takes = !o->value			  ? no_argument
			    : option_value_is_optional(o) ? optional_argument
							  : required_argument;
		tables->longs[tables->count] =
			(struct option){o->name, takes, NULL, FIRST_VALUE + (int)tables->count};
		tables->count++;
		if (o->letter)
			*s++ = o->letter;
		if (o->letter && o->value)
			*s++ = ':';
	}
}

static void die_unknown(const struct cli_command *command, const char *given)
{
	const char *names[MAX_OPTIONS];
	size_t count = 0, length = strcspn(given, "=");
	for (const struct cli_option *o = command->options; o->name; o++)
		names[count++] = o->name;
	SCOPED char *name = xasprintf("%.*s", (int)(length - 2), given + 2);
	const char *near = suggest(name, names, count);
	if (near)
		die_usage(command->name, "%s: no such option; did you mean '--%s'?", given, near);
	die_usage(command->name, "%s: no such option", given);
}

static void complain(const struct cli_command *command, char **argv, int problem)
{
	const char *given = optind > 0 ? argv[optind - 1] : "";
	int number = optopt - FIRST_VALUE;
	if (problem == ':')
		die_usage(command->name, "%s: needs a value", given);
	if (number >= 0)
		die_usage(command->name, "--%s: takes no value", command->options[number].name);
	if (optopt)
		die_usage(command->name, "-%c: no such option", optopt);
	die_unknown(command, given);
}

static const struct cli_option *option_of(const struct cli_option *options, int c)
{
	if (c >= FIRST_VALUE)
		return &options[c - FIRST_VALUE];
	while (options->letter != c)
		options++;
	return options;
}

/* is_default: not of the command line. */
static void parse(
	const struct cli_command *command, void *options, int argc, char **argv, bool is_default)
{
	struct getopt_tables tables;
	int c;
	tables_init(&tables, command);
	opterr = 0;
	optind = 0; /* getopt starts afresh */
	while ((c = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			complain(command, argv, c);
		const struct cli_option *option = option_of(command->options, c);
		if (!option->set && is_default)
			die_usage(command->name, "--%s: only on the command line", option->name);
		if (!option->set) {
			options_help(command);
			exit(output_finish(CLI_DONE));
		}
		const struct option_use use = {command, option, (char *)options + option->at};
		option->set(&use, optarg);
	}
	if (is_default && optind < argc)
		die_usage(command->name, "%s: options only", argv[optind]);
}

void options_parse(const struct cli_command *command, void *options, int argc, char **argv)
{
	int count;
	const struct defaults_line *lines = defaults_of(command->name, &count);
	for (int i = 0; i < count; i++) {
		warn_where_set(lines[i].where);
		parse(command, options, lines[i].argc, lines[i].argv, true);
	}
	warn_where_set(NULL);
	parse(command, options, argc, argv, false);
}
