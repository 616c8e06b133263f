/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a hook's arguments are compute params and a node. The hooked function may be a
 * stranger of that name, or ggml's in a version with other arguments. Memory is read only once it
 * is known to be readable. Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/nodes/node_thread.h"

/*
 * Checks a thread's first call of an engine's function. mul: NULL, or the second node. True: the
 * arguments are params and nodes, and the engine is trusted from now on. False: they are not; `t`
 * forgets the caller, so that its next call is checked, too. t->engine must not be NULL.
 */
bool node_arguments_hold(
	struct node_thread *t, const void *params, const void *node, const void *mul);

/* As node_arguments_seem(), without its fast path. is_near: params are known to be readable. */
bool node_arguments_look(struct node_thread *t, const void *params, const void *node, bool is_near);

/*
 * Checks a call of a function whose prototype is not sure; every call is checked. Fast path: the
 * node is the expected one, and params lie on the caller's stack, within NEAR bytes of this frame.
 */
static inline bool node_arguments_seem(struct node_thread *t, const void *params, const void *node)
{
	enum { NEAR = 4096 };
	bool is_near = (uintptr_t)params - (uintptr_t)__builtin_frame_address(0) < NEAR &&
		       (uintptr_t)params % sizeof(int) == 0;

	return (is_near && node && t->nodes[t->node_next].node == node) ||
	       (SYS_KEEPING(node_arguments_look, t, params, node, is_near) & 1);
}
