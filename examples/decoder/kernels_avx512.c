// SPDX-License-Identifier: Apache-2.0
//
// AVX-512 (F, BW): 16 floats at a time, 32 registers.
#include <immintrin.h>

#define KERNELS kernels_avx512
#define ISA "avx512"
#define VEC __m512
#define LANES 16
#define ROWS 4
#define COLS 6
#define ZERO() _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_HALF(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define STORE_HALF(p, v) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtps_ph(v, 0))
#define HALF(h) _cvtsh_ss(h)
#define SPLAT(f) _mm512_set1_ps(f)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define SUM(v) _mm512_reduce_add_ps(v)
#define BYTES __m512i // widened to 16 bits
#define LOAD_BYTES(p) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define DOT_BYTES(a, b) _mm512_cvtepi32_ps(_mm512_madd_epi16(a, b))
#include "kernels_body.h"
