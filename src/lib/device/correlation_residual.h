/* SPDX-License-Identifier: Apache-2.0 */
/* How well a correlation places times and lengths (brick/correlation.h). */
#pragma once

#include "brick/correlation.h"

/*
 * Returns how far off the host time of `device_ns` may be, in ns. Between two anchors it is the
 * residual. Beyond them the error of the two anchors grows with the distance; with a single anchor
 * the clock may run 500 ppm faster or slower. 0: there is no anchor.
 */
BRICK_API uint64_t brick__correlation_residual_ns(
	const struct brick_correlation *correlation, uint64_t device_ns);

/*
 * Returns the ns between two device times: the device's own difference, if it agrees with the line
 * within the error of the line's rate; else the difference on the host's clock.
 */
uint64_t brick__correlation_length_ns(
	const struct brick_correlation *correlation, uint64_t begin_ns, uint64_t end_ns);
