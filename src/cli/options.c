/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses options by a command's table: first the default options (lines of words in the
 * configuration and in BRICK_OPTIONS), then the command line. Collects words for values from
 * tables, a recording or the history.
 */
#include "cli/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/accounts/summary.h"
#include "analysis/history/store.h"
#include "analysis/steps/step_times.h"
#include "base/array.h"
#include "base/file.h"
#include "base/number.h"
#include "base/user_path.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "ui/text/text.h"

enum { RUNS_LOOKED_AT = 200 }; /* the number of newest runs of a history that words come from */

void words_add(struct option_words *words, const char *word)
{
	for (size_t i = 0; i < words->list.count; i++)
		if (!strcmp(words->list.items[i], word))
			return;
	xpush(&words->list, xstrdup(word));
}

void words_add_all(struct option_words *words, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words_add(words, names[i]);
}

void words_fini(struct option_words *words)
{
	for (size_t i = 0; i < words->list.count; i++)
		free(words->list.items[i]);
	array_fini(&words->list);
}

void words_phases(struct option_words *words)
{
	for (int phase = 0; phase < STEP_PHASES; phase++)
		words_add(words, step_phase_name(phase));
}

void words_phases_or_all(struct option_words *words)
{
	words_phases(words);
	words_add(words, "all");
}
WORDS(words_step, "decode", "prefill", "mixed", "other", "slowest");
WORDS(words_steps, "slowest", "slow");
WORDS(words_rows, "brick", "category", "layer"); /* as enum summary_by begins */
WORDS(words_metrics, "default", "printed", "decode", "wall", "prefill", "mixed", "first-token",
	"other"); /* as enum compare_metric */

/* Words from a recording. */

void words_layers(struct option_words *words)
{
	int32_t last = -1;
	for (size_t i = 0; words->run && i < words->run->site_count; i++)
		if (words->run->sites[i].layer > last)
			last = words->run->sites[i].layer;
	for (int32_t layer = -1; words->run && layer <= last; layer++) {
		SCOPED char *number = xasprintf("%d", layer);
		words_add(words, number);
	}
}

void words_threads(struct option_words *words)
{
	for (size_t i = 0; words->run && i < words->run->lane_count; i++)
		if (words->run->lanes[i].name && *words->run->lanes[i].name)
			words_add(words, words->run->lanes[i].name);
}

void words_bricks(struct option_words *words)
{
	for (size_t i = 0; words->run && i < words->run->site_count; i++) {
		const struct run_brick *brick = &words->run->bricks[words->run->sites[i].brick];
		words_add(words, brick->name);
	}
}

/* Words from the history. */

static int add_labels(void *context, struct history_run *run)
{
	for (size_t i = 0; i < run->labels.count; i++)
		words_add(context, run->labels.items[i]);
	return 0;
}

/* A history that is missing or does not answer adds nothing, quietly. */
static bool add_from_history(struct option_words *words)
{
	const struct history_filter newest = {.limit = RUNS_LOOKED_AT};
	const struct history_open at_once = {.patience_ms = 500};
	SCOPED_TO(history_store_close) struct history_store *store = NULL;
	SCOPED char *where = history_default();
	return where && history_store_open(&store, where, &at_once) == 0 &&
	       history_store_list(store, &newest, add_labels, words) == 0;
}

void words_labels(struct option_words *words)
{
	add_from_history(words);
}

void words_references(struct option_words *words)
{
	SCOPED_BY(words_fini) struct option_words labels = {0};
	if (add_from_history(&labels))
		words_add(words, "@last");
	for (size_t i = 0; i < labels.list.count; i++) {
		SCOPED char *reference = xasprintf("@%s", labels.list.items[i]);
		words_add(words, reference);
	}
}

/* One line of default options, for one command. */
struct defaults_line {
	char *where; /* "/home/me/.config/brick/config:3" */
	int argc;
	char **argv; /* argv[0]: the command's name */
};

const struct cli_command *const *commands;

const struct cli_command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* Default options. */

/*
 * A line is `COMMAND OPTION...`. '#' at a word's begin starts a comment; quotes enclose blanks; in
 * BRICK_OPTIONS a ';' ends a line, too.
 */
enum { MAX_BYTES = 1 << 16 };

static ARRAY(struct defaults_line) lines;

/* The next word of a line, taken out of its quotes in place; *at goes behind it. NULL: no more. */
static char *next_word(char **at, const char *where)
{
	char *in = *at + strspn(*at, " \t\r"), *word = in, *out = in, quote = 0;
	if (!*in || *in == '#')
		return NULL;
	for (; *in && (quote || !strchr(" \t\r", *in)); in++) {
		if (quote ? *in == quote : *in == '"' || *in == '\'')
			quote = quote ? 0 : *in;
		else
			*out++ = *in;
	}
	if (quote)
		die_usage(NULL, "%s: a quote (%c) has no end", where, quote);
	*at = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

static void options_read_line(char *text, const char *command, const char *where)
{
	ARRAY(char *) words = {0};
	char *word = next_word(&text, where);
	if (word && !command_find(word))
		die_usage(NULL, "%s: %s: no such command", where, word);
	if (!word || strcmp(word, command) != 0)
		return;
	for (; word; word = next_word(&text, where))
		xpush(&words, word);
	xpush(&words, NULL);
	xpush(&lines, (struct defaults_line){xstrdup(where), (int)words.count - 1, words.items});
}

/* text: words will point into it. */
static void options_read_lines(char *text, const char *ends, const char *command, const char *from)
{
	for (unsigned number = 1; *text; number++) {
		size_t length = strcspn(text, ends);
		bool last = !text[length];
		text[length] = '\0';
		SCOPED char *where =
			number > 1 || !last ? xasprintf("%s:%u", from, number) : xstrdup(from);
		options_read_line(text, command, where);
		text += length + !last;
	}
}

/* The path of the configuration; the caller frees. NULL: there is no place for it. */
static char *config_path(void)
{
	const char *own = getenv("BRICK_CONFIG");
	if (own)
		return *own ? xstrdup(own) : NULL;
	char *path = user_path(USER_CONFIG, "config");
	if (!path && errno == EPERM)
		warn("the configuration of another user is not read: HOME or XDG_CONFIG_HOME is "
		     "that user's");
	return path;
}

/* The text of the configuration; NULL: it is missing or cannot be read, and the command goes on. */
static char *options_read_file(const char *path)
{
	char *text = NULL;
	size_t bytes;
	struct stat st;
	if (!getenv("BRICK_CONFIG") && !stat(path, &st) && S_ISFIFO(st.st_mode)) {
		warn("%s: not read: it is a pipe", path);
		return NULL;
	}
	int rc = file_read(&text, &bytes, path, MAX_BYTES - 1);
	if (rc == -EFBIG)
		warn("%s: not read: it has more than %d bytes", path, MAX_BYTES - 1);
	else if (rc < 0 && rc != -ENOENT)
		warn("%s: not read: %s", path, strerror(-rc));
	return text;
}

/*
 * All lines for a command; *count says how many. They live as long as the process: options point
 * into them. Wrong lines end the program as wrong usage does.
 */
static const struct defaults_line *defaults_of(const char *command, int *count)
{
	static char *text, *own; /* words point into them */
	SCOPED char *path = config_path();
	const char *options = getenv("BRICK_OPTIONS");
	text = path ? options_read_file(path) : NULL;
	own = options ? xstrdup(options) : NULL;
	if (text)
		options_read_lines(text, "\n", command, path);
	if (own)
		options_read_lines(own, "\n;", command, "BRICK_OPTIONS");
	*count = (int)lines.count;
	return lines.items;
}

enum { MAX_OPTIONS = 48, FIRST_VALUE = 256, HELP_WIDTH = 80 };

/* Values. */

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

void option_percent(const struct option_use *use, const char *text)
{
	*(double *)use->to =
		option_double(use, text, 0, 1000, "percent, a number from 0 to 1000") / 100;
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

/* Help. */

/* "-o, --output OUT"; the caller frees. */
static char *left_of(const struct cli_option *option, bool any_letter)
{
	const char *blanks = any_letter ? "    " : "";
	char letter[5] = {'-', option->letter, ',', ' ', '\0'};
	bool apart = option->value && !option_value_is_optional(option);
	return xasprintf("  %s--%s%s%s", option->letter ? letter : blanks, option->name,
		apart ? " " : "", option->value ? option->value : "");
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
	const struct cli_option *options = command->options;
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
	if (command->notes) {
		putchar('\n');
		text_wrap(stdout, HELP_WIDTH, 0, "", command->notes);
	}
}

/* Parsing. */

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

static const struct cli_option *option_of(const struct cli_option *options, int c)
{
	if (c >= FIRST_VALUE)
		return &options[c - FIRST_VALUE];
	while (options->letter != c)
		options++;
	return options;
}

/* is_default: not of the command line. */
static void options_parse_words(
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
		options_parse_words(command, options, lines[i].argc, lines[i].argv, true);
	}
	warn_where_set(NULL);
	options_parse_words(command, options, argc, argv, false);
}
