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

// The multiplication wants its first factor unsigned: move the sign of w over to x.
static inline __m256 dot_bytes(__m256i w, __m256i x)
{
	__m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));

	return _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#define KERNELS kernels_avx2
#define ISA "avx2"
#define VEC __m256
#define LANES 8
#define ROWS 4
#define COLS 3
#define ZERO() _mm256_setzero_ps()
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_HALF(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define STORE_HALF(p, v) _mm_storeu_si128((__m128i *)(p), _mm256_cvtps_ph(v, 0))
#define HALF(h) _cvtsh_ss(h)
#define SPLAT(f) _mm256_set1_ps(f)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define SUM(v) sum_lanes(v)
#define BYTES __m256i
#define LOAD_BYTES(p) _mm256_loadu_si256((const __m256i *)(p))
#define DOT_BYTES(a, b) dot_bytes(a, b)
#include "kernels_body.h"
