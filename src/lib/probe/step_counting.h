/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters around steps (step.c), for sessions and forks. They are off until somebody asks for
 * counters.
 */
#pragma once

/* Call it when a session begins: switches on what BRICK_COUNTERS and BRICK_OFF_CPU ask for. */
void brick__counters_start(void);

/*
 * From now on, until the session ends, steps count what their own thread does: `cpu-time` (ns),
 * `preemptions` and `waits`. For where the kernel does not tell of context switches.
 */
void brick__step_cpu_use(void);

/* Hold counting still over a fork; abandon: in the child, whose counters are the parent's. */
void brick__counters_lock(void);
void brick__counters_unlock(void);
void brick__counters_abandon(void);
