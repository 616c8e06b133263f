/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of queues: CLOCK_MONOTONIC in ticks. */
#pragma once

#include <stdint.h>

/* Times of CLOCK_MONOTONIC in ticks, by a line that is fitted anew as time goes on. Any thread. */
uint64_t brick__ticks_of_ns(uint64_t ns);

/* Over a fork. */
void brick__queue_clock_lock(void);
void brick__queue_clock_unlock(void);
