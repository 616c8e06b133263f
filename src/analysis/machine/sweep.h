/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring ceilings: every kernel that this CPU has, on each number of threads, over working sets
 * from the nearest cache to memory. Repetitions go round all of them, so that a disturbance meets
 * one repetition of many figures and not all of one. Takes all CPUs for some seconds. One at a
 * time.
 */
#pragma once

#include <stddef.h>
#include "analysis/machine/ceilings.h"

struct sweep_options {
	unsigned threads;	  /* at most; 0: as many as CPUs may be used */
	int quick;		  /* fewer repetitions and sizes, and 3 seconds instead of 12 */
	uint64_t (*now_ns)(void); /* what that is counted by; NULL: CLOCK_MONOTONIC */
	void (*progress)(void *context, double share); /* NULL: none */
	void *context;
};

/* -ENOMEM, or what starting a thread gave. */
int sweep_run(struct ceilings **out, const struct sweep_options *options);
