/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of divergence: a toy engine that makes the mistakes it is told to, and two runs of it.
 */
#pragma once

#include "tests/unit/digest_files.h"

enum { N = 300, LAYERS = 3 };

/* A toy engine: what it is told to do wrong, and to leave out. */
struct engine {
	int steps, first_tokens;
	int wrong_layer; /* its RopeEmbedding is too long */
	float factor;	 /* by this */
	float few;	 /* ... or off by this in one place */
	float coarse;	 /* noise of products, whose weights are then said to be quantised */
	int no_labels, no_inputs, no_norm;
	int no_norm_in; /* that layer, counted from 1 */
	int nan_step;
	float noise;	 /* of every result, relative */
	int warm_up;	 /* steps before the first */
	int half;	 /* results are BF16 */
	int other_token; /* that step computes another one; 0: none does */
};

static void put(const struct engine *e, uint32_t brick, int layer, const char *name, const float *x,
	uint64_t output, uint64_t input)
{
	char label[32];
	uint16_t half[N];

	for (int i = 0; i < N; i++) {
		uint32_t bits;
		memcpy(&bits, &x[i], sizeof bits);
		half[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	}
	snprintf(label, sizeof label, "%s-%d", name, layer);
	struct brick_tensor t = {.size = sizeof(struct brick_tensor),
		.data = e->half ? (const void *)half : x,
		.dtype = e->half ? BRICK_DTYPE_BF16 : BRICK_DTYPE_F32,
		.ne = {N, 1, 1, 1},
		.flags = e->coarse > 0 && (brick == BRICK_EMBEDDING ||
						  brick == BRICK_DOWN_PROJECTION)
				 ? BRICK_TENSOR_QUANTIZED
				 : 0,
		.label = e->no_labels ? NULL : label,
		.output = e->no_inputs ? 0 : output,
		.inputs = {e->no_inputs ? 0 : input}};
	assert_int_equal(brick_digest(brick, layer, &t), 0);
}

static void change(float *x, float factor, float noise, unsigned seed)
{
	for (int i = 0; i < N; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] *= factor * (1 + noise * ((float)(seed >> 8) / 8388608.0f - 1));
	}
}

static void run_step(const struct engine *e, int step, float *x)
{
	int token = step + 3 + (e->other_token && e->other_token == step ? 50 : 0);

	for (int i = 0; i < N; i++)
		x[i] = sinf((float)(i * token));
	change(x, 1, e->coarse, 300u);
	put(e, BRICK_EMBEDDING, -1, "embd", x, 1, 0);
	for (int layer = 0; layer < LAYERS; layer++) {
		change(x, 1, e->noise, 1u + (unsigned)layer);
		if (!e->no_norm && layer + 1 != e->no_norm_in)
			put(e, BRICK_RMS_NORM, layer, "norm", x, 2, 1);
		change(x, layer != e->wrong_layer ? 1 : e->factor, e->noise, 100u);
		x[40] += layer != e->wrong_layer ? 0 : e->few;
		if (e->nan_step == step && layer == 1)
			x[17] = NAN;
		put(e, BRICK_ROPE_EMBEDDING, layer, "Qcur", x, 3, e->no_norm ? 1 : 2);
		put(e, BRICK_ROPE_EMBEDDING, layer, "Kcur", x, 4, e->no_norm ? 1 : 2);
		change(x, 0.5f, e->noise + e->coarse, 200u + (unsigned)layer);
		put(e, BRICK_DOWN_PROJECTION, layer, "out", x, 1, 3);
	}
}

static inline void record(const char *path, const struct engine *e)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	float x[N];

	options.output = path;
	options.ring_records = 4096;
	brick_digests_set(1);
	assert_int_equal(brick_session_start(&options), 0);
	for (int i = -e->warm_up; i < e->steps; i++) {
		int prefill = i == 0;
		brick_span span =
			brick_step_begin(prefill ? BRICK_PHASE_PREFILL : BRICK_PHASE_DECODE,
				i < 0	  ? 2
				: prefill ? (uint64_t)e->first_tokens
					  : 1);
		run_step(e, i, x);
		brick_end(span);
	}
	assert_int_equal(brick_session_stop(), 0);
	brick_digests_set(0);
}

struct outcome {
	struct run *a, *b;
	struct diverge *d;
};

static struct outcome compare(const struct engine *a, const struct engine *b, double threshold)
{
	struct diverge_options options = {.threshold = threshold};
	struct outcome o;
	int which;

	record(file_a, a);
	record(file_b, b);
	o.a = load(file_a);
	o.b = load(file_b);
	assert_int_equal(diverge_create(&o.d, o.a, o.b, &options, &which), 0);
	return o;
}

static void done(struct outcome *o)
{
	diverge_destroy(o->d);
	run_destroy(o->a);
	run_destroy(o->b);
}

static const struct engine plain = {
	.steps = 3, .first_tokens = 7, .wrong_layer = -1, .factor = 1.01f, .nan_step = -1};
