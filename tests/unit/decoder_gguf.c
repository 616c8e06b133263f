/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder's reader of GGUF files: what is right is read, what is wrong is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "decoder_file.h"
#include "decoder_model.h"

static struct file file;

/* In memory of exactly its size, so that sanitizers and valgrind see any byte beyond. */
static int read_bytes(struct model *model, const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size + !size);
	int error;

	memcpy(copy, bytes, size);
	*model = (struct model){0};
	error = gguf_parse(&model->file, "test", copy, size) ? -1 : model_read(model);
	if (error)
		assert_string_not_equal(model->file.why, "");
	return error;
}

static void close_model(struct model *model)
{
	free((void *)model->file.bytes);
	model_close(model);
}

static void expect_refused(const struct file_damage *damage, const char *reason)
{
	struct model model;

	make_file(&file, damage);
	assert_int_equal(read_bytes(&model, file.bytes, file.size), -1);
	assert_non_null(strstr(model.file.why, "test: offset "));
	if (!strstr(model.file.why, reason))
		fail_msg("\"%s\" does not say \"%s\"", model.file.why, reason);
	close_model(&model);
}

static void right_file(void **state)
{
	struct model model;
	int32_t *prompt;

	make_file(&file, &(struct file_damage){0});
	assert_int_equal(read_bytes(&model, file.bytes, file.size), 0);
	assert_int_equal(model.n_layers, 1);
	assert_int_equal(model.head_size, 32);
	assert_int_equal(model.kv_size, 32);
	assert_int_equal(model.n_rope, 32);
	assert_int_equal(model.n_vocab, FILE_PIECES);
	assert_true(model.epsilon == 1e-5f);
	assert_true(model.rope_base == 10000);
	assert_int_equal(model.layers[0].down.cols, 96);
	assert_int_equal(model.layers[0].key.row_bytes, 68);
	assert_string_equal(model.layers[0].key.name, "blk.0.attn_k.weight");
	prompt = gguf_prompt(&model.file, model.n_vocab, 200);
	assert_non_null(prompt);
	assert_int_equal(prompt[0], 1); /* begin of text */
	assert_int_equal(prompt[1], 2); /* "_The people who build an engine want to" */
	assert_int_equal(prompt[2], 0); /* T is no piece */
	assert_int_equal(prompt[36], 3);
	assert_int_equal(prompt[37], 4); /* "_t" and "o", not "_" and "to": by score */
	assert_int_equal(prompt[38], 5);
	free(prompt);
	close_model(&model);
}

static void tied_output(void **state)
{
	struct model model;

	make_file(&file, &(struct file_damage){.tensor = "output.weight", .omit = 1});
	assert_int_equal(read_bytes(&model, file.bytes, file.size), 0);
	assert_string_equal(model.head.name, "token_embd.weight");
	assert_ptr_equal(model.head.data, model.embedding.data);
	close_model(&model);
}

/* Cut off anywhere before its last tensor's data end (the last alignment is not needed). */
static void truncated(void **state)
{
	struct model model;

	make_file(&file, &(struct file_damage){0});
	for (size_t size = 0; size < file.size; size++) {
		assert_int_equal(read_bytes(&model, file.bytes, size), -1);
		close_model(&model);
	}
}

/* Every byte of the description set to values that hurt: read or refused, but nothing else. */
static void corrupt(void **state)
{
	static const unsigned char values[] = {0, 1, 8, 9, 0x7f, 0x80, 0xff};
	struct model model;
	size_t described;

	make_file(&file, &(struct file_damage){0});
	described = file.size - file.offset;
	for (size_t i = 0; i < described; i++) {
		unsigned char was = file.bytes[i];

		for (size_t k = 0; k < sizeof(values); k++) {
			file.bytes[i] = values[k];
			if (!read_bytes(&model, file.bytes, file.size))
				free(gguf_prompt(&model.file, model.n_vocab, 40));
			close_model(&model);
		}
		file.bytes[i] = was;
	}
}

static void wrong_pairs(void **state)
{
	static const struct {
		const char *key;
		uint32_t value, type;
		const char *reason;
	} cases[] = {
		{"general.architecture", 0, 0, "architecture is not llama"},
		{"general.alignment", 0, 0, "impossible alignment 0"},
		{"general.alignment", 24, 0, "impossible alignment 24"},
		{"general.alignment", 32, 6, "general.alignment: not a single value of type 4"},
		{"llama.block_count", 0, 0, "llama.block_count is 0"},
		{"llama.block_count", 2, 0, "tensor blk.1.attn_norm.weight is missing"},
		{"llama.block_count", UINT32_MAX, 0, "llama.block_count is 4294967295"},
		{"llama.embedding_length", 63, 0, "no multiple of the heads"},
		{"llama.embedding_length", 128, 0,
			"tensor token_embd.weight is 64 x 7, not 128 x 7"},
		{"llama.attention.head_count", 3, 0, "no multiple of the heads"},
		{"llama.attention.head_count", 4, 0, "heads is no multiple of 32"},
		{"llama.attention.head_count_kv", 2, 0,
			"blk.0.attn_k.weight is 64 x 32, not 64 x 64"},
		{"llama.attention.head_count_kv", 3, 0, "no multiple of the key heads"},
		{"llama.feed_forward_length", 97, 0, "hidden width"},
		{"llama.rope.dimension_count", 64, 0, "rotates more than a head"},
		{"llama.rope.dimension_count", 32, 9, ""},
		{"llama.rope.dimension_count", 32, 13, "unknown type of value 13"},
	};

	expect_refused(
		&(struct file_damage){
			.key = "llama.attention.head_count_kv", .value = 1, .array = 1},
		"llama.attention.head_count_kv: not a single value of type 4");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect_refused(&(struct file_damage){.key = cases[i].key,
				       .value = cases[i].value,
				       .value_type = cases[i].type},
			cases[i].reason);
}

static void wrong_tensors(void **state)
{
	const char *down = "blk.0.ffn_down.weight"; /* the last one */

	expect_refused(&(struct file_damage){.tensor = down, .rename = "blk.0.ffn_down.bias"},
		"tensor blk.0.ffn_down.weight is missing");
	expect_refused(&(struct file_damage){.tensor = down, .type = 1 + 2}, "type 2, not F32");
	expect_refused(
		&(struct file_damage){.tensor = down, .cols = 64}, "is 64 x 64, not 96 x 64");
	expect_refused(&(struct file_damage){.tensor = down, .cols = UINT32_MAX}, "not inside");
	expect_refused(&(struct file_damage){.tensor = down, .dims = 3}, "impossible shape");
	expect_refused(&(struct file_damage){.tensor = down, .dims = 5}, "5 dimensions");
	expect_refused(
		&(struct file_damage){.tensor = down, .offset = 1}, "not inside of the file");
	expect_refused(
		&(struct file_damage){.tensor = down, .offset = 32}, "not inside of the file");
	expect_refused(&(struct file_damage){.tensor = down, .offset = 1ull << 63}, "not inside");
	expect_refused(&(struct file_damage){.tensor = "output.weight", .rename = "output.bias"},
		"it has a tensor output.bias");
	expect_refused(&(struct file_damage){.tensor = "blk.0.ffn_norm.weight", .type = 1 + 1},
		"blk.0.ffn_norm.weight is not F32");
	expect_refused(&(struct file_damage){.tensor = "blk.0.attn_k.weight", .cols = 63},
		"not whole blocks");
}

static void wrong_vocabulary(void **state)
{
	struct model model;

	make_file(&file, &(struct file_damage){.key = "tokenizer.ggml.bos_token_id", .value = 7});
	assert_int_equal(read_bytes(&model, file.bytes, file.size), 0);
	assert_null(gguf_prompt(&model.file, model.n_vocab, 8));
	assert_non_null(strstr(model.file.why, "texts begin with token 7 of 7"));
	close_model(&model);
}

static void counts_beyond_the_file(void **state)
{
	struct model model;

	for (size_t at = 8; at <= 16; at += 8) { /* tensors, pairs */
		make_file(&file, &(struct file_damage){0});
		memset(file.bytes + at, 0xff, 8);
		assert_int_equal(read_bytes(&model, file.bytes, file.size), -1);
		assert_non_null(
			strstr(model.file.why, at == 8 ? "offset 8: no room for" : "offset 16"));
		close_model(&model);
	}
}

static void unreadable(void **state)
{
	char path[] = "/tmp/decoder-gguf-XXXXXX";
	struct model model;

	assert_int_equal(model_open(&model, "/nonexistent/model.gguf"), -1);
	assert_non_null(
		strstr(model.file.why, "/nonexistent/model.gguf: offset 0: cannot read it"));
	model_close(&model);
	assert_int_equal(model_open(&model, "/tmp"), -1);
	model_close(&model);
	close(mkstemp(path)); /* empty */
	assert_int_equal(model_open(&model, path), -1);
	model_close(&model);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_file),
		cmocka_unit_test(tied_output),
		cmocka_unit_test(truncated),
		cmocka_unit_test(corrupt),
		cmocka_unit_test(wrong_pairs),
		cmocka_unit_test(wrong_tensors),
		cmocka_unit_test(wrong_vocabulary),
		cmocka_unit_test(counts_beyond_the_file),
		cmocka_unit_test(unreadable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
