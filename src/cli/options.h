/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command, declared once: getopt_long(), --help and suggestions for typing errors use
 * the same table. The words that can stand for a value or an operand come from the tables that the
 * commands themselves use, or from a recording. Parsers accept them, complaints name them, and
 * shells complete them. All complaints look alike. Main thread.
 */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "base/array.h"
#include "cli/command.h"
#include "trace/run.h"

struct option_words {
	const struct run *run; /* the recording at hand; NULL: there is none */
	ARRAY(char *) list;
};

/* Adds its words. */
typedef void (*option_words_fn)(struct option_words *words);

/* Append a copy, unless it is there; of the first `count` of an array. */
void words_add(struct option_words *words, const char *word);
void words_add_all(struct option_words *words, const char *const *names, size_t count);
void words_fini(struct option_words *words);

/* The definition of a function that adds these words; a ';' follows. */
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
void words_attach(struct option_words *words);	    /* the same */

/* From the recording at hand; none without one. */
void words_steps(struct option_words *words);
void words_layers(struct option_words *words);
void words_threads(struct option_words *words);
void words_bricks(struct option_words *words);

/* An option that was given. */
struct option_use {
	const struct cli_command *command;
	const struct cli_option *option;
	void *to; /* the member of the command's options, see below */
};

struct cli_option {
	const char *name; /* without the dashes */
	/* the word for its value in --help; "[=WHAT]": it can do without; NULL: it takes none */
	const char *value;
	const char *help;
	/* Stores the value, or ends the program with wrong usage. text: NULL without a value. */
	void (*set)(const struct option_use *use, const char *text);
	size_t at;		 /* offset of its value in the command's options */
	unsigned long low, high; /* of a number */
	char letter;		 /* 0: it has no short form */
	/* possible values, for option_choice() and for shells; NULL: anything */
	option_words_fn words;
};

/* "--columns a,b": some of its words, with commas between. */
static inline bool option_value_is_list(const struct cli_option *option)
{
	return option->value && strstr(option->value, "LIST") != NULL;
}

/* Files and directories are named so in all tables. */
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

/* Setters: of a bool, a const char *, an unsigned long within its bounds, an int: the index
 * of a word, or of a phase or SUMMARY_ALL_PHASES. */
void option_flag(const struct option_use *use, const char *text);
void option_text(const struct option_use *use, const char *text);
void option_number(const struct option_use *use, const char *text);
void option_index(const struct option_use *use, const char *text);
/* Takes percent, and stores a share as a double. */
void option_percent(const struct option_use *use, const char *text);
void option_phase_or_all(const struct option_use *use, const char *text);

/*
 * Index of the option's word. Any other word is wrong usage: the message has the word that may be
 * meant, or all of them.
 */
int option_choice(const struct option_use *use, const char *text);

/* A number within bounds; else wrong usage: it "must be <what>". */
double option_double(
	const struct option_use *use, const char *text, double low, double high, const char *what);

/*
 * Store all options: those of the configuration and the environment, then those of the
 * command line. There options and operands may be mixed, unless the command runs a program;
 * operands are from optind on afterwards. Help and wrong usage end the program.
 */
void options_parse(const struct cli_command *command, void *options, int argc, char **argv);
