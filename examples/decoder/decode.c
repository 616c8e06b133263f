// SPDX-License-Identifier: Apache-2.0
//
// The pass through the model. Every worker runs forward(); between a part that writes something and
// a part in which other workers read it stands a team_wait(). A brick is begun and ended around
// each part; while nothing records, that costs a branch.
#include <math.h>
#include "brick/brick.h"
#include "decoder.h"
#include "decoder_memory.h"

enum { BATCH_MAX = 512 };

static void embed(struct decoder *d, const struct worker *w)
{
	struct part part = team_part(w, d->n_tokens, 1);
	size_t n_embd = d->model->n_embd;
	if (part.begin == part.end)
		return;
	brick_span span = brick_begin(BRICK_EMBEDDING);
	for (size_t t = part.begin; t < part.end; t++)
		matrix_row(&d->model->embedding, (size_t)d->tokens[t], d->residual + t * n_embd);
	brick_end_elements(span, (part.end - part.begin) * n_embd);
}

static void norm_row(const float *x, const float *weight, float *out, size_t n, float epsilon)
{
	float sums[4] = {0}; // several, because an addition waits for the one before it
	for (size_t i = 0; i < n; i++)
		sums[i % 4] += x[i] * x[i];
	float mean = (sums[0] + sums[1] + sums[2] + sums[3]) / (float)n;
	float scale = 1 / sqrtf(mean + epsilon);
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] * scale * weight[i];
}

static void norm(struct decoder *d, const struct worker *w, const float *x, const float *weight,
	size_t n_tokens)
{
	size_t n_embd = d->model->n_embd;
	struct part part = team_part(w, n_tokens * n_embd, n_embd);
	size_t n = part.end - part.begin;
	if (!n)
		return;
	brick_span span = brick_begin(BRICK_RMS_NORM);
	for (size_t i = part.begin; i < part.end; i += n_embd)
		norm_row(x + i, weight, d->normed + i, n_embd, d->model->epsilon);
	brick_end_work(span, n, 8 * n, 4 * n);
}

static void add_branch(
	struct decoder *d, const struct worker *w, float *x, const float *branch, size_t n_tokens)
{
	struct part part = team_part(w, n_tokens * d->model->n_embd, d->model->n_embd);
	size_t n = part.end - part.begin;
	if (!n)
		return;
	brick_span span = brick_begin(BRICK_RESIDUAL_ADD);
	for (size_t i = part.begin; i < part.end; i++)
		x[i] += branch[i];
	brick_end_work(span, n, 12 * n, n);
}

// gate = silu(gate) * up, in the columns that the worker has made itself.
static void activate(struct decoder *d, struct part cols, size_t n_tokens)
{
	size_t n_ff = d->model->n_ff, n = n_tokens * (cols.end - cols.begin);
	if (!n)
		return;
	brick_span span = brick_begin(BRICK_ACTIVATION);
	for (size_t t = 0; t < n_tokens; t++)
		for (size_t i = t * n_ff + cols.begin; i < t * n_ff + cols.end; i++)
			d->gate[i] = d->gate[i] / (1 + expf(-d->gate[i])) * d->up[i];
	brick_end_work(span, n, 12 * n, 5 * n);
}

static void project(struct decoder *d, const struct worker *w, int brick, int layer,
	const struct matrix *matrix, const float *x, float *out, size_t n)
{
	matmul(d, w, brick, layer, matrix, x, out, n);
	if (d->options.opencl && brick_digests_wanted())
		matmul_wait(d, w);
	digest(d, w, brick, layer, matrix->type, x, NULL, out, n);
}

static void attention_block(struct decoder *d, const struct worker *w, int i)
{
	const struct layer *layer = &d->model->layers[i];
	size_t n = d->n_tokens;
	norm(d, w, d->residual, layer->attention_norm, n);
	digest(d, w, BRICK_RMS_NORM, i, GGUF_F32, d->residual, NULL, d->normed, n);
	team_wait(w);
	project(d, w, BRICK_QKV_PROJECTION, i, &layer->query, d->normed, d->query, n);
	project(d, w, BRICK_QKV_PROJECTION, i, &layer->key, d->normed, d->key, n);
	project(d, w, BRICK_QKV_PROJECTION, i, &layer->value, d->normed, d->value, n);
	matmul_wait(d, w);
	attention(d, w, i);
	digest(d, w, BRICK_ATTENTION_OUTPUT, i, GGUF_F16, d->query, d->value, d->attended, n);
	team_wait(w);
	project(d, w, BRICK_OUTPUT_PROJECTION, i, &layer->output, d->attended, d->branch, n);
	matmul_wait(d, w);
}

static void ffn_block(struct decoder *d, const struct worker *w, int i, const float *x, size_t n)
{
	const struct layer *layer = &d->model->layers[i];
	norm(d, w, x, layer->ffn_norm, n);
	digest(d, w, BRICK_RMS_NORM, i, GGUF_F32, x, NULL, d->normed, n);
	team_wait(w);
	project(d, w, BRICK_GATE_PROJECTION, i, &layer->gate, d->normed, d->gate, n);
	project(d, w, BRICK_UP_PROJECTION, i, &layer->up, d->normed, d->up, n);
	if (d->options.opencl)
		matmul_wait(d, w);
	activate(d, team_part(w, d->model->n_ff, ROWS_OF_PARTS), n);
	digest(d, w, BRICK_ACTIVATION, i, GGUF_F32, d->gate, d->up, d->gate, n);
	team_wait(w);
	project(d, w, BRICK_DOWN_PROJECTION, i, &layer->down, d->gate, d->branch, n);
	if (d->options.opencl && !w->index)
		opencl_layer_end(d->options.opencl);
	matmul_wait(d, w);
}

static void predict(struct decoder *d, const struct worker *w, const float *x)
{
	norm(d, w, x, d->model->output_norm, 1);
	digest(d, w, BRICK_RMS_NORM, -1, GGUF_F32, x, NULL, d->normed, 1);
	team_wait(w);
	project(d, w, BRICK_LM_HEAD, -1, &d->model->head, d->normed, d->logits, 1);
	matmul_wait(d, w);
	if (w->index)
		return;
	brick_span span = brick_begin(BRICK_SAMPLING);
	d->next = 0;
	for (size_t i = 1; i < d->model->n_vocab; i++)
		if (d->logits[i] > d->logits[d->next])
			d->next = (int32_t)i;
	brick_end_elements(span, 1);
}

static void forward(const struct worker *w, void *context)
{
	struct decoder *d = context;
	float *x = d->residual, *branch = d->branch;
	size_t n = d->n_tokens;
	int last = (int)d->model->n_layers - 1;

	brick_layer_set(-1);
	embed(d, w);
	digest(d, w, BRICK_EMBEDDING, -1, d->model->embedding.type, NULL, NULL, x, n);
	for (int i = 0; i <= last; i++) {
		brick_layer_set(i);
		attention_block(d, w, i);
		if (i == last) { // from here on only the last token matters
			x += (n - 1) * d->model->n_embd;
			branch += (n - 1) * d->model->n_embd;
			n = 1;
		}
		add_branch(d, w, x, branch, n);
		digest(d, w, BRICK_RESIDUAL_ADD, i, GGUF_F32, x, branch, x, n);
		ffn_block(d, w, i, x, n);
		add_branch(d, w, x, d->branch, n);
		digest(d, w, BRICK_RESIDUAL_ADD, i, GGUF_F32, x, d->branch, x, n);
	}
	brick_layer_set(-1);
	if (d->is_last)
		predict(d, w, x);
}

int32_t decoder_evaluate(struct decoder *d, const int32_t *tokens, size_t n)
{
	brick_span span =
		brick_step_begin(n == 1 && d->n_past ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, n);
	for (size_t done = 0; done < n; done += d->n_tokens) {
		d->tokens = tokens + done;
		d->n_tokens = n - done < d->n_batch ? n - done : d->n_batch;
		d->is_last = done + d->n_tokens == n;
		team_run(d->team, forward, d);
		d->n_past += d->n_tokens;
		if (d->options.opencl)
			opencl_pass_end(d->options.opencl);
	}
	brick_end(span);
	return d->next;
}

size_t decoder_batch(size_t n_context)
{
	return n_context < BATCH_MAX ? n_context : BATCH_MAX;
}

struct decoder *decoder_create(const struct model *m, const struct decoder_options *options)
{
	struct decoder *d = allocate(1, sizeof(*d));
	float **rows[] = {&d->residual, &d->branch, &d->normed, &d->query, &d->attended};
	size_t n = decoder_batch(options->n_context);
	d->options = *options;
	d->model = m;
	d->n_batch = n;
	d->n_positions = (options->n_context + BLOCK - 1) / BLOCK * BLOCK;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		*rows[i] = allocate(n * m->n_embd, sizeof(float));
	d->key = allocate(n * m->kv_size, sizeof(float));
	d->value = allocate(n * m->kv_size, sizeof(float));
	d->gate = allocate(n * m->n_ff, sizeof(float));
	d->up = allocate(n * m->n_ff, sizeof(float));
	d->scores = allocate(m->n_heads * n * d->n_positions, sizeof(float));
	d->logits = allocate(m->n_vocab, sizeof(float));
	d->key_cache = allocate(m->n_layers * d->n_positions * m->kv_size, sizeof(uint16_t));
	d->value_cache = allocate(m->n_layers * d->n_positions * m->kv_size, sizeof(uint16_t));
	d->rope = allocate(d->n_positions * m->n_rope, sizeof(float));
	d->sites = allocate(options->n_threads * m->n_matrices, sizeof(*d->sites));
	d->team = team_create(options->n_threads);
	rope_init(d->rope, d->n_positions, m);
	return d;
}

void decoder_destroy(struct decoder *d)
{
	void *memory[] = {d->residual, d->branch, d->normed, d->query, d->key, d->value,
		d->attended, d->gate, d->up, d->scores, d->logits, d->key_cache, d->value_cache,
		d->rope, d->sites, d};
	team_destroy(d->team);
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		free(memory[i]);
}
