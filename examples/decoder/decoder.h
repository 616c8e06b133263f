// SPDX-License-Identifier: Apache-2.0
//
// A decoder: a model, the threads that compute it and the state of one text. It evaluates tokens
// and says which comes next. One thread at a time.
#pragma once

#include "decoder_kernels.h"
#include "decoder_model.h"
#include "decoder_opencl.h"
#include "decoder_team.h"

// For tests: results of a brick, or a buffer, in a layer are multiplied by a factor.
struct mistake {
	char of[32]; // "": of none
	int layer;
	int feature, token; // only this one; -1: all
	float factor;
};

struct decoder_options {
	const struct kernels *kernels;
	struct opencl *opencl;	     // for products with weights; NULL: the CPU
	size_t n_context, n_threads; // n_context: tokens of the text, all in all
	struct mistake mistake;
};

// A worker's part of a product for so many tokens, as a site of Brick.
struct site {
	size_t tokens;
	uint32_t index;
};

struct decoder {
	struct decoder_options options;
	const struct model *model;
	struct team *team;
	size_t n_batch; // most tokens in one pass
	size_t n_past;	// tokens in the cache; set it to 0 to begin a new text
	// A row per token of the batch; scores: [head][token][position]; logits: of the last token.
	float *residual, *branch, *normed, *query, *key, *value, *attended, *gate, *up;
	float *scores, *logits;
	size_t n_positions;	 // n_context in whole blocks
	uint16_t *key_cache;	 // [layer][position][kv_size], binary16
	uint16_t *value_cache;	 // [layer][kv_size][position]: transposed, for sums over positions
	float *rope;		 // [position][pair]: cosine, sine
	struct site (*sites)[2]; // [worker][matrix]: for prompts and for single tokens
	// Of the pass that is running; is_last: of an evaluation, so that a token is wanted.
	const int32_t *tokens;
	size_t n_tokens;
	bool is_last;
	int32_t next;
};

struct decoder *decoder_create(const struct model *model, const struct decoder_options *options);
void decoder_destroy(struct decoder *decoder);

// The most likely token behind the text and these, which must fit and be below n_vocab.
int32_t decoder_evaluate(struct decoder *decoder, const int32_t *tokens, size_t n);

// Most tokens in one pass of a text.
size_t decoder_batch(size_t n_context);

// Parts of a pass, called by all workers together: out[token][row] = matrix * x[token], where a
// worker does the rows of its part; and all between projections, for the worker's key heads.
void matmul(struct decoder *d, const struct worker *w, int brick, int layer,
	const struct matrix *matrix, const float *x, float *out, size_t n_tokens);
void matmul_wait(struct decoder *d, const struct worker *w); // before others read the products
void attention(struct decoder *d, const struct worker *w, int layer);

// Behind a part, called by all workers: the digest of a buffer, made from x and y (or NULL), and
// from weights of a type. `out` is where its n rows begin. Makes the mistake that is asked for.
void digest(struct decoder *d, const struct worker *w, int brick, int layer, enum gguf_type type,
	const float *x, const float *y, float *out, size_t n);
void rope_init(float *out, size_t n_positions, const struct model *model);
