/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the CPU's counter fit to be a clock? On x86-64 the TSC must be invariant (CPUID 80000007h,
 * EDX bit 8) and not have been given up by the kernel's own watchdog; CNTVCT always qualifies.
 * Called once per process by src/lib/probe/clock.c.
 */
#include "lib/sys/sys.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/scope.h"
#include "brick/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* The kernel lists "tsc" among the clock sources only as long as it trusts it. */
static int kernel_distrusts_tsc(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	KEEP_ERRNO();
	char text[256];

	/* where it cannot be read the calibration has the last word */
	return file_begin(path, text, sizeof text) && !strstr(text, "tsc");
}

uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes)
{
	uint32_t a, b, c, d;

	reason[0] = '\0';
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
uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes)
{
	reason[0] = '\0';
	return BRICK_CLOCK_CNTVCT;
}
#else
uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes)
{
	snprintf(reason, reason_bytes, "no counter is known for this CPU");
	return BRICK_CLOCK_MONOTONIC;
}
#endif
