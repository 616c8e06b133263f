// SPDX-License-Identifier: Apache-2.0
//
// Reads GGUF files, versions 2 and 3. The file is mapped, not copied, and trusted in nothing: once
// opened, every name, value and tensor lies inside of it. Any thread, after opening.
#ifndef DECODER_GGUF_H
#define DECODER_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gguf_type { GGUF_F32 = 0, GGUF_F16 = 1, GGUF_Q8_0 = 8 };                 // of tensors
enum gguf_value_type { GGUF_UINT32 = 4, GGUF_FLOAT32 = 6, GGUF_STRING = 8 }; // and others

// A row of Q8_0 is an array of these: 32 numbers that share a scale.
enum { GGUF_Q8_NUMBERS = 32 };
struct gguf_q8_0 {
	uint16_t scale; // binary16
	int8_t numbers[GGUF_Q8_NUMBERS];
};

// Bytes of the file; not terminated.
struct gguf_text {
	const char *data;
	size_t size;
};

struct gguf_pair {
	struct gguf_text key;
	uint32_t type;  // of the value, or of the items of an array
	bool is_array;
	uint64_t count; // of items; 1 for a single value
	uint64_t at;    // offset in the file; values are not aligned
};

struct gguf_tensor {
	struct gguf_text name;
	uint32_t type;
	uint64_t cols, rows; // a vector has one row
	uint64_t at;         // offset in the file of its description
	uint64_t offset;     // of the data, from where all data begin
	const void *data;
	bool used; // gguf_find() has given it out
};

struct gguf {
	const char *path;
	const unsigned char *bytes;
	size_t size, at;
	bool mapped, failed;
	struct gguf_pair *pairs;
	struct gguf_tensor *tensors;
	size_t n_pairs, n_tensors;
	char why[256]; // of the first failure: file, offset and reason
};

// 0, or -1 with file->why set. Close it in either case.
int gguf_open(struct gguf *file, const char *path);
void gguf_close(struct gguf *file);

// The same for bytes in memory, which stay the caller's.
int gguf_parse(struct gguf *file, const char *name, const void *bytes, size_t size);

// NULL if there is none.
const struct gguf_pair *gguf_pair(const struct gguf *file, const char *key);
struct gguf_tensor *gguf_find(struct gguf *file, const char *name);

// A value of 4 bytes; it stays when there is no such key, the file fails when it has another type.
void gguf_get(struct gguf *file, const char *key, enum gguf_value_type type, void *out);
bool gguf_is(const struct gguf *file, const char *key, const char *text);

// The string at *at in a value, and on to the one behind it.
struct gguf_text gguf_text(const struct gguf *file, uint64_t *at);

uint64_t gguf_row_bytes(uint32_t type, uint64_t cols);

// Say why the file cannot be used; only the first time counts. Returns -1.
int gguf_fail(struct gguf *file, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
