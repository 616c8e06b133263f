/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time of each step's own thread, for where the kernel does not tell of context switches:
 * counters `cpu-time` (ns), `preemptions` and `waits` of the step. Any thread, its own steps only.
 */
#ifndef BRICK_LIB_STEP_CPU_H
#define BRICK_LIB_STEP_CPU_H

#include <stdint.h>

/* A bit of brick__counters_on that is no kind of counter. */
#define BRICK__STEP_CPU (UINT32_C(1) << 31)

/* From now on, until the session ends. */
void brick__step_cpu_use(void);

/* Around a step, outside of its time. */
void brick__step_cpu_begin(void);
void brick__step_cpu_end(void);

#endif
