// SPDX-License-Identifier: Apache-2.0
//
// A decoder: a model, the threads that compute it and the state of one text. It evaluates tokens
// and says which comes next. One thread at a time.
#ifndef DECODER_DECODER_H
#define DECODER_DECODER_H

#include "kernels.h"
#include "model.h"
#include "team.h"

struct decoder_options {
	const struct kernels *kernels;
	size_t n_context;   // tokens of the text, all in all
	size_t n_threads;
	int wrong_layer;    // for tests: RoPE of this layer is made wrong; -1: of none
	float wrong_factor; // by this
};

// A worker's part of one product, as sites: for a prompt, and for a single token.
struct product_sites {
	size_t tokens[2];
	uint32_t site[2];
};

struct decoder {
	struct decoder_options options;
	const struct model *model;
	struct team *team;
	size_t n_batch; // most tokens in one pass
	size_t n_past;  // tokens in the cache; 0 begins a new text

	// A row per token of the batch; scores: [head][token][position]; logits: of the last token.
	float *residual, *branch, *normed, *query, *key, *value, *attended, *gate, *up;
	float *scores, *logits;

	size_t n_positions;    // n_context in whole blocks
	uint16_t *key_cache;   // [layer][position][kv_size], binary16
	uint16_t *value_cache; // [layer][kv_size][position]: transposed, for sums over positions
	float *rope;           // [position][pair]: cosine, sine

	struct product_sites *sites; // [worker][matrix]
	uint32_t brick_cache_write, brick_residual; // bricks that Brick does not know

	// Of the pass that is running.
	const int32_t *tokens;
	size_t n_tokens;
	bool is_last; // of an evaluation: a token is wanted
	int32_t next;
};

struct decoder *decoder_create(const struct model *model, const struct decoder_options *options);
void decoder_destroy(struct decoder *decoder);

// The most likely token behind the text and these, which must fit and be below n_vocab.
int32_t decoder_evaluate(struct decoder *decoder, const int32_t *tokens, size_t n);

// --- parts of a pass, called by all workers together ---

// out[token][row] = matrix * x[token]; a worker does some of the rows.
void matmul(struct decoder *d, const struct worker *w, uint32_t brick, int layer,
	const struct matrix *matrix, const float *x, float *out, size_t n_tokens);

// Positions, cache, scores, softmax and sums of values, for the key heads that are the worker's.
void attention(struct decoder *d, const struct worker *w, int layer);

// The rows that matmul() gives to a worker.
struct part matmul_part(const struct worker *w, const struct matrix *matrix);

// cosine, sine for n_pairs angles of each position.
void rope_init(float *out, size_t n_positions, const struct model *model);

#endif
