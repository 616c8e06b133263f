// SPDX-License-Identifier: Apache-2.0
//
// NEON of AArch64: 4 floats at a time, 32 registers.
#include <arm_neon.h>

static inline float32x4_t load_bytes(const int8_t *p)
{
	uint32_t four;
	__builtin_memcpy(&four, p, sizeof(four));
	int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
	return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

#define KERNELS kernels_neon
#define ISA "neon"
#define VEC float32x4_t
#define LANES 4
#define ROWS 4
#define COLS 5
#define LOAD_HALVES(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define LOAD_BYTES(p) load_bytes(p)
#define HALF(h) vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0)
#define SUM(v) vaddvq_f32(v)
#include "kernels_body.h"
