/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records which experts a mixture uses (`record --experts`). MUL_MAT_ID reads the numbers of the
 * experts whose weights each row is multiplied with. The numbers are results of the same graph, and
 * may be overwritten once the node is over, so they are counted right before it. Nodes on a device
 * are not seen here. Owner thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

/* Does the recorder want experts? Constant once the library is loaded. */
extern bool experts_wanted;

/*
 * Called on the first thread of a team before a node, when all nodes before it are over. Records
 * nothing unless the node is a MUL_MAT_ID.
 */
void experts_node_begin(struct node_thread *t, const void *node);
