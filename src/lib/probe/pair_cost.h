/* SPDX-License-Identifier: Apache-2.0 */
/* What probes cost in this process. */
#pragma once

#include "brick/abi/session.h"

/*
 * Measures a begin/end pair and writes its costs (pair_...) into the header: with warm caches,
 * after data went through them, and with none of its lines in a cache. Under the session lock.
 */
void brick__pair_cost_measure(struct brick_session_header *header);

/* In the recorder: measures the costs that do not depend on the process, so that no process need.
 */
void brick__pair_cost_share(struct brick_session_refusals *page);
