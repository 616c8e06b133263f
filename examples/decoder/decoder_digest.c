// SPDX-License-Identifier: Apache-2.0
//
// Digests of results, by which `brick diverge` finds where two engines part ways. A buffer stands
// for what was written to it last, so that an error can be followed from one to the next.
#include <stdio.h>
#include <string.h>
#include "brick/brick.h"
#include "decoder.h"

struct buffer {
	const float *begin;
	size_t width;
	const char *name; // as llama.cpp has it, where a brick has several results
};

static struct buffer buffer_of(const struct decoder *d, const float *x)
{
	const struct model *m = d->model;
	const struct buffer buffers[] = {{d->residual, m->n_embd, NULL},
		{d->branch, m->n_embd, NULL}, {d->normed, m->n_embd, NULL},
		{d->attended, m->n_embd, "kqv_out"}, {d->query, m->n_embd, "Qcur"},
		{d->key, m->kv_size, "Kcur"}, {d->value, m->kv_size, "Vcur"},
		{d->gate, m->n_ff, NULL}, {d->up, m->n_ff, NULL}, {d->logits, m->n_vocab, NULL}};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		if (x >= buffers[i].begin && x < buffers[i].begin + d->n_batch * buffers[i].width)
			return buffers[i];
	return (struct buffer){NULL, 0, NULL};
}

static void make_mistake(
	struct decoder *d, const struct worker *w, int brick, int layer, float *out, size_t n)
{
	const struct mistake *m = &d->options.mistake;
	struct buffer buffer = buffer_of(d, out);
	if (!m->of[0] || layer != m->layer ||
		(strcmp(m->of, brick_name((uint32_t)brick)) &&
			(!buffer.name || strcmp(m->of, buffer.name))))
		return;
	team_wait(w); // for the other workers' parts
	for (size_t t = 0; !w->index && t < n; t++)
		for (size_t i = 0; i < buffer.width; i++)
			if ((m->token < 0 || t == (size_t)m->token) &&
				(m->feature < 0 || i == (size_t)m->feature))
				out[t * buffer.width + i] *= m->factor;
	team_wait(w);
}

void digest(struct decoder *d, const struct worker *w, int brick, int layer, enum gguf_type type,
	const float *x, const float *y, float *out, size_t n)
{
	make_mistake(d, w, brick, layer, out, n);
	if (!brick_digests_wanted())
		return;
	team_wait(w); // for the other workers' parts
	if (!w->index) {
		struct buffer buffer = buffer_of(d, out);
		char label[32];
		snprintf(label, sizeof(label), "%s-%d", buffer.name ? buffer.name : "", layer);
		brick_digest((uint32_t)brick, layer,
			&(struct brick_tensor){
				.size = sizeof(struct brick_tensor),
				.data = out,
				.dtype = BRICK_DTYPE_F32,
				.flags = type == GGUF_F32   ? 0
					 : type == GGUF_F16 ? BRICK_TENSOR_HALF
							    : BRICK_TENSOR_QUANTIZED,
				.ne = {buffer.width, n, 1, 1},
				.label = buffer.name ? label : NULL,
				.output = (uintptr_t)buffer.begin,
				.inputs = {(uintptr_t)buffer_of(d, x).begin,
					(uintptr_t)buffer_of(d, y).begin},
			});
	}
	team_wait(w); // nobody may write to it before
}
