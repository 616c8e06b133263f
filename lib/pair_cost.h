/* SPDX-License-Identifier: Apache-2.0 */
/* What probes cost in this process. */
#ifndef BRICK_LIB_PAIR_COST_H
#define BRICK_LIB_PAIR_COST_H

#include "brick/abi/session.h"

/* Median and quartiles of what a begin/end pair costs, into the header. */
void brick__pair_cost_measure(struct brick_session_header *header);

#endif
