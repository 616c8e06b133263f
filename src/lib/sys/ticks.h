/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU's own counter, inline because it is the hot path. Which counter is sound on this machine
 * is decided once by src/lib/sys/clock.c; until then, and where there is none, the OS clock is
 * read.
 */
#pragma once

#include <stdint.h>
#include "base/clock_ns.h"
#include "brick/export.h"

/* 1: brick__counter() is invariant and calibrated, and brick__now() reads it; 0: the OS clock. */
extern uint32_t brick__counter_used __attribute__((visibility("hidden")));

/* Both halves of a reading of the counter. */
struct brick__halves {
	uint32_t low, high;
};

static inline struct brick__halves brick__halves(uint64_t ticks)
{
	return (struct brick__halves){(uint32_t)ticks, (uint32_t)(ticks >> 32)};
}

#if defined(__x86_64__)
static inline struct brick__halves brick__counter_halves(void)
{
	struct brick__halves now;
	__asm__ __volatile__("rdtsc" : "=a"(now.low), "=d"(now.high));
	return now;
}

static inline uint64_t brick__counter(void)
{
	return __builtin_ia32_rdtsc();
}
#else
#if defined(__aarch64__)
static inline uint64_t brick__counter(void)
{
	uint64_t value;
	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#else
static inline uint64_t brick__counter(void)
{
	return 0;
}
#endif

static inline struct brick__halves brick__counter_halves(void)
{
	return brick__halves(brick__counter());
}
#endif

/* Keeps the CPU from reading the counter before earlier loads are done. */
static inline void brick__counter_order(void)
{
#if defined(__x86_64__)
	__asm__ __volatile__("lfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ __volatile__("isb" : : : "memory");
#endif
}

static inline uint64_t brick__monotonic_ns(void)
{
	return monotonic_ns();
}

/* Out of line: the case without a usable counter. */
uint64_t brick__monotonic_slow(void) __attribute__((visibility("hidden"), cold));

/* Present time in ticks of the process's clock. */
static inline uint64_t brick__now(void)
{
	if (BRICK_LIKELY(brick__counter_used))
		return brick__counter();
	return brick__monotonic_slow();
}

/* The part of a length that fits into 32 bits. */
static inline uint32_t ticks_saturated(uint64_t ticks)
{
	return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}
