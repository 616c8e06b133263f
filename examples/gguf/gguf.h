// SPDX-License-Identifier: Apache-2.0
//
// Reads GGUF files, versions 2 and 3. The file is mapped, not copied, and trusted in nothing: once
// opened, every name, value and tensor lies inside of it. Any thread, after opening.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gguf_type { GGUF_F32 = 0, GGUF_F16 = 1, GGUF_Q8_0 = 8 };		     // of tensors
enum gguf_value_type { GGUF_UINT32 = 4, GGUF_FLOAT32 = 6, GGUF_STRING = 8 }; // and others

// A row of Q8_0 is an array of these: numbers that share a scale, which is binary16.
enum { BLOCK = 32 };
struct gguf_q8_0 {
	uint16_t scale;
	int8_t numbers[BLOCK];
};

struct gguf_text {
	const char *data; // in the file, not terminated
	size_t size;
};

struct gguf_tensor {
	struct gguf_text name;
	uint32_t type;
	uint64_t cols, rows; // a vector has one row
	uint64_t at, offset; // of its description in the file; of the data behind all descriptions
	const void *data;
	bool used; // gguf_find() has given it out
};

struct gguf {
	const char *path;
	const unsigned char *bytes;
	size_t size, at, n_pairs, n_tensors;
	bool mapped, failed;
	struct gguf_pair *pairs;
	struct gguf_tensor *tensors;
	char why[256]; // of the first failure: file, offset and reason
};

// 0, or -1 with file->why set. Close it in either case. gguf_parse() does not own the bytes.
int gguf_open(struct gguf *file, const char *path);
int gguf_parse(struct gguf *file, const char *name, const void *bytes, size_t size);
void gguf_close(struct gguf *file);

// A value (not aligned), or an array of *count items. NULL if there is no such key; of another type
// it makes the file fail.
const void *gguf_value(struct gguf *file, const char *key, uint32_t type, uint64_t *count);

// A value of 4 bytes; *out stays as it is where there is no such key.
void gguf_get(struct gguf *file, const char *key, enum gguf_value_type type, void *out);

// The string at *value, and on to the one behind it.
struct gguf_text gguf_text(const void **value);
bool gguf_text_is(struct gguf_text text, const char *expected);

struct gguf_tensor *gguf_find(struct gguf *file, const char *name); // NULL if there is none
uint64_t gguf_row_bytes(uint32_t type, uint64_t cols);

// A prompt of n tokens of the file's vocabulary, which must be of n_vocab; free() it. NULL with
// file->why set.
int32_t *gguf_prompt(struct gguf *file, uint32_t n_vocab, size_t n);

// Say why the file cannot be used; only the first time counts. Returns -1.
__attribute__((format(printf, 3, 4))) int gguf_fail(
	struct gguf *file, uint64_t offset, const char *format, ...);
