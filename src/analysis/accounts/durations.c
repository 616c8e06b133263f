/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/accounts/durations.h"

#include <stdbool.h>
#include <stddef.h>

uint64_t durations_count(const uint64_t *histogram)
{
	uint64_t count = 0;

	for (uint32_t i = 0; histogram && i < BRICK_HISTOGRAM_BUCKETS; i++)
		count += histogram[i];
	return count;
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

const uint64_t *durations_of_run(const struct run *run, uint32_t brick, uint64_t samples)
{
	const uint64_t *kept =
		run->histograms && brick < run->brick_count ? run->histograms[brick] : NULL;

	uint64_t known = kept ? durations_count(kept) : 0;

	if (!kept || known < samples || ran_on_devices(run, brick))
		return NULL;
	/* samples know of times off the CPU */
	if (known == samples && run_off_cpu_is_known(run, 0, UINT64_MAX))
		return NULL;
	return kept;
}
