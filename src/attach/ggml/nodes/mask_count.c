/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting what a mask lets through (masks.h). A mask of a long prompt has millions of values: they
 * are compared as integers, a block of columns at a time, in loops that compilers vectorize.
 */
#include "attach/ggml/nodes/masks.h"

#include <string.h>

enum { BLOCK = 1024 };

static const uint32_t minus_infinity_f32 = 0xff800000;
static const uint16_t minus_infinity_f16 = 0xfc00;

/* Of one row alone, as every step of one token has: its columns are its pairs. */
static uint32_t count_row_f32(const uint32_t *values, uint32_t count)
{
	uint32_t visible = 0;

	for (uint32_t i = 0; i < count; i++)
		visible += values[i] != minus_infinity_f32;
	return visible;
}

static uint32_t count_row_f16(const uint16_t *values, uint32_t count)
{
	uint32_t visible = 0;

	for (uint32_t i = 0; i < count; i++)
		visible += values[i] != minus_infinity_f16;
	return visible;
}

/* Each also marks the columns that it meets. */
static uint32_t count_f32(const uint32_t *values, uint32_t *seen, uint32_t count)
{
	uint32_t visible = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t is = values[i] != minus_infinity_f32;
		visible += is;
		seen[i] |= is;
	}
	return visible;
}

static uint32_t count_f16(const uint16_t *values, uint32_t *seen, uint32_t count)
{
	uint32_t visible = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t is = values[i] != minus_infinity_f16;
		visible += is;
		seen[i] |= is;
	}
	return visible;
}

static void count_block(const char *first, const struct mask_shape *s, uint32_t width,
	uint64_t *pairs, uint64_t *columns)
{
	uint64_t row_bytes = s->columns * (s->half ? 2 : 4);
	uint32_t seen[BLOCK];

	if (s->rows == 1) {
		uint32_t visible = s->half ? count_row_f16((const uint16_t *)first, width)
					   : count_row_f32((const uint32_t *)first, width);
		*pairs += visible;
		*columns += visible;
		return;
	}
	memset(seen, 0, width * sizeof *seen);
	for (uint64_t row = 0; row < s->rows; row++) {
		const void *values = first + row * row_bytes;
		*pairs += s->half ? count_f16(values, seen, width) : count_f32(values, seen, width);
	}
	for (uint32_t i = 0; i < width; i++)
		*columns += seen[i];
}

void mask_count(const void *values, const struct mask_shape *s, uint64_t *pairs, uint64_t *seen)
{
	uint64_t bytes = s->half ? 2 : 4;

	*pairs = *seen = 0;
	for (uint64_t plane = 0; plane < s->planes; plane++) {
		const char *first = (const char *)values + plane * s->stride * s->columns * bytes;
		for (uint64_t at = 0; at < s->columns; at += BLOCK) {
			uint64_t left = s->columns - at;
			count_block(first + at * bytes, s, left < BLOCK ? (uint32_t)left : BLOCK,
				pairs, seen);
		}
	}
}
