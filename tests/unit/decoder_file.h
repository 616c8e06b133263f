/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes GGUF files in memory for the tests of examples/decoder: a model of one layer, 64 wide, with
 * two heads that share one key head, and whatever a test does to it. Bytes are appended in order,
 * with no checks: wrong files are the point.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 18, FILE_TENSORS = 12, FILE_PAIRS = 14, FILE_PIECES = 7 };

struct file {
	unsigned char bytes[FILE_MAX];
	size_t size;
	uint64_t offset; /* of the next tensor's data */
};

/* What a test changes; 0 is "as it should be". */
struct file_damage {
	const char *key;     /* this pair ... */
	uint32_t value;	     /* ... has this value */
	uint32_t value_type; /* ... and this type; 0: uint32 */
	int array;	     /* ... and is the only item of an array */
	const char *tensor;  /* this tensor ... */
	const char *rename;  /* ... is called so */
	uint32_t type;	     /* ... is of this type, less 1 */
	uint32_t cols;	     /* ... has so many columns */
	uint64_t offset;     /* ... and its data begin so much further on */
	uint32_t dims;	     /* ... and so many dimensions are announced */
	int omit;	     /* ... is not there */
};

static void put_number(struct file *f, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f->bytes[f->size++] = (unsigned char)(value >> 8 * i);
}

static void put_text(struct file *f, const char *text)
{
	put_number(f, strlen(text), 8);
	memcpy(f->bytes + f->size, text, strlen(text));
	f->size += strlen(text);
}

static void put_u32(struct file *f, const struct file_damage *d, const char *key, uint32_t value)
{
	int hit = d->key && !strcmp(d->key, key);

	put_text(f, key);
	if (hit && d->array)
		put_number(f, 9, 4);
	put_number(f, hit && d->value_type ? d->value_type : 4, 4);
	if (hit && d->array)
		put_number(f, 1, 8);
	put_number(f, hit ? d->value : value, 4);
}

static void put_array(struct file *f, const char *key, uint32_t type, uint64_t count)
{
	put_text(f, key);
	put_number(f, 9, 4);
	put_number(f, type, 4);
	put_number(f, count, 8);
}

static uint64_t tensor_bytes(uint32_t type, uint64_t cols, uint64_t rows)
{
	uint64_t row = type == 8 ? cols / 32 * 34 : type == 1 ? cols * 2 : cols * 4;

	return (row * rows + 31) / 32 * 32;
}

static void put_tensor(struct file *f, const struct file_damage *d, const char *name, uint32_t type,
	uint64_t cols, uint64_t rows)
{
	int hit = d->tensor && !strcmp(d->tensor, name);

	if (hit && d->omit)
		return;
	put_text(f, hit && d->rename ? d->rename : name);
	put_number(f, hit && d->dims ? d->dims : rows ? 2 : 1, 4);
	put_number(f, hit && d->cols ? d->cols : cols, 8);
	if (rows)
		put_number(f, rows, 8);
	put_number(f, hit && d->type ? d->type - 1 : type, 4);
	put_number(f, f->offset + (hit ? d->offset : 0), 8);
	f->offset += tensor_bytes(type, cols, rows ? rows : 1);
}

static void put_pairs(struct file *f, const struct file_damage *d)
{
	static const struct {
		const char *text;
		uint32_t score; /* bits */
	} pieces[FILE_PIECES] = {
		{"<unk>", 0},
		{"<s>", 0},
		{"\xe2\x96\x81", 0xc0a00000},
		{"t", 0xc0a00000},
		{"\xe2\x96\x81t", 0xbf800000},
		{"o", 0xc0a00000},
		{"to", 0xc0000000},
	};

	put_text(f, "general.architecture");
	put_number(f, 8, 4);
	put_text(f, d->key && !strcmp(d->key, "general.architecture") ? "mamba" : "llama");
	put_u32(f, d, "general.alignment", 32);
	put_u32(f, d, "llama.block_count", 1);
	put_u32(f, d, "llama.embedding_length", 64);
	put_u32(f, d, "llama.feed_forward_length", 96);
	put_u32(f, d, "llama.attention.head_count", 2);
	put_u32(f, d, "llama.attention.head_count_kv", 1);
	put_u32(f, d, "llama.rope.dimension_count", 32);
	put_u32(f, d, "llama.context_length", 128);
	put_u32(f, d, "tokenizer.ggml.bos_token_id", 1);
	put_text(f, "llama.attention.layer_norm_rms_epsilon");
	put_number(f, 6, 4);
	put_number(f, 0x3727c5ac, 4); /* 1e-5 */
	put_text(f, "tokenizer.ggml.model");
	put_number(f, 8, 4);
	put_text(f, "llama");
	put_array(f, "tokenizer.ggml.tokens", 8, FILE_PIECES);
	for (size_t i = 0; i < FILE_PIECES; i++)
		put_text(f, pieces[i].text);
	put_array(f, "tokenizer.ggml.scores", 6, FILE_PIECES);
	for (size_t i = 0; i < FILE_PIECES; i++)
		put_number(f, pieces[i].score, 4);
}

static void put_tensors(struct file *f, const struct file_damage *d)
{
	put_tensor(f, d, "token_embd.weight", 0, 64, FILE_PIECES);
	put_tensor(f, d, "output_norm.weight", 0, 64, 0);
	put_tensor(f, d, "output.weight", 0, 64, FILE_PIECES);
	put_tensor(f, d, "blk.0.attn_norm.weight", 0, 64, 0);
	put_tensor(f, d, "blk.0.attn_q.weight", 1, 64, 64);
	put_tensor(f, d, "blk.0.attn_k.weight", 8, 64, 32);
	put_tensor(f, d, "blk.0.attn_v.weight", 8, 64, 32);
	put_tensor(f, d, "blk.0.attn_output.weight", 1, 64, 64);
	put_tensor(f, d, "blk.0.ffn_norm.weight", 0, 64, 0);
	put_tensor(f, d, "blk.0.ffn_gate.weight", 8, 64, 96);
	put_tensor(f, d, "blk.0.ffn_up.weight", 0, 64, 96);
	put_tensor(f, d, "blk.0.ffn_down.weight", 1, 96, 64);
}

static void make_file(struct file *f, const struct file_damage *d)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->bytes, "GGUF", 4);
	f->size = 4;
	put_number(f, 3, 4);
	put_number(f, FILE_TENSORS - (d->omit ? 1 : 0), 8);
	put_number(f, FILE_PAIRS, 8);
	put_pairs(f, d);
	put_tensors(f, d);
	f->size = (f->size + 31) / 32 * 32 + f->offset; /* all weights are 0 */
}
