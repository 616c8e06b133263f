/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the histogram of a brick's lengths: the run's own, which knows of dropped samples, or
 * that of the samples. Pure; any thread.
 */
#pragma once

#include "trace/run.h"

/*
 * The run's own histogram of a brick on threads. NULL: there is none; or it knows less
 * than so many samples, as processes write theirs when they end; or devices ran the brick, too,
 * whose executions would be in it; or it knows of no more than the samples, and those of times off
 * the CPU, too.
 */
const struct ticks_lengths *durations_of_run(
	const struct run *run, uint32_t brick, uint64_t samples);

/* Entries of a histogram; NULL has none. */
uint64_t durations_in_ticks(const struct ticks_lengths *lengths);
uint64_t durations_in_ns(const struct ns_lengths *lengths);
