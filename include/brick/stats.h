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

/* Statistics of a brick or category. Times in ns. A value that is not known is 0. */
struct brick_stats {
	size_t size;		 /* sizeof(struct brick_stats) */
	uint64_t count;		 /* executions */
	uint64_t total_ns;	 /* sum over threads, or queues; recursion counts once */
	uint64_t self_ns;	 /* total_ns less the time of nested bricks and waits */
	uint64_t wait_ns;	 /* waiting inside of executions and right after them */
	uint64_t min_ns, max_ns; /* of single executions */
	/* by nearest rank, within 1 %; 0: not known. p95 needs 20 executions, p99 needs 100 */
	uint64_t p50_ns, p95_ns, p99_ns;
	double mean_ns; /* of single executions, exact */
	/*
	 * Standard deviation of single executions, from a histogram that has each length within
	 * 0.8 %. 0: not known, or too small to tell: less than twice the histogram's own error.
	 */
	double stddev_ns;
	uint64_t elements;  /* produced */
	uint64_t bytes;	    /* read and written; with bytes_out: read */
	uint64_t bytes_out; /* written, where brick_end_traffic() gave it */
	uint64_t flops;
	double share; /* self_ns as a share of all bricks' on threads, or on queues: 0 to 1 */
};

#define BRICK_STATS_INIT BRICK_SIZED(struct brick_stats)

/*
 * Get the statistics of one brick on threads. BRICK_ENOTRECORDED: it never ran there; *out is as it
 * was. -ENOENT: no session. -EINVAL: no such brick, or size. -ENOMEM.
 */
BRICK_API int brick_stats_get(uint32_t brick, struct brick_stats *out);

/*
 * Get the statistics of one brick on queues of devices: its executions there, and the commands that
 * it launched. If a consumer takes the session's records, percentiles are not known. Errors as of
 * brick_stats_get().
 */
BRICK_API int brick_device_stats_get(uint32_t brick, struct brick_stats *out);

/*
 * Get the statistics of a category: sums over its bricks, each on threads or, if it ran on none, on
 * queues of devices. Bricks may be nested in each other, so total_ns is the sum of their self_ns:
 * the totals of all categories add up. Percentiles are not known. Errors as of brick_stats_get().
 */
BRICK_API int brick_category_stats_get(uint32_t category, struct brick_stats *out);

/*
 * Add numbers that were measured elsewhere to a brick's statistics: count, total_ns, self_ns (0: as
 * total_ns), wait_ns, min_ns and max_ns (max_ns 0: both are the mean), elements, bytes, bytes_out
 * and flops. They are in no histogram and on no time line. 0. -EINVAL: no such brick, size, count
 * 0, or min_ns beyond max_ns. -ENOENT: nothing records.
 */
BRICK_API int brick_stats_add(uint32_t brick, const struct brick_stats *more);

/* The session's losses so far, over all threads. */
struct brick_losses {
	size_t size;	    /* sizeof(struct brick_losses) */
	uint64_t dropped;   /* records that were dropped or refused (struct brick_ledger) */
	uint64_t unmatched; /* begins and ends that match nothing, lie too deep, or have no entry */
	uint64_t clamped;   /* times that were set to a bound */
	uint64_t unsupported; /* work that could not be timed */
	uint64_t open;	      /* bricks that have not ended */
};

#define BRICK_LOSSES_INIT BRICK_SIZED(struct brick_losses)

/* Get the losses. 0. -ENOENT: no session. -EINVAL: size. */
BRICK_API int brick_losses_get(struct brick_losses *out);

BRICK_END_DECLS

#endif
