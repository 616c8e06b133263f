/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing a device's clock on the host's. A reading is a device time between two host times; the
 * narrowest of several readings becomes an anchor. A time between two anchors is placed by the line
 * through them. A time beyond the last (or first) anchor is placed by the line through that anchor
 * and the nearest one that is far enough away to carry a rate. So rate, offset and drift are
 * measured. Times between anchors are the surest: take a reading before you convert times that are
 * later than the last anchor. One thread at a time per correlation.
 */
#ifndef BRICK_CORRELATION_H
#define BRICK_CORRELATION_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Host times in ns of CLOCK_MONOTONIC around a reading of the device's clock in its own ns. */
struct brick_reading {
	uint64_t before_ns, device_ns, after_ns;
};

enum { BRICK_CORRELATION_ANCHORS = 64 };

/* The line from a device's clock to the host's, by its anchors. */
struct brick_correlation {
	/* Anchors in use. When the array is full, every second one of the older half is dropped. */
	uint64_t count;
	/* [count], rising strictly on both clocks. */
	struct {
		uint64_t host_ns, device_ns;
		uint64_t half_width_ns; /* half of the host's interval around the reading */
	} anchors[BRICK_CORRELATION_ANCHORS];
	uint64_t residual_ns; /* the largest half width, or distance of an anchor from the line
				 through its two neighbours */
};

/* Forgets all anchors; also makes a new correlation usable. */
BRICK_API void brick_correlation_init(struct brick_correlation *correlation);

/*
 * Adds the narrowest of `count` readings as an anchor. A new anchor that follows the last one by
 * less than 1 ms, or by less than 5000 times the sum of both half widths, replaces the last one if
 * it is narrower; else it is left out. 0, or -EINVAL: no reading is usable (count 0, or a clock
 * that runs back).
 */
BRICK_API int brick_correlation_add(struct brick_correlation *correlation,
	const struct brick_reading *readings, uint32_t count);

/*
 * Returns the ns from one reading until the next is due, at most `most_ns`. A line that is used no
 * further than it is long errs by no more than three times the residual. 0: there is no anchor yet.
 */
BRICK_API uint64_t brick_correlation_period_ns(
	const struct brick_correlation *correlation, uint64_t most_ns);

/*
 * Converts a device time to a host time, at least 1; 0: there is no anchor yet. With a single
 * anchor the rate is taken as 1.
 */
BRICK_API uint64_t brick_correlation_host_ns(
	const struct brick_correlation *correlation, uint64_t device_ns);

BRICK_END_DECLS

#endif
