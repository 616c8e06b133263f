/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the begin/end pairs of a run cost, by what each process timed at its start.
 *
 * A pair lies behind what its program does since the one before. In t ns no more data than those of
 * t ns can have pushed out what it needs: so it costs twice what warm ones in a row do (alone, with
 * work, or with others inside) and, of a pair behind 2 MB, as much as t is of the time that these
 * took at least; but never more than with nothing of it in any cache (high). As that bends
 * downwards only, it holds with the mean of all t, too, and that is known. By the estimate a pair
 * is warm, or behind those 2 MB where the mean is as long as they took. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "trace/run.h"

struct pair_costs {
	double count;
	double ns, low_ns, high_ns; /* of all of them */
	/* Where recordings say it: the mean time between two, how long 2 MB take, the most that one
	 * costs; a pair behind them by their time; what all cost more behind them, and at most. */
	double between_ns, stream_ns, cold_ns, slope, streamed_ns, most_ns;
	bool unknown; /* a process that has some does not say what they cost */
};

void pair_costs_add(struct pair_costs *costs, const struct run_process *process, double pairs);

/* All are there; they lie in `time_ns` of threads. */
void pair_costs_place(struct pair_costs *costs, double time_ns);

/* How it was obtained, cut to `size`. */
void pair_costs_text(const struct pair_costs *costs, char *text, size_t size);
