/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks whether an enqueued command is done, and records it at its place on the host's clock. The
 * caller holds queue->taking.
 */
#pragma once

#include "attach/opencl/opencl_queue.h"

/*
 * Is this command done, the index-th of its queue? 1: yes, and its times are set; 0: not yet; -1:
 * it has no times.
 */
int placing_poll(struct queue *queue, struct pending *pending, uint64_t index);

/* Record a command whose times are known; refuse: count a command as not timed. */
void placing_record(struct queue *queue, const struct pending *pending);
void placing_refuse(struct queue *queue);

/* Releases the resources of a pending command. */
void placing_release(struct pending *pending);
