// SPDX-License-Identifier: Apache-2.0
//
// Products with weights on an OpenCL device, timed through brick/device.h. One thread at a time.
#pragma once

#include "decoder_model.h"

struct opencl;

// The weights go to the first device there is. NULL: why says the reason. They stay in the model,
// too, which must outlive this; n_batch: most tokens of a product.
struct opencl *opencl_create(const struct model *model, size_t n_batch, const char **why);
void opencl_destroy(struct opencl *o);

// out[token][row] = matrix * x[token]. The result is there, and x may change, after opencl_wait().
void opencl_matmul(struct opencl *o, int brick, int layer, const struct matrix *matrix,
	const float *x, float *out, size_t n_tokens);
void opencl_wait(struct opencl *o);

// All products of a layer, and all of a pass, have been asked for.
void opencl_layer_end(struct opencl *o);
void opencl_pass_end(struct opencl *o);

// When to synchronise, from now on (enum brick_mode).
void opencl_mode_set(struct opencl *o, uint32_t mode);
