/* SPDX-License-Identifier: Apache-2.0 */
/* What probes cost in this process. */
#pragma once

#include "brick/abi/session.h"

/*
 * Writes the cost of a begin/end pair into the header: with warm caches, after data went through
 * them, and with none of its lines in a cache. Under the session lock.
 */
void brick__pair_cost_measure(struct brick_session_header *header);

/* The recorder's: measures what does not depend on the process, so that none must do so. */
void brick__pair_cost_share(struct brick_session_refusals *page);
