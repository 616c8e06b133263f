/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are a hook's words what it takes them for? The function may be another one of that name, or the
 * same of a version that takes other arguments. Nothing is read before it is known to be readable.
 * Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/nodes/node_thread.h"

/*
 * Does the first call that a thread makes of an engine's function pass what computes a node, and a
 * node? mul: NULL, or another node. Once it has, the engine's functions always do. Else no fast
 * path knows the caller, so that its next call is looked at, too.
 */
bool node_arguments_hold(
	struct node_thread *t, const void *params, const void *node, const void *mul);

/* is_near: params are known to be readable. */
bool node_arguments_look(struct node_thread *t, const void *params, const void *node, bool is_near);

/*
 * The same for a function of which nobody knows the prototype: every call is looked at. The node
 * that the graph has next is one, and what computes it lies on the caller's stack.
 */
static inline bool node_arguments_seem(struct node_thread *t, const void *params, const void *node)
{
	enum { NEAR = 4096 };
	bool is_near = (uintptr_t)params - (uintptr_t)__builtin_frame_address(0) < NEAR &&
		       (uintptr_t)params % sizeof(int) == 0;

	return (is_near && node && t->nodes[t->node_next].node == node) ||
	       (SYS_KEEPING(node_arguments_look, t, params, node, is_near) & 1);
}
