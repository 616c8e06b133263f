/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic and memory on CPUs that nobody has written kernels for: plain C, kept from being
 * merged by passing values through empty assembly. The sweep calls these through the tables.
 */
#include "analysis/machine/sweep_kernels.h"

#define HIDE(x) __asm__("" : "+r"(x))

enum { CHAINS = 8 };

static bool always(void)
{
	return 1;
}

static double scalar_f64(uint64_t rounds)
{
	double c[CHAINS] = {0}, a = 1e-4, b = 1e-4, sum = 0;

	for (; rounds; rounds--)
		for (int i = 0; i < CHAINS; i++)
			c[i] = c[i] * a + b;
	for (int i = 0; i < CHAINS; i++)
		sum += c[i];
	return sum;
}

const struct machine_compute machine_computes[] = {
	{"scalar", "f64", 2 * CHAINS, always, scalar_f64},
	{0},
};

static void read_words(float *const arrays[STREAM_ARRAYS], size_t bytes, uint64_t passes)
{
	const uintptr_t *a = (const uintptr_t *)arrays[0];
	uintptr_t sum = 0;

	for (; passes; passes--) {
		for (size_t i = 0; i < bytes / sizeof(*a); i++)
			sum += a[i];
		HIDE(sum);
	}
}

static void copy_words(float *const arrays[STREAM_ARRAYS], size_t bytes, uint64_t passes)
{
	for (; passes; passes--) {
		uintptr_t *a = (uintptr_t *)arrays[0];
		HIDE(a);
		for (size_t i = 0; i < bytes / sizeof(*a); i++)
			a[i] = ((const uintptr_t *)arrays[1])[i];
	}
}

static void triad_words(float *const arrays[STREAM_ARRAYS], size_t bytes, uint64_t passes)
{
	for (; passes; passes--) {
		float *a = arrays[0];
		HIDE(a);
		for (size_t i = 0; i < bytes / sizeof(*a); i++)
			a[i] = arrays[1][i] + 0.5f * arrays[2][i];
	}
}

const struct machine_stream machine_streams[] = {
	{"scalar", STREAM_READ, always, read_words},
	{"scalar", STREAM_COPY, always, copy_words},
	{"scalar", STREAM_TRIAD, always, triad_words},
	{0},
};

void machine_relax(void)
{
	__asm__ __volatile__("" ::: "memory");
}
