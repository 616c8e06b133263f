// SPDX-License-Identifier: Apache-2.0
//
// Tokens of a vocabulary of the SentencePiece kind ("llama"), word by word: of all neighbours that
// make a known piece together, those with the best score are joined, the leftmost first, until
// there are none. The text is that of examples/demo/llama_run.c, so that the prompts are the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gguf.h"

static const char prompt_text[] =
	"The people who build an engine want to know where the time of every token went. "
	"They measure each layer and each part of it with a clock, and they show it as a line. "
	"A good answer is one that you could make again on the same machine and then on another. ";

enum { WORD_MAX = 64 };
#define SPACE "\xe2\x96\x81" // U+2581, with which every word begins

struct vocabulary {
	const void *pieces; // strings, one after the other
	const char *scores;
	uint32_t n, first; // how many; that with which a text begins
};

// The token that is this text, or -1.
static int find(const struct vocabulary *v, const char *text, size_t size, float *score)
{
	const void *at = v->pieces;
	for (uint32_t i = 0; i < v->n; i++) {
		struct gguf_text piece = gguf_text(&at);
		if (piece.size == size && !memcmp(piece.data, text, size)) {
			memcpy(score, v->scores + 4 * (size_t)i, 4);
			return (int)i;
		}
	}
	return -1;
}

// Where the parts begin that a word falls into, and its end. Returns the number of parts.
static size_t cut_word(const struct vocabulary *v, const char *word, size_t size, size_t *cuts)
{
	size_t n = 0;
	for (size_t i = 0; i <= size; i += i ? 1 : strlen(SPACE))
		cuts[n++] = i;
	for (;;) {
		size_t best = SIZE_MAX;
		float best_score = 0, score = 0;
		for (size_t i = 0; i + 2 < n; i++) {
			if (find(v, word + cuts[i], cuts[i + 2] - cuts[i], &score) < 0)
				continue;
			if (best == SIZE_MAX || score > best_score) {
				best = i;
				best_score = score;
			}
		}
		if (best == SIZE_MAX)
			return n - 1;
		n--;
		memmove(&cuts[best + 1], &cuts[best + 2], (n - best - 1) * sizeof(*cuts));
	}
}

static bool read_vocabulary(struct vocabulary *v, struct gguf *file, uint32_t n)
{
	uint64_t n_tokens = 0, n_scores = 0;
	const void *kind = gguf_value(file, "tokenizer.ggml.model", GGUF_STRING, NULL);
	v->pieces = gguf_value(file, "tokenizer.ggml.tokens", GGUF_STRING, &n_tokens);
	v->scores = gguf_value(file, "tokenizer.ggml.scores", GGUF_FLOAT32, &n_scores);
	v->n = n;
	gguf_get(file, "tokenizer.ggml.bos_token_id", GGUF_UINT32, &v->first);
	if (!kind || !gguf_text_is(gguf_text(&kind), "llama"))
		gguf_fail(file, 0, "tokenizer.ggml.model is not llama");
	if (n_tokens != n || n_scores != n)
		gguf_fail(file, 0, "%u embeddings, but not as many tokens and scores", n);
	if (v->first >= n)
		gguf_fail(file, 0, "texts begin with token %u of %u", v->first, n);
	return !file->failed;
}

int32_t *gguf_prompt(struct gguf *file, uint32_t n_vocab, size_t n)
{
	struct vocabulary v = {.first = 1};
	if (!read_vocabulary(&v, file, n_vocab))
		return NULL;
	int32_t *tokens = calloc(n, sizeof(*tokens));
	if (!tokens) {
		gguf_fail(file, 0, "no memory for a prompt of %zu tokens", n);
		return NULL;
	}
	size_t n_done = 1, cuts[WORD_MAX];
	tokens[0] = (int32_t)v.first;
	for (const char *at = prompt_text; n_done < n && *at; at += strcspn(at, " ") + 1) {
		char word[WORD_MAX];
		int size = snprintf(word, sizeof(word), SPACE "%.*s", (int)strcspn(at, " "), at);
		size_t n_parts = cut_word(&v, word, (size_t)size, cuts);
		for (size_t i = 0; i < n_parts && n_done < n; i++) {
			float score;
			int token = find(&v, word + cuts[i], cuts[i + 1] - cuts[i], &score);
			tokens[n_done++] = token < 0 ? 0 : token; // 0: unknown
		}
	}
	for (size_t i = n_done; i < n; i++) // the text over and over
		tokens[i] = tokens[i - n_done + 1];
	return tokens;
}
