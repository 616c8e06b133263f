/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of one step, of several, or of all that one thread did: what ran inside of what, grouped
 * by layer and brick in the order in which they first ran. The time of a node is the sum of the
 * times of the nodes below it and its own rest; waiting is a node of its own. Kernels and transfers
 * stand below what launched them: their time is a device's, and no part of what is above them.
 * Owned by the tree, which borrows the run. Read-only once made: any thread.
 */
#pragma once

#include "analysis/accounts/call_tree_nodes.h"
#include "analysis/steps/step_index.h"
#include "trace/run.h"

/*
 * Of so many outermost, finished steps, each with what lies in its account after it: a tree of
 * each, trees[count], with one walk. -ENOMEM.
 */
int call_trees_of_steps(struct call_tree **trees, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count);

static inline int call_tree_of_step(struct call_tree **out, const struct run *run,
	const struct step_index *index, uint32_t step)
{
	return call_trees_of_steps(out, run, index, &step, 1);
}

/* One tree of so many of them, at least one: the sums over all. -ENOMEM. */
int call_tree_of_steps(struct call_tree **out, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count);

/* Of a whole lane. -ENOMEM. */
int call_tree_of_lane(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane);
