// SPDX-License-Identifier: Apache-2.0
//
// Attention over the cache. A worker owns some key heads and the query heads that share them: all
// that it reads from the batch and the cache it has written itself, so nobody waits in here.
#include <math.h>
#include <string.h>
#include "brick/brick.h"
#include "decoder.h"

// The part of a layer's attention that is a worker's.
struct heads {
	struct part keys, queries;	   // heads
	size_t size, n_per_key;		   // of a head; query heads of a key head
	size_t first, n;		   // position of the first token; number of tokens
	uint16_t *key_cache, *value_cache; // of the layer
};

// Angles as llama.cpp makes them, step by step, so that they are the same to the last bit.
void rope_init(float *out, size_t n_positions, const struct model *m)
{
	float step = powf(m->rope_base, -2.0f / (float)m->n_rope);
	for (size_t position = 0; position < n_positions; position++) {
		float angle = (float)position;
		for (size_t i = 0; i < m->n_rope; i += 2, angle *= step) {
			*out++ = cosf(angle);
			*out++ = sinf(angle);
		}
	}
}

// Turns neighbours (2i, 2i + 1), as models of this architecture are trained to be turned.
static void rotate(float *x, const float *rope, size_t n)
{
	for (size_t i = 0; i < n; i += 2) {
		float a = x[i], b = x[i + 1];
		x[i] = a * rope[i] - b * rope[i + 1];
		x[i + 1] = a * rope[i + 1] + b * rope[i];
	}
}

static void rotate_heads(struct decoder *d, const struct heads *h)
{
	const struct model *m = d->model;
	for (size_t t = 0; t < h->n; t++) {
		const float *rope = d->rope + (h->first + t) * m->n_rope;
		for (size_t i = h->queries.begin; i < h->queries.end; i++)
			rotate(d->query + t * m->n_embd + i * h->size, rope, m->n_rope);
		for (size_t i = h->keys.begin; i < h->keys.end; i++)
			rotate(d->key + t * m->kv_size + i * h->size, rope, m->n_rope);
	}
}

static void write_cache(struct decoder *d, const struct heads *h)
{
	size_t kv_size = d->model->kv_size;
	for (size_t t = 0; t < h->n; t++) {
		const float *key = d->key + t * kv_size, *value = d->value + t * kv_size;
		uint16_t *row = h->key_cache + (h->first + t) * kv_size;
		uint16_t *column = h->value_cache + h->first + t;
		for (size_t i = h->keys.begin * h->size; i < h->keys.end * h->size; i++) {
			row[i] = float_to_half(key[i]);
			column[i * d->n_positions] = float_to_half(value[i]);
		}
	}
}

static float *scores_of(const struct decoder *d, size_t head)
{
	return d->scores + head * d->n_batch * d->n_positions;
}

static void score(struct decoder *d, const struct heads *h, size_t head)
{
	d->options.kernels->gemm_f16(&(struct gemm){
		.w = h->key_cache + head / h->n_per_key * h->size,
		.x = d->query + head * h->size,
		.out = scores_of(d, head),
		.w_stride = d->model->kv_size * sizeof(uint16_t),
		.x_stride = d->model->n_embd,
		.out_stride = d->n_positions,
		.rows = h->first + h->n,
		.tokens = h->n,
		.k = h->size,
	});
}

static size_t whole_blocks(const struct heads *h)
{
	return (h->first + h->n + BLOCK - 1) / BLOCK * BLOCK;
}

// A token's scores become weights; positions behind its own get none.
static void softmax(struct decoder *d, const struct heads *h, size_t head)
{
	float scale = 1 / sqrtf((float)h->size);
	for (size_t t = 0; t < h->n; t++) {
		float *x = scores_of(d, head) + t * d->n_positions, max = x[0], sum = 0;
		size_t seen = h->first + t + 1;
		for (size_t i = 1; i < seen; i++)
			max = x[i] > max ? x[i] : max;
		for (size_t i = 0; i < seen; i++)
			sum += x[i] = expf((x[i] - max) * scale);
		for (size_t i = 0; i < seen; i++)
			x[i] /= sum;
		memset(x + seen, 0, (whole_blocks(h) - seen) * sizeof(*x));
	}
}

static void sum_values(struct decoder *d, const struct heads *h, size_t head)
{
	d->options.kernels->gemm_f16(&(struct gemm){
		.w = h->value_cache + head / h->n_per_key * h->size * d->n_positions,
		.x = scores_of(d, head),
		.out = d->attended + head * h->size,
		.w_stride = d->n_positions * sizeof(uint16_t),
		.x_stride = d->n_positions,
		.out_stride = d->model->n_embd,
		.rows = h->size,
		.tokens = h->n,
		.k = whole_blocks(h),
	});
}

// What these do grows with the position, so it is said with each execution.
static void attend(struct decoder *d, const struct heads *h, size_t n_keys, size_t n_queries)
{
	size_t seen = n_queries * (h->n * h->first + h->n * (h->n + 1) / 2);
	size_t out = h->n * n_queries * h->size, flops = 2 * seen * h->size;
	size_t bytes = (h->first + h->n) * n_keys * h->size * sizeof(uint16_t) + (seen + out) * 4;

	brick_span span = brick_begin(BRICK_ATTENTION_SCORE);
	for (size_t head = h->queries.begin; head < h->queries.end; head++)
		score(d, h, head);
	brick_end_work(span, seen, bytes, flops);

	span = brick_begin(BRICK_ATTENTION_SOFTMAX);
	for (size_t head = h->queries.begin; head < h->queries.end; head++)
		softmax(d, h, head);
	brick_end_work(span, seen, 8 * seen, 5 * seen);

	span = brick_begin(BRICK_ATTENTION_OUTPUT);
	for (size_t head = h->queries.begin; head < h->queries.end; head++)
		sum_values(d, h, head);
	brick_end_work(span, out, bytes, flops);
}

void attention(struct decoder *d, const struct worker *w, int layer)
{
	const struct model *m = d->model;
	size_t cache = (size_t)layer * d->n_positions * m->kv_size;
	size_t n_per_key = m->n_heads / m->n_kv_heads;
	struct part keys = team_part(w, m->n_kv_heads, 1);
	const struct heads h = {
		.keys = keys,
		.queries = {keys.begin * n_per_key, keys.end * n_per_key},
		.size = m->head_size,
		.n_per_key = n_per_key,
		.first = d->n_past,
		.n = d->n_tokens,
		.key_cache = d->key_cache + cache,
		.value_cache = d->value_cache + cache,
	};
	size_t n_keys = keys.end - keys.begin, n = n_keys * h.size * h.n;
	size_t n_rotated = n * (n_per_key + 1);

	brick_span span = n ? brick_begin(BRICK_ROPE_EMBEDDING) : 0;
	rotate_heads(d, &h);
	brick_end_work(span, n_rotated, 8 * n_rotated, 3 * n_rotated);
	digest(d, w, BRICK_ROPE_EMBEDDING, layer, GGUF_F32, d->query, NULL, d->query, h.n);
	digest(d, w, BRICK_ROPE_EMBEDDING, layer, GGUF_F32, d->key, NULL, d->key, h.n);
	if (!n)
		return;

	span = brick_begin(BRICK_KV_CACHE_WRITE);
	write_cache(d, &h);
	brick_end_work(span, 2 * n, 2 * n * (4 + 2), 0);

	attend(d, &h, n_keys, n_keys * n_per_key);
}
