// SPDX-License-Identifier: Apache-2.0
//
// NEON of AArch64: 4 floats at a time, 32 registers.
#include <arm_neon.h>

static inline float32x4_t dot_bytes(int8x16x2_t w, int8x16x2_t x)
{
	int16x8_t low = vmull_s8(vget_low_s8(w.val[0]), vget_low_s8(x.val[0]));
	int16x8_t high = vmull_s8(vget_low_s8(w.val[1]), vget_low_s8(x.val[1]));
	int32x4_t sum = vaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));

	low = vmull_high_s8(w.val[0], x.val[0]);
	high = vmull_high_s8(w.val[1], x.val[1]);
	return vcvtq_f32_s32(vpadalq_s16(vpadalq_s16(sum, low), high));
}

static inline float half(uint16_t bits)
{
	return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
}

#define KERNELS kernels_neon
#define ISA "neon"
#define VEC float32x4_t
#define LANES 4
#define ROWS 4
#define COLS 5
#define ZERO() vdupq_n_f32(0)
#define LOAD(p) vld1q_f32(p)
#define LOAD_HALF(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define STORE_HALF(p, v) vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#define HALF(h) half(h)
#define SPLAT(f) vdupq_n_f32(f)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define MUL(a, b) vmulq_f32(a, b)
#define SUM(v) vaddvq_f32(v)
#define BYTES int8x16x2_t
#define LOAD_BYTES(p) (int8x16x2_t){{vld1q_s8(p), vld1q_s8((p) + 16)}}
#define DOT_BYTES(a, b) dot_bytes(a, b)
#include "kernels_body.h"
