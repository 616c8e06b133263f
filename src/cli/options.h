/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a command are declared in one table, which getopt_long(), --help, shell completion
 * and suggestions for typing errors use. Words that a value or an operand can be come from the same
 * tables as the commands' own, or from a recording: parsers accept them, messages name them, and
 * shells complete them. Main thread.
 */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "base/array.h"
#include "cli/command.h"
#include "trace/run.h"

/* Words that a value or an operand can be. */
struct option_words {
	const struct run *run; /* the recording at hand; NULL: there is none */
	ARRAY(char *) list;    /* owned; without duplicates */
};

/* Adds words to the list. */
typedef void (*option_words_fn)(struct option_words *words);

/* Append copies of a word, or of `count` words, unless the list has them. */
void words_add(struct option_words *words, const char *word);
void words_add_all(struct option_words *words, const char *const *names, size_t count);
void words_fini(struct option_words *words);

/* Defines a function that adds these words; a ';' follows. */
#define WORDS(function, ...)                                                   \
	void function(struct option_words *words)                              \
	{                                                                      \
		static const char *const names[] = {__VA_ARGS__};              \
		words_add_all(words, names, sizeof(names) / sizeof(names[0])); \
	}                                                                      \
	struct option_words

/* Words that several commands know. */

void words_phases(struct option_words *words);
void words_phases_or_all(struct option_words *words);
void words_step(struct option_words *words);	/* --step */
void words_rows(struct option_words *words);	/* --by of diff and bench: brick, category, layer */
void words_metrics(struct option_words *words); /* --metric of diff and bench */
void words_references(struct option_words *words);  /* of the history: @last, its labels */
void words_labels(struct option_words *words);	    /* the labels alone */
void words_record_mode(struct option_words *words); /* cmd_record.c */
void words_attach(struct option_words *words);	    /* cmd_record.c */

/* Words from the recording at hand; without a recording there are none. */
void words_steps(struct option_words *words);
void words_layers(struct option_words *words);
void words_threads(struct option_words *words);
void words_bricks(struct option_words *words);

/* An option that was given. */
struct option_use {
	const struct cli_command *command;
	const struct cli_option *option;
	void *to; /* the member at `option->at` of the command's struct options */
};

struct cli_option {
	const char *name; /* without the dashes */
	/*
	 * The word for the value in --help; NULL: the option has no value; "[=WHAT]": the value is
	 * optional. A word with LIST takes several of `words`; FILE, OUT, DIR and PATH are files.
	 */
	const char *value;
	const char *help;
	/* Stores the value in use->to, or ends the program with wrong usage. text: NULL without a
	 * value. */
	void (*set)(const struct option_use *use, const char *text);
	size_t at;		 /* offset of the value in the command's struct options: AT() */
	unsigned long low, high; /* bounds, inclusive, for option_number() */
	char letter;		 /* the short form; 0: there is none */
	/* possible values, for option_choice() and for shells; NULL: anything */
	option_words_fn words;
};

/* True for an option like "--columns a,b", whose value is a list of words. */
static inline bool option_value_is_list(const struct cli_option *option)
{
	return option->value && strstr(option->value, "LIST") != NULL;
}

/* True if the value is a file or a directory, by the words that all tables use for them. */
static inline bool option_value_is_file(const struct cli_option *option)
{
	static const char *const names[] = {"FILE", "OUT", "DIR", "PATH"};
	for (size_t i = 0; option->value && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(option->value, names[i]))
			return true;
	return false;
}

static inline bool option_value_is_optional(const struct cli_option *option)
{
	return option->value && option->value[0] == '[';
}

/* The place of an option's value in a file's own struct options. */
#define AT(member) .at = offsetof(struct options, member)

/* The end of each table. */
/* clang-format off */
#define OPTION_HELP {"help", NULL, "show this and exit", .letter = 'h'}, {.name = NULL}
/* clang-format on */

/* Setters, by the type of the member that they store into. */
void option_flag(const struct option_use *use, const char *text);   /* bool */
void option_text(const struct option_use *use, const char *text);   /* const char * */
void option_number(const struct option_use *use, const char *text); /* unsigned long */
void option_index(const struct option_use *use, const char *text);  /* int: option_choice() */
/* double: takes percent, stores a share */
void option_percent(const struct option_use *use, const char *text);
/* int: a phase, or SUMMARY_ALL_PHASES */
void option_phase_or_all(const struct option_use *use, const char *text);

/*
 * The index of `text` in the option's words. Another text is wrong usage: the message suggests a
 * similar word, or names all words.
 */
int option_choice(const struct option_use *use, const char *text);

/* A number from `low` to `high`; else wrong usage: the value "must be <what>". */
double option_double(
	const struct option_use *use, const char *text, double low, double high, const char *what);

/*
 * Store all options into the command's struct options: those of the configuration, of the
 * environment, and of the command line, each over the ones before. Options and operands may be
 * mixed on the command line, unless the command runs a program (CLI_RUNS). Afterwards operands are
 * from optind on. Help and wrong usage end the program.
 */
void options_parse(const struct cli_command *command, void *options, int argc, char **argv);
