// SPDX-License-Identifier: Apache-2.0
//
// The GGUF file as a stream of little-endian values. Owns the temporary file and the running
// offset of the tensor data; invariant: `position` is the number of bytes put so far, `data_offset`
// the place of the next described tensor relative to the start of the data, both counted even
// after an error so that no caller needs to look. Called by gguf_make.c only.
#include "gguf_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gguf_encode.h"

#define ALIGNMENT 32 // general.alignment's default

struct gguf_writer {
	FILE *file;
	char *path;
	char *temp_path;
	uint64_t position;
	uint64_t data_offset;
	int error;
};

static void set_error(struct gguf_writer *w, int error)
{
	if (!w->error)
		w->error = error ? -error : -EIO;
}

void gguf_write(struct gguf_writer *w, const void *data, size_t bytes)
{
	w->position += bytes;
	if (!w->error && fwrite(data, 1, bytes, w->file) != bytes)
		set_error(w, errno);
}

// The format is little-endian whatever the machine is.
static void write_uint(struct gguf_writer *w, uint64_t value, unsigned int bytes)
{
	unsigned char le[8];

	for (unsigned int i = 0; i < bytes; i++)
		le[i] = (unsigned char)(value >> (8 * i));
	gguf_write(w, le, bytes);
}

static void write_float(struct gguf_writer *w, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	write_uint(w, bits, 4);
}

static void write_string(struct gguf_writer *w, const char *s)
{
	size_t length = strlen(s);

	write_uint(w, length, 8);
	gguf_write(w, s, length);
}

static void begin_value(struct gguf_writer *w, const char *key, enum gguf_kind kind)
{
	write_string(w, key);
	write_uint(w, kind, 4);
}

static void begin_array(struct gguf_writer *w, const char *key, enum gguf_kind kind, uint64_t n)
{
	begin_value(w, key, GGUF_ARRAY);
	write_uint(w, kind, 4);
	write_uint(w, n, 8);
}

int gguf_open(struct gguf_writer **out, const char *path, uint64_t n_tensors, uint64_t n_kv)
{
	struct gguf_writer *w = calloc(1, sizeof(*w));
	int error;

	if (!w)
		return -ENOMEM;
	w->path = strdup(path);
	if (!w->path || asprintf(&w->temp_path, "%s.%ld.tmp", path, (long)getpid()) < 0) {
		w->temp_path = NULL;
		error = -ENOMEM;
		goto err_free;
	}
	w->file = fopen(w->temp_path, "wbe");
	if (!w->file) {
		error = -errno;
		goto err_free;
	}
	gguf_write(w, "GGUF", 4);
	write_uint(w, 3, 4);
	write_uint(w, n_tensors, 8);
	write_uint(w, n_kv, 8);
	*out = w;
	return 0;

err_free:
	free(w->temp_path);
	free(w->path);
	free(w);
	return error;
}

void gguf_put_u32(struct gguf_writer *w, const char *key, uint32_t value)
{
	begin_value(w, key, GGUF_U32);
	write_uint(w, value, 4);
}

void gguf_put_f32(struct gguf_writer *w, const char *key, float value)
{
	begin_value(w, key, GGUF_F32);
	write_float(w, value);
}

void gguf_put_bool(struct gguf_writer *w, const char *key, bool value)
{
	begin_value(w, key, GGUF_BOOL);
	write_uint(w, value, 1);
}

void gguf_put_string(struct gguf_writer *w, const char *key, const char *value)
{
	begin_value(w, key, GGUF_STRING);
	write_string(w, value);
}

void gguf_put_strings(struct gguf_writer *w, const char *key, char *const *values, uint64_t n)
{
	begin_array(w, key, GGUF_STRING, n);
	for (uint64_t i = 0; i < n; i++)
		write_string(w, values[i]);
}

void gguf_put_f32s(struct gguf_writer *w, const char *key, const float *values, uint64_t n)
{
	begin_array(w, key, GGUF_F32, n);
	for (uint64_t i = 0; i < n; i++)
		write_float(w, values[i]);
}

void gguf_put_i32s(struct gguf_writer *w, const char *key, const int32_t *values, uint64_t n)
{
	begin_array(w, key, GGUF_I32, n);
	for (uint64_t i = 0; i < n; i++)
		write_uint(w, (uint32_t)values[i], 4);
}

void gguf_put_tensor(struct gguf_writer *w, const char *name, enum gguf_type type, uint64_t n_cols,
	uint64_t n_rows)
{
	uint64_t bytes = gguf_row_bytes(type, n_cols) * (n_rows ? n_rows : 1);

	write_string(w, name);
	write_uint(w, n_rows ? 2 : 1, 4);
	write_uint(w, n_cols, 8);
	if (n_rows)
		write_uint(w, n_rows, 8);
	write_uint(w, type, 4);
	write_uint(w, w->data_offset, 8);
	w->data_offset += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void gguf_align(struct gguf_writer *w)
{
	static const char zeros[ALIGNMENT];

	gguf_write(w, zeros, (ALIGNMENT - w->position % ALIGNMENT) % ALIGNMENT);
}

bool gguf_failed(const struct gguf_writer *w)
{
	return w->error != 0;
}

int gguf_commit(struct gguf_writer *w, uint64_t *bytes)
{
	int error;

	if (fclose(w->file))
		set_error(w, errno);
	if (!w->error && rename(w->temp_path, w->path))
		set_error(w, errno);
	if (w->error)
		unlink(w->temp_path);
	error = w->error;
	*bytes = w->position;
	free(w->temp_path);
	free(w->path);
	free(w);
	return error;
}
