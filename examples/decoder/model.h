// SPDX-License-Identifier: Apache-2.0
//
// A model of the llama architecture: its shape and its weights, which stay in the mapped file.
// Read-only once loaded: any thread.
#ifndef DECODER_MODEL_H
#define DECODER_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "gguf.h"

// y[row] = sum over col of data[row][col] * x[col]
struct matrix {
	char name[48]; // as in the file
	enum gguf_type type;
	size_t rows, cols;
	size_t row_bytes;
	const void *data;
};

struct layer {
	const float *attention_norm, *ffn_norm; // [n_embd]
	struct matrix query, key, value, output;
	struct matrix gate, up, down;
};

struct model {
	struct gguf file;
	uint32_t n_layers, n_embd, n_ff, n_heads, n_kv_heads, n_context, n_vocab, n_rope;
	uint32_t head_size; // n_embd / n_heads
	uint32_t kv_size;   // of all key heads of a token
	float epsilon, rope_base;
	bool quantized; // some matrix is Q8_0
	struct matrix embedding, head;
	const float *output_norm;
	struct layer *layers;
};

// 0, or -1 with model->file.why set. Close it in either case.
int model_open(struct model *model, const char *path);
void model_close(struct model *model);

// A row of a matrix as floats.
void matrix_row(const struct matrix *matrix, size_t row, float *out);

#endif
