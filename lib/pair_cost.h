/* SPDX-License-Identifier: Apache-2.0 */
/* What probes cost in this process. */
#pragma once

#include "brick/abi/session.h"

/* Median and quartiles of what a begin/end pair costs, into the header. */
void brick__pair_cost_measure(struct brick_session_header *header);
