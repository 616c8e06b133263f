// SPDX-License-Identifier: Apache-2.0
//
// A model of the llama architecture: its shape and its weights, which stay in the mapped file.
// Read-only once opened: any thread.
#pragma once

#include "gguf.h"

// y[row] = sum over col of data[row][col] * x[col]
struct matrix {
	char name[48];	 // as in the file
	uint32_t number; // each has its own, below n_matrices
	enum gguf_type type;
	size_t rows, cols, row_bytes;
	const void *data;
};

struct layer {
	const float *attention_norm, *ffn_norm; // [n_embd]
	struct matrix query, key, value, output, gate, up, down;
};

struct model {
	struct gguf file;
	uint32_t n_layers, n_embd, n_ff, n_heads, n_kv_heads, n_vocab, n_matrices;
	uint32_t head_size, kv_size, n_rope; // of a head; of all key heads; how much is rotated
	float rope_base, epsilon;
	const float *output_norm;
	struct matrix embedding, head;
	struct layer *layers;
};

// 0, or -1 with model->file.why set. Close it in either case. model_read(): model->file is open.
int model_open(struct model *model, const char *path);
int model_read(struct model *model);
void model_close(struct model *model);

// A row of a matrix as floats.
void matrix_row(const struct matrix *matrix, size_t row, float *out);
