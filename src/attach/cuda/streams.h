/* SPDX-License-Identifier: Apache-2.0 */
/* A queue for each stream that records name. Consumer only. */
#pragma once

#include <stdint.h>
#include "brick/queue.h"

/*
 * The queue of a stream. Streams beyond the 768th share one queue. NULL: no memory. Programs that
 * overlap kernels of one stream (dependent launches, branches of a graph) are why all of them are
 * out-of-order queues.
 */
struct brick_queue *streams_queue(uint32_t device, uint32_t context, uint32_t stream);

/* For what belongs to no stream in particular. NULL: no memory. */
struct brick_queue *streams_any(void);
