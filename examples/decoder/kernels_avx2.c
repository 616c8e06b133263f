// SPDX-License-Identifier: Apache-2.0
//
// AVX2 with FMA and F16C: 8 floats at a time, 16 registers.
#include <immintrin.h>

static inline float sum_lanes(__m256 v)
{
	__m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
	return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

#define KERNELS kernels_avx2
#define ISA "avx2"
#define VEC __m256
#define LANES 8
#define ROWS 4
#define COLS 3
#define LOAD_HALVES(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define LOAD_BYTES(p) \
	_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#define HALF(h) _cvtsh_ss(h)
#define SUM(v) sum_lanes(v)
#include "kernels_body.h"
