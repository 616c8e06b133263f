// SPDX-License-Identifier: Apache-2.0
//
// One number at a time: the kernels for any CPU, and what the others are compared with. Built
// without vectorisation, so that "scalar" in a report means it.
#include <stdint.h>

static inline int dot_bytes(const int8_t *a, const int8_t *b)
{
	int sum = 0;

	for (int i = 0; i < 32; i++)
		sum += a[i] * b[i];
	return sum;
}

#define KERNELS kernels_scalar
#define ISA "scalar"
#define VEC float
#define LANES 1
#define ROWS 4
#define COLS 2
#define ZERO() 0
#define LOAD(p) (*(p))
#define LOAD_HALF(p) half_to_float(*(p))
#define STORE_HALF(p, v) (*(p) = float_to_half(v))
#define HALF(h) half_to_float(h)
#define SPLAT(f) (f)
#define FMA(a, b, c) ((a) * (b) + (c))
#define MUL(a, b) ((a) * (b))
#define SUM(v) (v)
#define BYTES const int8_t *
#define LOAD_BYTES(p) (p)
#define DOT_BYTES(a, b) ((float)dot_bytes(a, b))
#include "kernels_body.h"
