/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holding commands back until none can come any more that began earlier: records arrive in any
 * order, and a queue's commands must be recorded in the order of their begins. Consumer only.
 */
#pragma once

#include <stdint.h>
#include "brick/queue.h"

struct held_command {
	uint64_t begin, end;	    /* on CUPTI's clock */
	uint64_t queued, submitted; /* likewise; 0: not known */
	struct brick_queue *queue;
	uint64_t bytes, graph_node;
	uint32_t correlation, kernel;
};

/* 0 or -ENOMEM. */
int reorder_prepare(void);

void reorder_hold(const struct held_command *command);

/* Record those that began before this time of the host's; UINT64_MAX: all of them. */
void reorder_release(uint64_t before_ns);

/* Commands recorded; those of which the launch was not known; those that came too late for order.
 */
struct reorder_counts {
	uint64_t recorded, without_launch, without_node, refused;
};
extern struct reorder_counts reorder_counts;
