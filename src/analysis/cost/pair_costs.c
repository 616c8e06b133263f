/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cost/pair_costs.h"

#include <math.h>
#include <stdio.h>

/* The upper end; older recordings say less. */
static void add_high(struct pair_costs *costs, const struct run_process *process, double pairs)
{
	double ns = process->pair_cost_ns, high_ns = process->pair_cost_high_ns;
	double streamed_ns = process->pair_cost_streamed_ns, cold_ns = process->pair_cost_cold_ns;
	if (!(process->pair_stream_ns > 0)) {
		costs->high_ns += pairs * (high_ns > 0 ? high_ns : ns);
		return;
	}
	costs->high_ns += pairs * 2 * ns;
	costs->stream_ns = fmax(costs->stream_ns, process->pair_stream_ns);
	costs->slope = fmax(costs->slope, streamed_ns / process->pair_stream_ns);
	costs->cold_ns = fmax(costs->cold_ns, cold_ns);
	costs->streamed_ns += pairs * fmax(streamed_ns - ns, 0);
	costs->most_ns += cold_ns > 0 ? pairs * fmax(cold_ns - 2 * ns, 0) : INFINITY;
}

void pair_costs_add(struct pair_costs *costs, const struct run_process *process, double pairs)
{
	double ns = process->pair_cost_ns, low_ns = process->pair_cost_low_ns;
	if (pairs <= 0)
		return;
	if (!(ns > 0)) {
		costs->unknown = true;
		return;
	}
	costs->count += pairs;
	costs->ns += pairs * ns;
	costs->low_ns += pairs * (low_ns > 0 ? low_ns : ns);
	add_high(costs, process, pairs);
}

void pair_costs_place(struct pair_costs *costs, double time_ns)
{
	if (!(costs->slope > 0) || !(time_ns > 0))
		return;
	costs->between_ns = time_ns / costs->count;
	if (costs->between_ns >= costs->stream_ns)
		costs->ns += costs->streamed_ns;
	costs->high_ns += fmin(costs->slope * time_ns, costs->most_ns);
}

void pair_costs_text(const struct pair_costs *costs, char *text, size_t size)
{
	double ns = costs->ns / costs->count, low_ns = costs->low_ns / costs->count;
	double high_ns = costs->high_ns / costs->count;
	int used;
	if (!(costs->between_ns > 0)) {
		snprintf(text, size,
			"%.0f begin/end pairs at %.1f ns, timed at the start: %.1f in warm caches "
			"to %.1f behind 2 MB of other data (the interval is of these; a pair "
			"behind more than all caches hold takes longer)",
			costs->count, ns, low_ns, high_ns);
		return;
	}
	used = snprintf(text, size,
		"%.0f begin/end pairs, one in %.1f us, at %.1f ns, timed at the start: %.1f in "
		"warm caches to %.1f behind as much data as can go through them in between",
		costs->count, costs->between_ns / 1e3, ns, low_ns, high_ns);
	if (costs->cold_ns > 0 && used > 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used,
			" (one that is in no cache at all: %.1f at most)", costs->cold_ns);
}
