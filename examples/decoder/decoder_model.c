// SPDX-License-Identifier: Apache-2.0
//
// From a GGUF file to a model: every size is checked against its limits and every tensor against
// the sizes. What this decoder does not compute (biases, experts, scaled positions) is refused, so
// that no model runs wrongly.
#include "decoder_model.h"

#include "decoder_kernels.h"
#include "decoder_memory.h"

static void get_size(struct model *m, const char *key, uint32_t limit, uint32_t *out)
{
	gguf_get(&m->file, key, GGUF_UINT32, out);
	if (*out < 1 || *out > limit)
		gguf_fail(&m->file, 0, "%s is %u, not from 1 to %u", key, *out, limit);
}

static void require(struct model *m, bool condition, const char *what)
{
	if (!condition)
		gguf_fail(&m->file, 0, "unsupported model: %s", what);
}

static void read_sizes(struct model *m)
{
	struct gguf *file = &m->file;
	const void *name = gguf_value(file, "general.architecture", GGUF_STRING, NULL);
	require(m, name && gguf_text_is(gguf_text(&name), "llama"),
		"its architecture is not llama");
	get_size(m, "llama.block_count", 1024, &m->n_layers);
	get_size(m, "llama.embedding_length", 1 << 16, &m->n_embd);
	get_size(m, "llama.feed_forward_length", 1 << 18, &m->n_ff);
	get_size(m, "llama.attention.head_count", 1024, &m->n_heads);
	m->n_kv_heads = m->n_heads;
	get_size(m, "llama.attention.head_count_kv", 1024, &m->n_kv_heads);
	if (file->failed)
		return;
	uint32_t key_size, value_size;
	m->head_size = m->n_rope = key_size = value_size = m->n_embd / m->n_heads;
	m->kv_size = m->n_kv_heads * m->head_size;
	m->rope_base = 10000;
	get_size(m, "llama.rope.dimension_count", 1 << 16, &m->n_rope);
	get_size(m, "llama.attention.key_length", 1 << 16, &key_size);
	get_size(m, "llama.attention.value_length", 1 << 16, &value_size);
	gguf_get(file, "llama.rope.freq_base", GGUF_FLOAT32, &m->rope_base);
	gguf_get(file, "llama.attention.layer_norm_rms_epsilon", GGUF_FLOAT32, &m->epsilon);
	require(m, m->n_embd % m->n_heads == 0, "its width is no multiple of the heads");
	require(m, m->n_heads % m->n_kv_heads == 0, "its heads are no multiple of the key heads");
	require(m, m->head_size % BLOCK == 0, "the width of its heads is no multiple of 32");
	require(m, m->n_ff % BLOCK == 0, "its hidden width is no multiple of 32");
	require(m, m->n_rope % 2 == 0 && m->n_rope <= m->head_size, "it rotates more than a head");
	require(m, key_size == m->head_size && value_size == m->head_size, "heads of other widths");
	require(m, !gguf_value(file, "llama.rope.scaling.type", GGUF_STRING, NULL), "scaled RoPE");
}

static struct gguf_tensor *find(struct model *m, size_t rows, size_t cols, const char *name)
{
	struct gguf_tensor *tensor = gguf_find(&m->file, name);
	if (!tensor)
		gguf_fail(&m->file, 0, "tensor %s is missing", name);
	else if (tensor->rows != rows || tensor->cols != cols)
		gguf_fail(&m->file, tensor->at, "tensor %s is %zu x %zu, not %zu x %zu", name,
			(size_t)tensor->cols, (size_t)tensor->rows, cols, rows);
	return m->file.failed ? NULL : tensor;
}

static const float *vector(struct model *m, const char *name)
{
	struct gguf_tensor *tensor = find(m, 1, m->n_embd, name);
	if (tensor && tensor->type != GGUF_F32)
		gguf_fail(&m->file, tensor->at, "tensor %s is not F32", name);
	return tensor ? tensor->data : NULL;
}

static struct matrix matrix(struct model *m, size_t rows, size_t cols, const char *name)
{
	struct gguf_tensor *tensor = find(m, rows, cols, name);
	struct matrix out = {.number = m->n_matrices++, .rows = rows, .cols = cols};
	if (!tensor)
		return out;
	snprintf(out.name, sizeof(out.name), "%s", name);
	out.type = (enum gguf_type)tensor->type;
	out.row_bytes = (size_t)gguf_row_bytes(tensor->type, cols);
	out.data = tensor->data;
	return out;
}

static void read_layer(struct model *m, uint32_t i, struct layer *layer)
{
	char name[48];
#define NAME(text) (snprintf(name, sizeof(name), "blk.%u." text ".weight", i), name)
	layer->attention_norm = vector(m, NAME("attn_norm"));
	layer->query = matrix(m, m->n_embd, m->n_embd, NAME("attn_q"));
	layer->key = matrix(m, m->kv_size, m->n_embd, NAME("attn_k"));
	layer->value = matrix(m, m->kv_size, m->n_embd, NAME("attn_v"));
	layer->output = matrix(m, m->n_embd, m->n_embd, NAME("attn_output"));
	layer->ffn_norm = vector(m, NAME("ffn_norm"));
	layer->gate = matrix(m, m->n_ff, m->n_embd, NAME("ffn_gate"));
	layer->up = matrix(m, m->n_ff, m->n_embd, NAME("ffn_up"));
	layer->down = matrix(m, m->n_embd, m->n_ff, NAME("ffn_down"));
}

int model_read(struct model *m)
{
	read_sizes(m);
	if (m->file.failed)
		return -1;
	struct gguf_tensor *embedding = gguf_find(&m->file, "token_embd.weight"), *tensor;
	bool tied = !gguf_find(&m->file, "output.weight");
	m->n_vocab = embedding ? (uint32_t)embedding->rows : 0;
	m->embedding = matrix(m, m->n_vocab, m->n_embd, "token_embd.weight");
	m->head = matrix(m, m->n_vocab, m->n_embd, tied ? "token_embd.weight" : "output.weight");
	m->output_norm = vector(m, "output_norm.weight");
	m->layers = allocate(m->n_layers, sizeof(*m->layers));
	for (uint32_t i = 0; i < m->n_layers && !m->file.failed; i++)
		read_layer(m, i, &m->layers[i]);
	for (tensor = m->file.tensors; tensor < m->file.tensors + m->file.n_tensors; tensor++)
		if (!tensor->used)
			gguf_fail(&m->file, tensor->at, "unsupported model: it has a tensor %.*s",
				(int)(tensor->name.size < 64 ? tensor->name.size : 64),
				tensor->name.data);
	return m->file.failed ? -1 : 0;
}

int model_open(struct model *model, const char *path)
{
	*model = (struct model){0};
	return gguf_open(&model->file, path) ? -1 : model_read(model);
}

void model_close(struct model *model)
{
	free(model->layers);
	gguf_close(&model->file);
}

void matrix_row(const struct matrix *matrix, size_t row, float *out)
{
	const void *data = (const char *)matrix->data + row * matrix->row_bytes;
	for (size_t i = 0; i < matrix->cols; i++) {
		const struct gguf_q8_0 *block = (const struct gguf_q8_0 *)data + i / BLOCK;
		if (matrix->type == GGUF_F32)
			out[i] = ((const float *)data)[i];
		else if (matrix->type == GGUF_F16)
			out[i] = half_to_float(((const uint16_t *)data)[i]);
		else
			out[i] = half_to_float(block->scale) * block->numbers[i % BLOCK];
	}
}
