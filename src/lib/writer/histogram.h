/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many executions were how long, by brick_histogram_index() of their length. A length may be in
 * ticks or in ns, and each unit is a type of its own: nothing that takes one takes the other.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/lane.h"

struct ticks_histogram {
	uint64_t of_ticks[BRICK_HISTOGRAM_BUCKETS];
};

struct ns_histogram {
	uint64_t of_ns[BRICK_HISTOGRAM_BUCKETS];
};
