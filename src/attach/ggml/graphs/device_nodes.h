/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of a known graph as a device's backend takes them: one after the other, or several at once
 * where it fuses them. Who owns what is launched for a node is kept for ever, once per site,
 * because devices are done with it long after; which nodes are fused is learnt when the backend
 * comes to the next one. Any thread.
 */
#pragma once

#include <pthread.h>
#include "attach/ggml/graphs/known_graphs.h"
#include "brick/attach.h"

struct device_node {
	struct brick_launch_owner *owner; /* NULL: nothing is launched for it */
	uint32_t after; /* the node that came next, the last time; 0: not known yet */
};

/* Fill graph->launched, if it is not; 0: it is there. */
int device_nodes_ready(struct known_graph *graph);

/*
 * The backend took nodes [index, after) at once. Their work is the sum of theirs, less what one
 * hands to another, as that does not go through memory.
 */
void device_nodes_taken(struct known_graph *graph, uint32_t index, uint32_t after);

/* The owner of what is launched while this phase is innermost; kept for ever. NULL: no memory. */
const struct brick_launch_owner *device_phase_owner(uint16_t brick);

extern pthread_mutex_t device_nodes_mutex; /* held over forks */
