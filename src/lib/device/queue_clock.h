/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of queues: CLOCK_MONOTONIC in ticks. */
#pragma once

#include <stdint.h>

/*
 * Two times that are further apart than this on CLOCK_MONOTONIC have the same order in ticks,
 * unless readings are very poor.
 */
enum { QUEUE_CLOCK_MARGIN_NS = 500 };

/* A time, in ticks. */
struct brick__ticks {
	uint64_t at;
	uint64_t off; /* how far `at` may be from the true time, in ticks */
};

/*
 * Converts a time of CLOCK_MONOTONIC to ticks, by a line that is fitted again from time to time.
 * Any thread.
 */
struct brick__ticks brick__ticks_of_ns(uint64_t ns);

/* Returns the time of CLOCK_MONOTONIC that brick__ticks_of_ns() turns into these ticks. Any thread.
 */
uint64_t brick__ns_of_ticks(uint64_t ticks);

/* Take and give the clock's lock, to hold it still over a fork. */
void brick__queue_clock_lock(void);
void brick__queue_clock_unlock(void);
