/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adler-32, 16 bytes at a time: a is 1 plus the sum of all bytes, b the sum of all a. In a block
 * of n columns of 16 bytes, b grows by 16 times the sums of the columns before each one, plus the
 * bytes weighted by how many of their column follow. Lanes are wide enough for MAX_COLUMNS.
 */
#include <string.h>
#include "lib/writer/deflate_state.h"

typedef uint16_t lanes __attribute__((vector_size(16)));

enum { MODULUS = 65521, COLUMN = 16, MAX_COLUMNS = 21 };

/* sum: of bytes 2i and 2i + 1 in every column; before: sums of the columns before each one */
struct sums {
	lanes even, odd, before_even, before_odd;
};

static inline struct sums add_columns(const uint8_t *data, unsigned columns)
{
	struct sums s;

	memset(&s, 0, sizeof s);
	for (unsigned i = 0; i < columns; i++) {
		lanes column;
		memcpy(&column, data + i * COLUMN, COLUMN);
		s.before_even += s.even;
		s.before_odd += s.odd;
		s.even += column & 0xff;
		s.odd += column >> 8;
	}
	return s;
}

uint32_t deflate_adler(const uint8_t *data, size_t size)
{
	uint32_t a = 1, b = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	while (size >= COLUMN) {
		unsigned columns = size / COLUMN < MAX_COLUMNS ? (unsigned)(size / COLUMN)
							       : (unsigned)MAX_COLUMNS;
		struct sums s = add_columns(data, columns);
		uint32_t before = 0, weighted = 0, sum = 0;
		for (unsigned i = 0; i < 8; i++) {
			before += (uint32_t)s.before_even[i] + s.before_odd[i];
			sum += (uint32_t)s.even[i] + s.odd[i];
			weighted += s.even[i] * (COLUMN - 2 * i) + s.odd[i] * (COLUMN - 1 - 2 * i);
		}
		b = (b + a * (columns * COLUMN) + before * COLUMN + weighted) % MODULUS;
		a = (a + sum) % MODULUS;
		data += columns * COLUMN;
		size -= columns * COLUMN;
	}
#endif
	for (; size; size--) {
		a = (a + *data++) % MODULUS;
		b = (b + a) % MODULUS;
	}
	return b << 16 | a;
}
