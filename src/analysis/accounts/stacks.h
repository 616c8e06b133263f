/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the tree of all executions of a run (call_tree.h): lanes, phases of steps, bricks, and with
 * `layers` a node for each layer above its bricks. Each ns in bricks of a thread is in one node.
 * Memory grows with nodes, not with samples. The tree borrows the run. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/walk/step_index.h"

/* -ENOMEM. call_tree_destroy() frees it. */
int stacks_create(
	struct call_tree **out, const struct run *run, const struct step_index *index, bool layers);
