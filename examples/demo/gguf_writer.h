// SPDX-License-Identifier: Apache-2.0
//
// Writes a GGUF version 3 file front to back: header, metadata, tensor descriptions, tensor data,
// each in the order it is put; and turns rows of floats into the element types that such a file can
// hold. The caller promises the two counts of the header when it opens the file. Errors stick: the
// calls between gguf_open() and gguf_commit() return nothing, and the first thing that went wrong
// is what gguf_commit() returns. The file carries a temporary name until then, so nobody ever sees
// half a model. Thread rule: one at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Kinds of metadata values, as numbered in the file format.
enum gguf_kind {
	GGUF_U32 = 4,
	GGUF_I32 = 5,
	GGUF_F32 = 6,
	GGUF_BOOL = 7,
	GGUF_STRING = 8,
	GGUF_ARRAY = 9,
};

// Element types of tensors, as numbered in the file format.
enum gguf_type {
	GGUF_TYPE_F32 = 0,
	GGUF_TYPE_F16 = 1,
	GGUF_TYPE_Q4_0 = 2,
	GGUF_TYPE_Q8_0 = 8,
};

struct gguf_writer;

// Opens a temporary file beside `path` and writes the header. 0 or -errno.
int gguf_open(struct gguf_writer **out, const char *path, uint64_t n_tensors, uint64_t n_kv);

void gguf_put_u32(struct gguf_writer *w, const char *key, uint32_t value);
void gguf_put_f32(struct gguf_writer *w, const char *key, float value);
void gguf_put_bool(struct gguf_writer *w, const char *key, bool value);
void gguf_put_string(struct gguf_writer *w, const char *key, const char *value);
void gguf_put_strings(struct gguf_writer *w, const char *key, char *const *values, uint64_t n);
void gguf_put_f32s(struct gguf_writer *w, const char *key, const float *values, uint64_t n);
void gguf_put_i32s(struct gguf_writer *w, const char *key, const int32_t *values, uint64_t n);

// Describes the next tensor; `n_rows` 0 makes it a vector of `n_cols`.
void gguf_put_tensor(struct gguf_writer *w, const char *name, enum gguf_type type, uint64_t n_cols,
	uint64_t n_rows);

// Appends tensor data; gguf_align() goes before the first tensor's data and after each tensor's.
void gguf_write(struct gguf_writer *w, const void *data, size_t bytes);
void gguf_align(struct gguf_writer *w);

// True once something went wrong: writing on is pointless.
bool gguf_failed(const struct gguf_writer *w);

// Gives the file its name and frees the writer; on any error so far removes it. 0 or -errno.
int gguf_commit(struct gguf_writer *w, uint64_t *bytes);

// Elements that share one scale; a row must be a multiple of this long.
uint64_t gguf_block_elements(enum gguf_type type);

// Bytes that a row of `n` elements takes in the file.
uint64_t gguf_row_bytes(enum gguf_type type, uint64_t n);

// Writes gguf_row_bytes(type, n) bytes to `out`.
void gguf_encode_row(enum gguf_type type, const float *row, uint64_t n, void *out);
