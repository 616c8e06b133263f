// SPDX-License-Identifier: Apache-2.0
//
// IEEE binary16, as models and the KV cache store it, without help from the CPU. Any thread.
#pragma once

#include <stdint.h>

union float_bits {
	float value;
	uint32_t bits;
};

static inline float half_to_float(uint16_t half)
{
	union float_bits f = {.bits = (uint32_t)(half & 0x7fff) << 13};
	if (f.bits >= 0x0f800000)
		f.bits |= 0x7f800000; // infinite or not a number
	else
		f.value *= 0x1p112f; // the exponents' biases are 112 apart
	f.bits |= (uint32_t)(half & 0x8000) << 16;
	return f.value;
}

// To nearest even; too large becomes infinity.
static inline uint16_t float_to_half(float value)
{
	union float_bits f = {.value = value};
	uint32_t sign = f.bits >> 16 & 0x8000;
	f.bits &= 0x7fffffff;
	if (f.bits > 0x7f800000)
		return (uint16_t)(sign | 0x7e00); // not a number
	if (f.bits >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00); // 65520 and up
	if (f.bits < 0x38800000) { // below 2^-14: the sum rounds at the last bit, 2^-24
		f.value += 0.5f;
		return (uint16_t)(sign | (f.bits - 0x3f000000));
	}
	f.bits += 0xfff + (f.bits >> 13 & 1) - 0x38000000;
	return (uint16_t)(sign | f.bits >> 13);
}
