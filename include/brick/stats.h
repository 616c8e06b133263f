/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of the running session, merged over all threads. Any thread; a reader never holds up
 * a writer, so a set of numbers read while bricks run may be one sample apart from each other.
 */
#ifndef BRICK_STATS_H
#define BRICK_STATS_H

#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Times in ns. Counts that were never given are 0. */
struct brick_stats {
	uint64_t count;
	uint64_t total_ns; /* sum over threads; recursion counted once */
	uint64_t self_ns;  /* less nested bricks and waits */
	uint64_t wait_ns;
	uint64_t min_ns, max_ns;
	uint64_t p50_ns, p95_ns, p99_ns; /* within 1 % */
	double mean_ns;			 /* of single executions, exact */
	double stddev_ns;		 /* of single executions, within 1 % */
	uint64_t elements, bytes, bytes_out, flops;
};

/* Of one brick. BRICK_ENOTRECORDED: it never ran (nothing is written). -ENOENT: no session. */
BRICK_API int brick_stats_get(int brick, struct brick_stats *out);

/* Of a category: sums of its bricks, percentiles 0. Errors as above. */
BRICK_API int brick_category_stats_get(int category, struct brick_stats *out);

/* What was lost so far in the session, over all threads. */
struct brick_losses {
	uint64_t dropped, unmatched, clamped, unsupported, open;
};
BRICK_API int brick_losses_get(struct brick_losses *out);

BRICK_END_DECLS

#endif
