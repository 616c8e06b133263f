/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between CPUs, out of line. Is the counter fit to be a clock? On x86-64 the TSC must
 * be invariant (CPUID 80000007h, EDX bit 8) and not have been given up by the kernel's own
 * watchdog; CNTVCT always qualifies. Which vector instructions are there? And lines are taken out
 * of the caches by the instructions that programs may use.
 */
#include "lib/sys/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/scope.h"
#include "brick/clock.h"
#include "brick/cpu.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#include "lib/sys/confined.h"
#include "lib/sys/cpu_features.h"

/* The kernel lists "tsc" among the clock sources only as long as it trusts it. */
static bool kernel_distrusts_tsc(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	KEEP_ERRNO();
	char text[256];

	/* where it cannot be read the calibration has the last word */
	return file_begin(path, text, sizeof(text)) && !strstr(text, "tsc");
}

bool brick__sys_counter_faults(void)
{
	KEEP_ERRNO();
	int mode = PR_TSC_ENABLE;

	return !brick__sys_is_confined() && !prctl(PR_GET_TSC, &mode) && mode == PR_TSC_SIGSEGV;
}

uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes)
{
	uint32_t a, b, c, d;

	reason[0] = '\0';
	if (brick__cpuid_faults()) {
		snprintf(reason, reason_bytes, "the program has switched CPUID off");
		return BRICK_CLOCK_MONOTONIC;
	}
	if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & 1u << 8)) {
		snprintf(reason, reason_bytes, "this CPU has no invariant TSC");
		return BRICK_CLOCK_MONOTONIC;
	}
	if (kernel_distrusts_tsc()) {
		snprintf(reason, reason_bytes, "the kernel has found the TSC unstable");
		return BRICK_CLOCK_MONOTONIC;
	}
	return BRICK_CLOCK_TSC;
}
#elif defined(__aarch64__)
bool brick__sys_counter_faults(void)
{
	return false;
}

uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes)
{
	reason[0] = '\0';
	return BRICK_CLOCK_CNTVCT;
}
#else
bool brick__sys_counter_faults(void)
{
	return false;
}

uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes)
{
	snprintf(reason, reason_bytes, "no counter is known for this CPU");
	return BRICK_CLOCK_MONOTONIC;
}
#endif

enum { LINE_BYTES = 64 }; /* or a multiple: then lines are flushed twice */

void brick__sys_stores_done(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#if defined(__x86_64__)
static void flush_line(uintptr_t line)
{
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
}

static void cpu_finish(void)
{
	__asm__ volatile("mfence" : : : "memory");
}
#elif defined(__aarch64__)
static void flush_line(uintptr_t line)
{
	__asm__ volatile("dc civac, %0\n\tic ivau, %0" : : "r"(line) : "memory");
}

static void cpu_finish(void)
{
	__asm__ volatile("dsb sy\n\tisb" : : : "memory");
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
int brick__sys_flush(const volatile void *address, size_t bytes)
{
	uintptr_t begin = (uintptr_t)address & ~(uintptr_t)(LINE_BYTES - 1);

	for (uintptr_t line = begin; line < (uintptr_t)address + bytes; line += LINE_BYTES)
		flush_line(line);
	cpu_finish();
	return 0;
}
#else
int brick__sys_flush(const volatile void *address, size_t bytes)
{
	return -ENOTSUP;
}
#endif

#if defined(__x86_64__)
const char *brick_cpu_isa(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return "avx512";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "avx2";
	return __builtin_cpu_supports("sse4.2") ? "sse4.2" : "sse2";
}
#elif defined(__aarch64__)
const char *brick_cpu_isa(void)
{
	return getauxval(AT_HWCAP) & HWCAP_SVE ? "sve" : "neon";
}
#else
const char *brick_cpu_isa(void)
{
	return "scalar";
}
#endif
