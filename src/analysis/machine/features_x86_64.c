/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUID on x86-64: an extension counts only if the operating system saves its registers, too.
 * Called by the tables of kernels.
 */
#include "analysis/machine/features_x86_64.h"

#include <cpuid.h>
#include <stdint.h>

enum { STATE_SSE = 2, STATE_AVX = 4, STATE_AVX512 = 0xe0 };

struct leaf {
	uint32_t a, b, c, d;
};

static struct leaf leaf(uint32_t number, uint32_t part)
{
	struct leaf l = {0};

	__get_cpuid_count(number, part, &l.a, &l.b, &l.c, &l.d);
	return l;
}

/* Whether the system saves all of these parts of the register state. */
static int saves(uint32_t wanted)
{
	uint32_t low, high;

	if (!(leaf(1, 0).c & 1u << 27)) /* OSXSAVE */
		return 0;
	__asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & wanted) == wanted;
}

int feature_baseline(void)
{
	return 1;
}

int feature_avx2_fma(void)
{
	return saves(STATE_SSE | STATE_AVX) && leaf(1, 0).c & 1u << 12 && leaf(7, 0).b & 1u << 5;
}

int feature_avx512f(void)
{
	return feature_avx2_fma() && saves(STATE_AVX512) && leaf(7, 0).b & 1u << 16;
}

int feature_avx512_vnni(void)
{
	return feature_avx512f() && leaf(7, 0).c & 1u << 11;
}

int feature_avx512_bf16(void)
{
	return feature_avx512f() && leaf(7, 1).a & 1u << 5;
}

int feature_avx_vnni(void)
{
	return feature_avx2_fma() && leaf(7, 1).a & 1u << 4;
}
