/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of all executions of a run, by thread or queue, phase of the step, and bricks; on demand
 * layers between. Each ns of a thread is in one node; memory is that of the nodes, however long the
 * run. It is a tree like a step's (call_tree.h), with a node for each thread and phase.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/walk/step_index.h"

/* -ENOMEM. call_tree_destroy() frees it. */
int stacks_create(
	struct call_tree **out, const struct run *run, const struct step_index *index, bool layers);
