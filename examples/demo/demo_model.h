// SPDX-License-Identifier: Apache-2.0
//
// A model of architecture "llama" with random weights. The weight at a place depends on the seed,
// the tensor and the place only, so the files of all types hold the same weights up to rounding.
// Norms are near 1 and products keep the size of what they multiply, so activations stay finite
// and differ from token to token. Thread rule: any thread.
#pragma once

#include <stdint.h>

#include "gguf_writer.h"

struct model_shape {
	enum gguf_type type; // of the matrices; norms are F32
	uint32_t n_layers;
	uint32_t n_embd;
	uint32_t n_heads;
	uint32_t n_kv_heads;
	uint32_t n_ff;
	uint32_t n_vocab;
	uint32_t n_ctx;
	uint64_t seed;
};

// NULL if such a model can be made, else what is wrong with the shape.
const char *model_check(const struct model_shape *s);

// Writes the model to `path`, whole or not at all, and says how large it became. 0 or -errno.
int model_write(const struct model_shape *s, const char *path, uint64_t *n_params, uint64_t *bytes);
