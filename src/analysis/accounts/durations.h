/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the histogram of a brick's lengths: the run's own histogram, which has dropped samples
 * too, or the histogram that the caller made of samples. Pure; any thread.
 */
#pragma once

#include "trace/run.h"

/*
 * The run's own histogram of a brick on threads, borrowed from the run. samples: how many the
 * caller's histogram has. NULL, so that the caller's is better: the run has none; it has fewer
 * entries, as a process writes it when it ends; devices ran the brick, too, and it would have their
 * executions; or it has no more entries, and samples also know times off the CPU.
 */
const struct ticks_lengths *durations_of_run(
	const struct run *run, uint32_t brick, uint64_t samples);

/* Number of values in a histogram; 0 for NULL. */
uint64_t durations_in_ticks(const struct ticks_lengths *lengths);
uint64_t durations_in_ns(const struct ns_lengths *lengths);
