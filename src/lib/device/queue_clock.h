/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of queues: CLOCK_MONOTONIC in ticks. */
#pragma once

#include <stdint.h>

/* What is further apart in ns of CLOCK_MONOTONIC is in order in ticks, but for very poor readings.
 */
enum { QUEUE_CLOCK_MARGIN_NS = 500 };

struct brick__ticks {
	uint64_t at;
	uint64_t off; /* at most so far from where it belongs */
};

/* A time of CLOCK_MONOTONIC in ticks, by a line that is fitted anew as time goes on. Any thread. */
struct brick__ticks brick__ticks_of_ns(uint64_t ns);

/* Over a fork. */
void brick__queue_clock_lock(void);
void brick__queue_clock_unlock(void);
