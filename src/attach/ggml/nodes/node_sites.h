/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which site a node has that a thread begins: as a rule that of the next node of its graph, which
 * the hot path finds by itself. Owner thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

/* From now on the thread works for this graph, from the node at `index` on; NULL: for none known.
 */
void node_sites_of(struct node_thread *t, struct known_graph *graph, uint32_t index);

/* The site of a node that is not where it was expected; 0: none, see brick and layer. */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part);
