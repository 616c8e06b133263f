/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording counters per step, as the rest of the library sees it (counters_step.c). All of it is
 * off, and one test of brick__counters_on, until somebody asks for counters.
 */
#pragma once

#include <stdint.h>
#include "brick/counters.h"

/* Bits of the counters that are recorded. */
extern uint32_t brick__counters_on __attribute__((visibility("hidden")));

/* What is counted now; a session that starts changes it while threads record. */
static inline uint32_t brick__counters_now(void)
{
	return __atomic_load_n(&brick__counters_on, __ATOMIC_RELAXED);
}

/* A session begins: BRICK_COUNTERS may ask for counters. */
void brick__counters_start(void);

/* The calling thread has got a lane: it is counted from now on. */
void brick__counters_thread(void);

/* Just before a step begins (forget: it did not), and when it has ended, on its thread. */
void brick__counters_step_begin(void);
void brick__counters_step_forget(void);
void brick__counters_step_end(void);

/* Around a fork; what the child inherits is the parent's. */
void brick__counters_lock(void);
void brick__counters_unlock(void);
void brick__counters_abandon(void);

/* As brick_counters_read(), and of another thread too, by system calls; `size` is not set. */
void brick__counters_read(
	const struct brick_counters *counters, struct brick_counter_values *values);
void brick__counters_read_any(
	const struct brick_counters *counters, struct brick_counter_values *values);
