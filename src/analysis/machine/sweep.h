/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring ceilings: every kernel that this CPU has, on each number of threads, over working sets
 * from the nearest cache to memory. Repetitions go round all of them, so that a disturbance meets
 * one repetition of many figures and not all of one. Takes all CPUs for some seconds. One at a
 * time.
 */
#pragma once

#include "analysis/machine/sweep_slots.h"

/* -ENOMEM, or what starting a thread gave. */
int sweep_run(struct ceilings **out, const struct sweep_options *options);
