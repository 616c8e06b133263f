/* SPDX-License-Identifier: Apache-2.0 */
/* How well a correlation places a time (brick/correlation.h); for whoever records what it places.
 */
#pragma once

#include "brick/correlation.h"

/*
 * How far off the host time of `device_ns` may be. Between two anchors that is the residual; a line
 * that is drawn beyond them carries what its two anchors may be off by along, and one anchor has no
 * rate at all. 0 when there is none.
 */
BRICK_API uint64_t brick__correlation_residual_ns(
	const struct brick_correlation *correlation, uint64_t device_ns);
