/* SPDX-License-Identifier: Apache-2.0 */
/* How well a correlation places times and lengths (brick/correlation.h). */
#pragma once

#include "brick/correlation.h"

/*
 * How far off the host time of `device_ns` may be. Between two anchors that is the residual.
 * Beyond them the error of the two anchors grows with the distance, and a single anchor has no
 * rate at all. 0 if there is no anchor.
 */
BRICK_API uint64_t brick__correlation_residual_ns(
	const struct brick_correlation *correlation, uint64_t device_ns);

/*
 * How long a device took between two of its times: by the host's clock, or as the device says it
 * where that is within what the line's rate may be off.
 */
uint64_t brick__correlation_length_ns(
	const struct brick_correlation *correlation, uint64_t begin_ns, uint64_t end_ns);
