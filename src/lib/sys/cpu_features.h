/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU computes with. Header only, for what is injected. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"
#include "lib/sys/confined.h"

/* Would CPUID be a fault, since the program wants that? Before Linux 4.12 it cannot be. */
static inline bool brick__cpuid_faults(void)
{
	KEEP_ERRNO();

	if (brick__sys_is_confined())
		return false;
	return syscall(SYS_arch_prctl, ARCH_GET_CPUID, 0UL) == 0;
}

static inline uint64_t brick__enabled_states(void)
{
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 27))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (uint64_t)d << 32 | a;
}

/*
 * The instruction sets of this CPU that engines are built for, each with a blank behind it. By
 * CPUID's leaves 1 and 7, and whether the kernel keeps the registers (XCR0).
 */
static inline void brick__sys_cpu_features(char *text, size_t bytes)
{
	uint32_t a, one[4] = {0}, seven[4] = {0}, more[4] = {0};

	*text = '\0';
	if (brick__cpuid_faults())
		return;
	uint64_t states = brick__enabled_states();
	bool avx = (states & 6) == 6, avx512 = avx && (states & 0xe0) == 0xe0;

	__get_cpuid(1, &a, &one[1], &one[2], &one[3]);
	__get_cpuid_count(7, 0, &a, &seven[1], &seven[2], &seven[3]);
	__get_cpuid_count(7, 1, &more[0], &more[1], &more[2], &more[3]);
	bool wide = avx512 && seven[1] & 1u << 16;
	snprintf(text, bytes, "%s%s%s%s%s%s%s%s%s", one[2] & 1u << 20 ? "sse4.2 " : "",
		avx && one[2] & 1u << 28 ? "avx " : "", avx && one[2] & 1u << 29 ? "f16c " : "",
		avx && seven[1] & 1u << 5 ? "avx2 " : "",
		avx && more[0] & 1u << 4 ? "avxvnni " : "", wide ? "avx512f " : "",
		wide && seven[2] & 1u << 11 ? "avx512vnni " : "",
		wide && more[0] & 1u << 5 ? "avx512bf16 " : "",
		(states & 3u << 17) == 3u << 17 && seven[3] & 1u << 25 ? "amx_int8 " : "");
}
#else
static inline void brick__sys_cpu_features(char *text, size_t bytes)
{
	if (bytes)
		text[0] = '\0';
}
#endif
