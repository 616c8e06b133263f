// SPDX-License-Identifier: Apache-2.0
//
// Builds the vocabulary of vocab.h. Invariant: a piece of more than one character can be made by
// joining two pieces of the vocabulary, because joining neighbours is all the tokenizer does.
#include "vocab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE "\xe2\x96\x81" // U+2581, how this kind of tokenizer writes a space

enum kind {
	KIND_NORMAL = 1,
	KIND_UNKNOWN = 2,
	KIND_CONTROL = 3,
	KIND_UNUSED = 5,
	KIND_BYTE = 6,
};

static const char words[] =
	"the of and to in is that for it with as was on are this be at by from or have an "
	"they which one you had not were but all we when there can more if will each "
	"about how up out them then she many some time would into has two like other her "
	"could make than first been its who now people only did down made over after "
	"where back little work year came show every good give our under name very "
	"through just form great think say help low line before turn cause same mean "
	"differ move right old too does tell sentence set three want air well also play "
	"small end put home read hand large spell add even land here must big high such "
	"follow act why ask change light kind need house picture try again point mother "
	"world near build self earth father any new part take place live most token layer "
	"model engine measure clock kernel memory attention normal output input weight "
	"number letter question answer system program language machine learn train "
	"profile trace record report second minute speed slow fast brick wall science";

static const char vowels[] = "aeiouy";
static const char consonants[] = "tnshrdlcmwfgpbvk";

// Adds one piece unless it is there or the vocabulary is full. Quadratic in small numbers.
static int add_piece(struct vocab *v, enum kind kind, const char *piece)
{
	uint32_t id = v->size;

	for (uint32_t i = 0; i < id; i++) {
		if (!strcmp(v->pieces[i], piece))
			return 0;
	}
	v->pieces[id] = strdup(piece);
	if (!v->pieces[id])
		return -ENOMEM;
	v->kinds[id] = kind;
	v->scores[id] = kind == KIND_NORMAL ? -(float)id : 0;
	v->size++;
	return 0;
}

static int add_bytes(struct vocab *v)
{
	char piece[8];
	int error = 0;

	for (int i = 0; i < 256 && !error; i++) {
		snprintf(piece, sizeof(piece), "<0x%02X>", i);
		error = add_piece(v, KIND_BYTE, piece);
	}
	return error;
}

static int add_characters(struct vocab *v)
{
	int error = add_piece(v, KIND_NORMAL, SPACE);

	for (char c = '!'; c <= '~' && !error; c++)
		error = add_piece(v, KIND_NORMAL, (char[]){c, 0});
	return error;
}

// The word behind a space, and each beginning of it.
static int add_word(struct vocab *v, const char *word, int length, uint32_t capacity)
{
	char piece[32];
	int error = 0;

	for (int n = 1; n <= length && !error && v->size < capacity; n++) {
		snprintf(piece, sizeof(piece), SPACE "%.*s", n, word);
		error = add_piece(v, KIND_NORMAL, piece);
	}
	return error;
}

static int add_words(struct vocab *v, uint32_t capacity)
{
	const char *word = words;
	int error = 0;

	while (*word && !error) {
		int length = (int)strcspn(word, " ");

		error = add_word(v, word, length, capacity);
		word += length + (word[length] == ' ');
	}
	return error;
}

// Consonant and vowel, then consonant, vowel and consonant.
static int add_syllables(struct vocab *v, uint32_t capacity)
{
	int error = 0;

	for (const char *c = consonants; *c; c++) {
		for (const char *o = vowels; *o && !error && v->size < capacity; o++)
			error = add_piece(v, KIND_NORMAL, (char[]){*c, *o, 0});
	}
	for (size_t i = 0; i < 16 * 6 * 16 && !error && v->size < capacity; i++) {
		char piece[] = {consonants[i / 96], vowels[i / 16 % 6], consonants[i % 16], 0};

		error = add_piece(v, KIND_NORMAL, piece);
	}
	return error;
}

static int add_unused(struct vocab *v, uint32_t capacity)
{
	char piece[24];
	int error = 0;

	while (v->size < capacity && !error) {
		snprintf(piece, sizeof(piece), "<unused%u>", v->size);
		v->pieces[v->size] = strdup(piece);
		if (!v->pieces[v->size])
			return -ENOMEM;
		v->kinds[v->size++] = KIND_UNUSED;
	}
	return error;
}

static int add_all(struct vocab *v, uint32_t capacity)
{
	int error = add_piece(v, KIND_UNKNOWN, "<unk>");

	if (!error)
		error = add_piece(v, KIND_CONTROL, "<s>");
	if (!error)
		error = add_piece(v, KIND_CONTROL, "</s>");
	if (!error)
		error = add_bytes(v);
	if (!error)
		error = add_characters(v);
	if (!error)
		error = add_words(v, capacity);
	if (!error)
		error = add_syllables(v, capacity);
	if (!error)
		error = add_unused(v, capacity);
	return error;
}

int vocab_init(struct vocab *v, uint32_t size)
{
	int error = -ENOMEM;

	*v = (struct vocab){0};
	v->pieces = calloc(size, sizeof(*v->pieces));
	v->scores = calloc(size, sizeof(*v->scores));
	v->kinds = calloc(size, sizeof(*v->kinds));
	if (v->pieces && v->scores && v->kinds)
		error = add_all(v, size);
	if (error)
		vocab_fini(v);
	return error;
}

void vocab_fini(struct vocab *v)
{
	for (uint32_t i = 0; i < v->size; i++)
		free(v->pieces[i]);
	free(v->pieces);
	free(v->scores);
	free(v->kinds);
	*v = (struct vocab){0};
}
