// SPDX-License-Identifier: Apache-2.0
//
// Float rows to F32, F16, Q8_0 and Q4_0, byte for byte little-endian. All roundings are to nearest,
// so the types hold the same weights up to half a unit in the last place.
#include "gguf_encode.h"

#include <math.h>
#include <string.h>

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
