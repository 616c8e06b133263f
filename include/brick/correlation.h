/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing a device's clock on the host's. A reading is a device time between two host times; the
 * narrowest of several is an anchor. Between two anchors the line through them holds, beyond the
 * last (or first) the line through it and the nearest that is far enough away to carry a rate: so
 * rate, offset and drift are measured and not assumed. Take a reading before times are converted
 * that are later than the last anchor: between anchors they are surest. One thread at a time per
 * correlation.
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
	/* Anchors in use; when all are, every second one of the older half is dropped. */
	uint64_t count;
	struct {
		uint64_t host_ns, device_ns;
		uint64_t half_width_ns; /* half of the host's interval around it */
	} anchors[BRICK_CORRELATION_ANCHORS];
	uint64_t residual_ns; /* greatest of: half widths, and how far an anchor lay off the line
				 through those beside it when it was new */
};

/* Forget everything. */
BRICK_API void brick_correlation_init(struct brick_correlation *correlation);

/*
 * Add the narrowest of these readings. -EINVAL: none is usable (a clock that runs back, count 0).
 * An anchor less than 1 ms or 5000 times their half widths after the last replaces it if it is
 * narrower.
 */
BRICK_API int brick_correlation_add(struct brick_correlation *correlation,
	const struct brick_reading *readings, uint32_t count);

/*
 * Returns the ns from one reading until the next is due, at most `most_ns`: a line is drawn no
 * further than it is long, and then errs by no more than three times the residual. 0: there is no
 * anchor yet.
 */
BRICK_API uint64_t brick_correlation_period_ns(
	const struct brick_correlation *correlation, uint64_t most_ns);

/* Device time to host time; 0 when there is no anchor yet. With one anchor the rate is taken as 1.
 */
BRICK_API uint64_t brick_correlation_host_ns(
	const struct brick_correlation *correlation, uint64_t device_ns);

BRICK_END_DECLS

#endif
