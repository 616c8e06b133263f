// SPDX-License-Identifier: Apache-2.0
//
// Which kernels there are in this build (KERNELS_X86 or KERNELS_ARM, from CMakeLists.txt) and which
// of them this CPU can run.
#include "decoder_kernels.h"

#include <string.h>

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
