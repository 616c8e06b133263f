/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted around steps, for sessions and forks. All of it is off until somebody asks for
 * counters.
 */
#pragma once

/* A session begins: the environment may ask for counters (BRICK_COUNTERS, BRICK_OFF_CPU). */
void brick__counters_start(void);

/*
 * From now on, until the session ends, steps count what their own thread does: `cpu-time` (ns),
 * `preemptions` and `waits`. For where the kernel does not tell of context switches.
 */
void brick__step_cpu_use(void);

/* Around a fork; what the child inherits is the parent's. */
void brick__counters_lock(void);
void brick__counters_unlock(void);
void brick__counters_abandon(void);
