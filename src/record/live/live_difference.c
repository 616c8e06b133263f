/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes are known by their process and their place among its lanes, bricks by their names: both
 * only ever grow. Called by src/record/live/live_source.c after a reset.
 */
#include "record/live/live_difference.h"

#include <string.h>
#include "base/members.h"

static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The lane of `base` that is lane `number` of `run`; NULL: it is new. */
static const struct run_lane *same_lane(
	const struct run *base, const struct run *run, size_t number)
{
	uint32_t process = run->lanes[number].process;
	size_t place = 0;

	for (size_t i = 0; i < number; i++)
		place += run->lanes[i].process == process;
	if (process >= base->process_count ||
		base->processes[process].pid != run->processes[process].pid)
		return NULL;
	for (size_t i = 0; i < base->lane_count; i++)
		if (base->lanes[i].process == process && !place--)
			return &base->lanes[i];
	return NULL;
}

static void subtract(struct brick_stat *stat, const struct brick_stat *before)
{
#define LESS(now, before, m) (now)->m = less((now)->m, (before)->m);
	EACH(LESS, stat, before, count, total, self, elements, bytes, bytes_out, flops, wait,
		nested)
#undef LESS
	stat->min = stat->max = UINT64_MAX; /* not known */
}

static void subtract_histogram(struct run *run, uint32_t to, const struct run *base, uint32_t from)
{
	if (!run->histograms || !run->histograms[to] || !base->histograms ||
		!base->histograms[from])
		return;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		run->histograms[to][i] = less(run->histograms[to][i], base->histograms[from][i]);
}

void live_subtract(struct run *run, const struct run *base)
{
	for (uint32_t b = 0; b < run->brick_count; b++) {
		uint32_t before = run_brick_find(base, run->bricks[b].name);
		if (before == RUN_NONE)
			continue;
		subtract_histogram(run, b, base, before);
		for (size_t l = 0; l < run->lane_count; l++) {
			const struct run_lane *lane = same_lane(base, run, l);
			if (lane && lane->stats && run->lanes[l].stats)
				subtract(&run->lanes[l].stats[b], &lane->stats[before]);
		}
	}
}
