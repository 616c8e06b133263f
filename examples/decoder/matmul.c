// SPDX-License-Identifier: Apache-2.0
//
// Products with weights. What one of them does is known from its shape: it is registered as a site
// once, so that saying it costs nothing where time counts.
#include "brick/brick.h"
#include "decoder.h"

static uint32_t register_site(
	int brick, int layer, const struct matrix *matrix, const struct gemm *g)
{
	int site = brick_site_register(&(struct brick_site){
		.size = sizeof(struct brick_site),
		.brick = (uint32_t)brick,
		.layer = layer,
		.flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS,
		.elements = g->rows * g->tokens,
		.bytes = g->rows * g->w_stride + (g->rows + g->k) * g->tokens * sizeof(float),
		.flops = 2 * g->rows * g->k * g->tokens,
		.label = matrix->name,
	});
	return site > 0 ? (uint32_t)site : 0; // too many: then the work is not counted
}

void matmul(struct decoder *d, const struct worker *w, int brick, int layer,
	const struct matrix *matrix, const float *x, float *out, size_t n_tokens)
{
	if (d->options.opencl) {
		if (!w->index)
			opencl_matmul(d->options.opencl, brick, layer, matrix, x, out, n_tokens);
		return;
	}
	struct part part = team_part(w, matrix->rows, ROWS_OF_PARTS);
	const struct gemm g = {
		.w = (const char *)matrix->data + part.begin * matrix->row_bytes,
		.x = x,
		.out = out + part.begin,
		.w_stride = matrix->row_bytes,
		.x_stride = matrix->cols,
		.out_stride = matrix->rows,
		.rows = part.end - part.begin,
		.tokens = n_tokens,
		.k = matrix->cols,
		.part = w->index,
		.first_row = part.begin,
		.has_tiles = true,
	};
	if (!g.rows)
		return;
	struct site *site = d->sites[w->index * d->model->n_matrices + matrix->number];
	site += n_tokens == 1;
	if (brick_enabled() && site->tokens != n_tokens)
		*site = (struct site){n_tokens, register_site(brick, layer, matrix, &g)};
	brick_span span = brick_begin((uint32_t)brick);
	if (matrix->type == GGUF_F32)
		d->options.kernels->gemm_f32(&g);
	else if (matrix->type == GGUF_F16)
		d->options.kernels->gemm_f16(&g);
	else
		d->options.kernels->gemm_q8_0(&g);
	brick_end_site(span, site->index);
}

void matmul_wait(struct decoder *d, const struct worker *w)
{
	if (d->options.opencl && !w->index)
		opencl_wait(d->options.opencl);
	team_wait(w);
}
