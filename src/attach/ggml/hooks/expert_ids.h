/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which experts a mixture uses (`record --experts`): MUL_MAT_ID reads a number for each row, which
 * says whose weights to multiply it with. They are results of the same graph, and may be
 * overwritten once the node is over, so they are counted right before it. Nodes on a device have no
 * hook here. Any thread, each for itself.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

/* Whether they are asked for; settled when the library is loaded. */
extern bool experts_wanted;

/* The first thread of a team is about to begin a node, and all nodes before it are over. */
void experts_node_begin(struct node_thread *t, const void *node);
