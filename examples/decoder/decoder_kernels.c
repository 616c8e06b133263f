// SPDX-License-Identifier: Apache-2.0
//
// Which kernels there are in this build (KERNELS_X86 or KERNELS_ARM, from CMakeLists.txt), which of
// them this CPU can run, and those for any CPU, which work on one number at a time: the others are
// compared with them. Built without vectorisation, so that "scalar" in a report means it.
#include "decoder_kernels.h"

#include <string.h>

#define KERNELS kernels_scalar
#define ISA "scalar"
#define VEC float
#define LANES 1
#define ROWS 4
#define COLS 2
#define LOAD_HALVES(p) half_to_float(*(p))
#define LOAD_BYTES(p) ((float)*(p))
#define HALF(h) half_to_float(h)
#define SUM(v) (v)
#include "kernels_body.h"

static const struct kernels *find(const char *isa, const struct kernels *kernels, int can_run)
{
	return can_run && (!strcmp(isa, "auto") || !strcmp(isa, kernels->isa)) ? kernels : NULL;
}

const struct kernels *kernels_find(const char *isa)
{
	const struct kernels *found = NULL;
#ifdef KERNELS_X86
	found = find(isa, &kernels_avx512, __builtin_cpu_supports("avx512f"));
	if (!found) // where there is AVX2, there is F16C
		found = find(isa, &kernels_avx2,
			__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#endif
#ifdef KERNELS_ARM
	found = find(isa, &kernels_neon, 1);
#endif
	return found ? found : find(isa, &kernels_scalar, 1);
}
