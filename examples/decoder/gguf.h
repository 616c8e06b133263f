// SPDX-License-Identifier: Apache-2.0
//
// Reads GGUF files, versions 2 and 3, little-endian. The file is mapped, not copied, and trusted in
// nothing: after gguf_open() every name, value and tensor lies inside of it. One thread at a time;
// what was read may be shared.
#ifndef DECODER_GGUF_H
#define DECODER_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gguf_type { GGUF_F32 = 0, GGUF_F16 = 1, GGUF_Q8_0 = 8 };

// Q8_0: 32 numbers share a scale. Rows of this type are arrays of such blocks.
#define GGUF_Q8_NUMBERS 32
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
	uint32_t type;      // of the value, or of an array's items
	uint64_t count;     // items of an array; 1 for a single value
	const void *value;  // little-endian, not aligned
	bool is_array;
};

struct gguf_tensor {
	struct gguf_text name;
	uint32_t type;
	uint64_t cols, rows; // a vector has one row
	uint64_t entry;  // where in the file it is described
	uint64_t offset; // of the data, from where all data begin
	const void *data;
	bool used;      // gguf_find() has given it out
};

struct gguf {
	const char *path;
	const unsigned char *bytes;
	size_t size, at;
	bool mapped;
	struct gguf_pair *pairs;
	size_t n_pairs;
	struct gguf_tensor *tensors;
	size_t n_tensors;
	bool failed;
	char why[256]; // the first error: file, offset and reason
};

// 0, or -1 with file->why set. Close it in either case.
int gguf_open(struct gguf *file, const char *path);
void gguf_close(struct gguf *file);

// The same for bytes in memory, which stay the caller's; gguf_close() frees the tables only.
int gguf_parse(struct gguf *file, const char *name, const void *bytes, size_t size);

// Values by key. The file fails when the value has another type; *out stays when there is no such key.
const struct gguf_pair *gguf_pair(const struct gguf *file, const char *key);
void gguf_get_u32(struct gguf *file, const char *key, uint32_t *out);
void gguf_get_f32(struct gguf *file, const char *key, float *out);
bool gguf_is_text(const struct gguf *file, const char *key, const char *text);

// The string at *at in an array of strings, and on to the next.
struct gguf_text gguf_next_text(const void **at);

// NULL if there is none.
struct gguf_tensor *gguf_find(struct gguf *file, const char *name);
uint64_t gguf_row_bytes(uint32_t type, uint64_t cols);

// Record why the file cannot be used, unless something was wrong before. Returns -1.
int gguf_fail(struct gguf *file, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
