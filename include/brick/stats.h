/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of the session that the thread uses, merged over all threads. Any thread; a reader
 * never holds up a writer, so a set of numbers read while bricks run may be one sample apart from
 * each other.
 */
#ifndef BRICK_STATS_H
#define BRICK_STATS_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Times in ns. Counts that were never given are 0, as is all that is not known. */
struct brick_stats {
	size_t size; /* sizeof(struct brick_stats) */
	uint64_t count;
	uint64_t total_ns; /* sum over threads, or queues; recursion counted once */
	uint64_t self_ns;  /* less nested bricks and waits */
	uint64_t wait_ns;
	uint64_t min_ns, max_ns;
	/* by nearest rank, within 1 %; 0: not known, as p95 takes 20 executions and p99 takes 100
	 */
	uint64_t p50_ns, p95_ns, p99_ns;
	double mean_ns; /* of single executions, exact */
	/*
	 * standard deviation of single executions, from a histogram whose buckets are 1/64 of a
	 * length wide: within 0.8 % of those lengths. 0: not known; it is less than two times that.
	 */
	double stddev_ns;
	uint64_t elements, bytes, bytes_out, flops;
	double share; /* self_ns as a part of that of all bricks on threads, or on queues: 0 to 1 */
};

#define BRICK_STATS_INIT BRICK_SIZED(struct brick_stats)

/*
 * Statistics of one brick on threads. BRICK_ENOTRECORDED: it never ran there (nothing is written).
 * -ENOENT: no session. -EINVAL: no such brick, or size.
 */
BRICK_API int brick_stats_get(uint32_t brick, struct brick_stats *out);

/*
 * Statistics of one brick on queues of devices: its bricks there, and the commands that it
 * launched. In a session whose records go somewhere percentiles are not known.
 */
BRICK_API int brick_device_stats_get(uint32_t brick, struct brick_stats *out);

/*
 * Statistics of a category: sums of its bricks, each on threads or, if it ran on none, on queues of
 * devices. As these may be nested in each other, the total is the sum of their own times (self_ns),
 * so the totals of all categories add up. Percentiles are not known. Errors as above.
 */
BRICK_API int brick_category_stats_get(uint32_t category, struct brick_stats *out);

/*
 * Add numbers that were measured elsewhere to a brick's statistics: count, total_ns, self_ns,
 * wait_ns, min_ns, max_ns, elements, bytes, bytes_out and flops. They are in no histogram and on no
 * time line. -EINVAL: no such brick, size, count 0, or min_ns beyond max_ns. -ENOENT: nothing
 * records.
 */
BRICK_API int brick_stats_add(uint32_t brick, const struct brick_stats *more);

/* The session's losses so far, over all threads. */
struct brick_losses {
	size_t size; /* sizeof(struct brick_losses) */
	uint64_t dropped, unmatched, clamped, unsupported, open;
};

#define BRICK_LOSSES_INIT BRICK_SIZED(struct brick_losses)

/* -ENOENT: no session. -EINVAL: size. */
BRICK_API int brick_losses_get(struct brick_losses *out);

BRICK_END_DECLS

#endif
