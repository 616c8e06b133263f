// SPDX-License-Identifier: Apache-2.0
//
// IEEE binary16, as models and the KV cache store it, without help from the CPU. Any thread.
#ifndef DECODER_HALF_H
#define DECODER_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float bits_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = (uint32_t)(half & 0x7fff) << 13;

	if (magnitude >= 0x0f800000) // infinite or not a number
		return bits_float(sign | magnitude | 0x7f800000);
	return bits_float(sign | float_bits(bits_float(magnitude) * 0x1p112f));
}

// To nearest even; too large becomes infinity.
static inline uint16_t float_to_half(float value)
{
	uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000;
	uint32_t magnitude = bits & 0x7fffffff;

	if (magnitude > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (magnitude >= 0x477ff000) // 65520 and up
		return (uint16_t)(sign | 0x7c00);
	if (magnitude < 0x38800000) // below 2^-14: the addition rounds at the last bit, 2^-24
		return (uint16_t)(sign | (float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000));
	magnitude += 0xfff + (magnitude >> 13 & 1) - 0x38000000;
	return (uint16_t)(sign | magnitude >> 13);
}

#endif
