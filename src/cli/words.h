/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that can stand for an option's value or for an operand, made of the tables that the
 * commands themselves use, or of a recording: what parsers accept, what complaints name, and what
 * shells complete. Main thread.
 */
#pragma once

#include "base/array.h"
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

/* ---- words that several commands know ---- */

void words_phases(struct option_words *words);
void words_phases_or_all(struct option_words *words);
void words_step(struct option_words *words);	    /* --step */
void words_rows(struct option_words *words);	    /* --by of what compares: brick, layer */
void words_references(struct option_words *words);  /* of the history: @last, its labels */
void words_labels(struct option_words *words);	    /* the labels alone */
void words_record_mode(struct option_words *words); /* record_options.c */
void words_attach(struct option_words *words);	    /* the same */

/* Of the recording; none where there is none. */
void words_steps(struct option_words *words);
void words_layers(struct option_words *words);
void words_threads(struct option_words *words);
void words_bricks(struct option_words *words);
