/* SPDX-License-Identifier: Apache-2.0 */
/* The choice is made by counts of values alone. */
#include "analysis/accounts/durations.h"

#include <stdbool.h>
#include <stddef.h>

uint64_t durations_in_ticks(const struct ticks_lengths *lengths)
{
	return lengths ? lengths_count(&lengths->of_ticks) : 0;
}

uint64_t durations_in_ns(const struct ns_lengths *lengths)
{
	return lengths ? lengths_count(&lengths->of_ns) : 0;
}

static bool ran_on_devices(const struct run *run, uint32_t brick)
{
	for (size_t l = 0; l < run->lane_count; l++) {
		const struct run_lane *lane = &run->lanes[l];
		if (lane->kind == BRICK_LANE_QUEUE && lane->stats && lane->stats[brick].count)
			return true;
	}
	return false;
}

const struct ticks_lengths *durations_of_run(
	const struct run *run, uint32_t brick, uint64_t samples)
{
	const struct ticks_lengths *kept =
		run->histograms && brick < run->brick_count ? run->histograms[brick] : NULL;

	uint64_t known = durations_in_ticks(kept);

	if (!kept || known < samples || ran_on_devices(run, brick))
		return NULL;
	/* nothing was dropped, and samples also know times off the CPU */
	if (known == samples && run_off_cpu_is_known(run, 0, UINT64_MAX))
		return NULL;
	return kept;
}
