// SPDX-License-Identifier: Apache-2.0
//
// The GGUF file as a stream of little-endian values. Owns the temporary file and the running offset
// of the tensor data; invariant: `position` is the number of bytes put so far, `data_offset` the
// place of the next described tensor relative to the start of the data, both counted even after an
// error so that no caller needs to look. Float rows become F32, F16, Q8_0 and Q4_0 with all
// roundings to nearest, so the types hold the same weights up to half a unit in the last place.
#include "gguf_writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Q8_0: 32 elements, one F16 scale followed by 32 signed bytes.
#define Q8_ELEMENTS 32
#define Q8_BYTES (2 + Q8_ELEMENTS)

// Q4_0: as many, two in a byte: the first half of them below, the second half above. The scale is
// an eighth of the value that is furthest from 0, negated, so that this one is exact.
#define Q4_BYTES (2 + Q8_ELEMENTS / 2)

uint64_t gguf_block_elements(enum gguf_type type)
{
	return type == GGUF_TYPE_Q8_0 || type == GGUF_TYPE_Q4_0 ? Q8_ELEMENTS : 1;
}

uint64_t gguf_row_bytes(enum gguf_type type, uint64_t n)
{
	switch (type) {
	case GGUF_TYPE_F16:
		return n * 2;
	case GGUF_TYPE_Q8_0:
		return n / Q8_ELEMENTS * Q8_BYTES;
	case GGUF_TYPE_Q4_0:
		return n / Q8_ELEMENTS * Q4_BYTES;
	default:
		return n * 4;
	}
}

static uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float bits_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

// IEEE binary32 to binary16, to nearest even; too large becomes infinity. Adding 0.5 puts the last
// bit of a subnormal half (2^-24) at the last bit of the float sum, so the addition rounds.
static uint16_t to_half(float value)
{
	uint32_t bits = float_bits(value);
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t magnitude = bits & 0x7fffffff;

	if (magnitude > 0x7f800000) // not a number
		return sign | 0x7e00;
	if (magnitude >= 0x477ff000) // 65520 and up
		return sign | 0x7c00;
	if (magnitude < 0x38800000) // below 2^-14
		return sign | (uint16_t)(float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000);
	magnitude += 0xfff + (magnitude >> 13 & 1);
	return sign | (uint16_t)((magnitude - 0x38000000) >> 13);
}

static void store16(unsigned char *out, uint16_t value)
{
	out[0] = (unsigned char)value;
	out[1] = (unsigned char)(value >> 8);
}

static void encode_f32(const float *row, uint64_t n, unsigned char *out)
{
	for (uint64_t i = 0; i < n; i++) {
		uint32_t bits = float_bits(row[i]);

		store16(out + 4 * i, (uint16_t)bits);
		store16(out + 4 * i + 2, (uint16_t)(bits >> 16));
	}
}

static void encode_f16(const float *row, uint64_t n, unsigned char *out)
{
	for (uint64_t i = 0; i < n; i++)
		store16(out + 2 * i, to_half(row[i]));
}

static void encode_q8_0_block(const float *x, unsigned char *out)
{
	float max = 0, inverse;

	for (int i = 0; i < Q8_ELEMENTS; i++)
		max = fmaxf(max, fabsf(x[i]));
	inverse = max > 0 ? 127 / max : 0;
	store16(out, to_half(max / 127));
	for (int i = 0; i < Q8_ELEMENTS; i++)
		out[2 + i] = (unsigned char)(signed char)lrintf(x[i] * inverse);
}

static unsigned char q4_0_of(float x)
{
	return (unsigned char)fminf(lrintf(x) + 8, 15);
}

static void encode_q4_0_block(const float *x, unsigned char *out)
{
	float furthest = 0, inverse;

	for (int i = 0; i < Q8_ELEMENTS; i++)
		furthest = fabsf(x[i]) > fabsf(furthest) ? x[i] : furthest;
	inverse = furthest ? -8 / furthest : 0;
	store16(out, to_half(furthest / -8));
	for (int i = 0; i < Q8_ELEMENTS / 2; i++)
		out[2 + i] = (unsigned char)(q4_0_of(x[i] * inverse) |
					     q4_0_of(x[i + Q8_ELEMENTS / 2] * inverse) << 4);
}

void gguf_encode_row(enum gguf_type type, const float *row, uint64_t n, void *out)
{
	unsigned char *bytes = out;

	switch (type) {
	case GGUF_TYPE_F16:
		encode_f16(row, n, bytes);
		break;
	case GGUF_TYPE_Q8_0:
		for (uint64_t i = 0; i < n / Q8_ELEMENTS; i++)
			encode_q8_0_block(row + i * Q8_ELEMENTS, bytes + i * Q8_BYTES);
		break;
	case GGUF_TYPE_Q4_0:
		for (uint64_t i = 0; i < n / Q8_ELEMENTS; i++)
			encode_q4_0_block(row + i * Q8_ELEMENTS, bytes + i * Q4_BYTES);
		break;
	default:
		encode_f32(row, n, bytes);
	}
}

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
