/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many executions were how long, by brick_histogram_index() of their length in ticks. What is
 * read of it is in src/trace/lengths.h.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/lane.h"

struct ticks_histogram {
	uint64_t of_ticks[BRICK_HISTOGRAM_BUCKETS];
};
