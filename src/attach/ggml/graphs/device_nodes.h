/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a known graph as a device's backend takes them: one by one, or several at once where
 * the backend fuses them. Each site has a launch owner, the record that the device's launches point
 * to. Owners are never freed, because a device finishes its work long after the graph. Which nodes
 * are fused is known when the backend comes to the next node. Any thread.
 */
#pragma once

#include <pthread.h>
#include "attach/ggml/graphs/known_graphs.h"
#include "brick/attach.h"

struct device_node {
	struct brick_launch_owner *owner; /* NULL: nothing is launched for it */
	uint32_t after; /* index of the node that the backend took next the last time; 0: unknown */
};

/*
 * Fill graph->launched, if it is NULL. The caller holds the graph. 0, -ENOMEM, or -EOPNOTSUPP: the
 * engine's layout or names of operations are unknown.
 */
int device_nodes_ready(struct known_graph *graph);

/*
 * The backend took the nodes [index, after) at once. The owner of the first gets their operations'
 * names and the sum of their work, less the bytes that one node hands to another, as these do not
 * go through memory. After device_nodes_ready().
 */
void device_nodes_taken(struct known_graph *graph, uint32_t index, uint32_t after);

/* The owner of launches while this phase's brick is innermost; never freed. NULL: no memory. */
const struct brick_launch_owner *device_phase_owner(uint16_t brick);

extern pthread_mutex_t device_nodes_mutex; /* held over forks */
