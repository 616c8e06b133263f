// SPDX-License-Identifier: Apache-2.0
//
// AVX-512F: 16 floats at a time, 32 registers.
#include <immintrin.h>

#define KERNELS kernels_avx512
#define ISA "avx512"
#define VEC __m512
#define LANES 16
#define ROWS 4
#define COLS 6
#define LOAD_HALVES(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define LOAD_BYTES(p) \
	_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(p))))
#define HALF(h) _cvtsh_ss(h)
#define SUM(v) _mm512_reduce_add_ps(v)
#include "kernels_body.h"
