// SPDX-License-Identifier: Apache-2.0
//
// In place of opencl.c where there are no OpenCL headers to build it with.
#include "decoder_opencl.h"

struct opencl *opencl_create(const struct model *model, size_t n_batch, const char **why)
{
	*why = "built without OpenCL headers";
	return NULL;
}

void opencl_destroy(struct opencl *o)
{
}

void opencl_matmul(struct opencl *o, int brick, int layer, const struct matrix *matrix,
	const float *x, float *out, size_t n_tokens)
{
}

void opencl_wait(struct opencl *o)
{
}

void opencl_layer_end(struct opencl *o)
{
}

void opencl_pass_end(struct opencl *o)
{
}

void opencl_mode_set(struct opencl *o, uint32_t mode)
{
}
