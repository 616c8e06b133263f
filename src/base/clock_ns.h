/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings of the POSIX clocks in nanoseconds. Times of samples are read by src/lib/sys/ticks.h.
 * Any thread.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull

/*
 * The C library's own clock_gettime(). A preloaded library (libfaketime) may replace the function
 * of that name, and tell a program false times.
 */
extern int (*clock_read)(clockid_t clock, struct timespec *now)
	__attribute__((visibility("hidden")));

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = {0, 0};

	clock_read(clock, &t); /* fails only for a clock that does not exist */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ns since an unspecified moment, usually the start of the machine. */
static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ns since 1970 (UTC); may jump. */
static inline uint64_t real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* CPU time of the calling thread. */
static inline uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of all threads of the process. */
static inline uint64_t process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline struct timespec timespec_of_ns(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

/* The moment `ns` from now, as pthread_cond_timedwait() and clock_nanosleep() want it. */
static inline struct timespec timespec_in_ns(clockid_t clock, uint64_t ns)
{
	return timespec_of_ns(clock_ns(clock) + ns);
}
