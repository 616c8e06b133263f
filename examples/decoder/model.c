// SPDX-License-Identifier: Apache-2.0
//
// From a GGUF file to a model: every size is checked against its limits and every tensor against
// the sizes. What this decoder does not compute (biases, experts, scaled positions) is refused, so
// that no model runs wrongly.
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

#include "half.h"

// Kernels work on rows of whole blocks of Q8_0, which are whole vectors on every CPU.
enum { MULTIPLE = GGUF_Q8_NUMBERS };

static void get_size(struct model *m, const char *key, uint32_t limit, uint32_t *out)
{
	gguf_get_u32(&m->file, key, out);
	if (*out < 1 || *out > limit)
		gguf_fail(&m->file, 0, "%s is %u, not from 1 to %u", key, *out, limit);
}

static void check_sizes(struct model *m)
{
	struct gguf *file = &m->file;
	uint32_t key_size = m->head_size, value_size = m->head_size;

	gguf_get_u32(file, "llama.attention.key_length", &key_size);
	gguf_get_u32(file, "llama.attention.value_length", &value_size);
	if (m->n_embd % m->n_heads || m->n_heads % m->n_kv_heads)
		gguf_fail(file, 0, "%u wide with %u heads and %u key heads does not divide", m->n_embd,
			m->n_heads, m->n_kv_heads);
	if (m->head_size % MULTIPLE || m->n_ff % MULTIPLE)
		gguf_fail(file, 0, "heads of %u and %u hidden are not multiples of %d", m->head_size,
			m->n_ff, MULTIPLE);
	if (key_size != m->head_size || value_size != m->head_size)
		gguf_fail(file, 0, "keys of %u and values of %u, not of %u", key_size, value_size,
			m->head_size);
	if (m->n_rope % 2 || m->n_rope > m->head_size)
		gguf_fail(file, 0, "%u rotated dimensions of %u", m->n_rope, m->head_size);
	if (gguf_pair(file, "llama.rope.scaling.type") &&
		!gguf_is_text(file, "llama.rope.scaling.type", "none"))
		gguf_fail(file, 0, "scaled positions are not supported");
}

static void read_sizes(struct model *m)
{
	if (!gguf_is_text(&m->file, "general.architecture", "llama"))
		gguf_fail(&m->file, 0, "general.architecture is not llama");
	get_size(m, "llama.block_count", 1024, &m->n_layers);
	get_size(m, "llama.embedding_length", 1 << 16, &m->n_embd);
	get_size(m, "llama.feed_forward_length", 1 << 18, &m->n_ff);
	get_size(m, "llama.context_length", 1 << 24, &m->n_context);
	get_size(m, "llama.attention.head_count", 1024, &m->n_heads);
	m->n_kv_heads = m->n_heads;
	get_size(m, "llama.attention.head_count_kv", 1024, &m->n_kv_heads);
	if (m->file.failed)
		return;
	m->head_size = m->n_rope = m->n_embd / m->n_heads;
	m->kv_size = m->n_kv_heads * m->head_size;
	m->rope_base = 10000;
	get_size(m, "llama.rope.dimension_count", 1 << 16, &m->n_rope);
	gguf_get_f32(&m->file, "llama.rope.freq_base", &m->rope_base);
	gguf_get_f32(&m->file, "llama.attention.layer_norm_rms_epsilon", &m->epsilon);
	check_sizes(m);
}

static struct gguf_tensor *find(struct model *m, size_t rows, size_t cols, const char *name)
{
	struct gguf_tensor *tensor = gguf_find(&m->file, name);

	if (!tensor)
		gguf_fail(&m->file, 0, "tensor %s is missing", name);
	else if (tensor->rows != rows || tensor->cols != cols)
		gguf_fail(&m->file, tensor->entry, "tensor %s is %llu x %llu, not %zu x %zu", name,
			(unsigned long long)tensor->cols, (unsigned long long)tensor->rows, cols, rows);
	return m->file.failed ? NULL : tensor;
}

static const float *vector(struct model *m, size_t size, const char *name)
{
	struct gguf_tensor *tensor = find(m, 1, size, name);

	if (tensor && tensor->type != GGUF_F32)
		gguf_fail(&m->file, tensor->entry, "tensor %s is not F32", name);
	return tensor ? tensor->data : NULL;
}

static struct matrix matrix(struct model *m, size_t rows, size_t cols, const char *name)
{
	struct gguf_tensor *tensor = find(m, rows, cols, name);
	struct matrix out = {.rows = rows, .cols = cols};

	if (!tensor)
		return out;
	snprintf(out.name, sizeof(out.name), "%s", name);
	out.type = (enum gguf_type)tensor->type;
	out.row_bytes = (size_t)gguf_row_bytes(tensor->type, cols);
	out.data = tensor->data;
	m->quantized |= out.type == GGUF_Q8_0;
	return out;
}

// "blk.I.NAME.weight", valid until the next call.
static const char *in_block(uint32_t i, const char *name)
{
	static char text[48];

	snprintf(text, sizeof(text), "blk.%u.%s.weight", i, name);
	return text;
}

static void read_layer(struct model *m, uint32_t i, struct layer *layer)
{
	layer->attention_norm = vector(m, m->n_embd, in_block(i, "attn_norm"));
	layer->query = matrix(m, m->n_embd, m->n_embd, in_block(i, "attn_q"));
	layer->key = matrix(m, m->kv_size, m->n_embd, in_block(i, "attn_k"));
	layer->value = matrix(m, m->kv_size, m->n_embd, in_block(i, "attn_v"));
	layer->output = matrix(m, m->n_embd, m->n_embd, in_block(i, "attn_output"));
	layer->ffn_norm = vector(m, m->n_embd, in_block(i, "ffn_norm"));
	layer->gate = matrix(m, m->n_ff, m->n_embd, in_block(i, "ffn_gate"));
	layer->up = matrix(m, m->n_ff, m->n_embd, in_block(i, "ffn_up"));
	layer->down = matrix(m, m->n_embd, m->n_ff, in_block(i, "ffn_down"));
}

static void read_weights(struct model *m)
{
	struct gguf_tensor *embedding = gguf_find(&m->file, "token_embd.weight");
	bool tied = !gguf_find(&m->file, "output.weight");

	m->n_vocab = embedding ? (uint32_t)embedding->rows : 0;
	m->embedding = matrix(m, m->n_vocab, m->n_embd, "token_embd.weight");
	m->head = matrix(m, m->n_vocab, m->n_embd, tied ? "token_embd.weight" : "output.weight");
	m->output_norm = vector(m, m->n_embd, "output_norm.weight");
	m->layers = calloc(m->n_layers, sizeof(*m->layers));
	if (!m->layers)
		gguf_fail(&m->file, 0, "out of memory");
	for (uint32_t i = 0; i < m->n_layers && !m->file.failed; i++)
		read_layer(m, i, &m->layers[i]);
}

static void refuse_unknown_tensors(struct model *m)
{
	for (size_t i = 0; i < m->file.n_tensors; i++) {
		const struct gguf_tensor *tensor = &m->file.tensors[i];

		if (!tensor->used)
			gguf_fail(&m->file, tensor->entry, "tensor %.*s: this decoder has no use for it",
				(int)(tensor->name.size < 64 ? tensor->name.size : 64),
				tensor->name.data);
	}
}

int model_open(struct model *model, const char *path)
{
	*model = (struct model){0};
	if (!gguf_open(&model->file, path))
		read_sizes(model);
	if (!model->file.failed)
		read_weights(model);
	refuse_unknown_tensors(model);
	return model->file.failed ? -1 : 0;
}

void model_close(struct model *model)
{
	free(model->layers);
	gguf_close(&model->file);
}

void matrix_row(const struct matrix *matrix, size_t row, float *out)
{
	const void *data = (const char *)matrix->data + row * matrix->row_bytes;
	const struct gguf_q8_0 *blocks = data;

	for (size_t i = 0; i < matrix->cols; i++) {
		const struct gguf_q8_0 *block = &blocks[i / GGUF_Q8_NUMBERS];

		if (matrix->type == GGUF_F32)
			out[i] = ((const float *)data)[i];
		else if (matrix->type == GGUF_F16)
			out[i] = half_to_float(((const uint16_t *)data)[i]);
		else
			out[i] = half_to_float(block->scale) * block->numbers[i % GGUF_Q8_NUMBERS];
	}
}
