/* SPDX-License-Identifier: Apache-2.0 */
/* What probes cost in this process. */
#pragma once

#include "brick/abi/session.h"

/*
 * What a begin/end pair costs, into the header: the median and the lower quartile with warm caches,
 * and the upper quartile behind data that went through them. Under the session lock.
 */
void brick__pair_cost_measure(struct brick_session_header *header);
