/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of queues: CLOCK_MONOTONIC in ticks. */
#ifndef BRICK_LIB_QUEUE_CLOCK_H
#define BRICK_LIB_QUEUE_CLOCK_H

#include <stdint.h>

/* Times of CLOCK_MONOTONIC in ticks, by a line that is fitted anew as time goes on. Any thread. */
uint64_t brick__ticks_of_ns(uint64_t ns);

/* Over a fork. */
void brick__queue_clock_lock(void);
void brick__queue_clock_unlock(void);

#endif
