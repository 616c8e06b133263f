/* SPDX-License-Identifier: Apache-2.0 */
/* How well a correlation places a time (brick/correlation.h). */
#pragma once

#include "brick/correlation.h"

/*
 * How far off the host time of `device_ns` may be. Between two anchors that is the residual.
 * Beyond them the error of the two anchors grows with the distance, and a single anchor has no
 * rate at all. 0 if there is no anchor.
 */
BRICK_API uint64_t brick__correlation_residual_ns(
	const struct brick_correlation *correlation, uint64_t device_ns);
