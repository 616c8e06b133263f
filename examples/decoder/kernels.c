// SPDX-License-Identifier: Apache-2.0
//
// Which kernels there are in this build (CMakeLists.txt says, by the CPU it builds for) and which
// of them this CPU can run.
#include "kernels.h"

#include <string.h>

static const struct kernels *const built[] = {KERNELS_BUILT &kernels_scalar}; // best first

static bool can_run(const struct kernels *kernels)
{
#ifdef KERNELS_X86
	if (!strcmp(kernels->isa, "avx512"))
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
	if (!strcmp(kernels->isa, "avx2")) // where there is AVX2, there is F16C
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
	return true; // NEON is part of every AArch64
}

const struct kernels *kernels_find(const char *isa)
{
	for (size_t i = 0; i < sizeof(built) / sizeof(*built); i++)
		if ((!strcmp(isa, "auto") || !strcmp(isa, built[i]->isa)) && can_run(built[i]))
			return built[i];
	return NULL;
}
