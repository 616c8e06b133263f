/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the commands on queues: time of devices, which is in no number of the host's. Per brick
 * and group, as struct thread_accounts; a queue's statistics count where they know more than its
 * samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/execution_counts.h"
#include "analysis/accounts/row_groups.h"
#include "analysis/accounts/row_sums.h"
#include "base/array.h"

/*
 * A time in which a queue of several lanes worked for a brick, and for a group; RUN_NONE: for none.
 */
struct command_span {
	uint64_t begin_ns, end_ns;
	uint32_t queue, brick, group;
};

struct device_accounts {
	struct summary_sums *bricks;	 /* [brick_count + 1]; NULL: there are no queues */
	struct summary_sums *group_sums; /* [groups->count]; NULL: by brick or category */
	uint32_t *lanes;		 /* [brick_count + 1]: one that it ran on, or RUN_NONE */
	/* [category_count]: of their bricks' sum, at the same time */
	uint64_t *overlap_ns;
	uint64_t device_ns, covered_ns; /* of all commands; of those that carry a brick */

	/* while it is fed */
	const struct run *run;
	const struct step_index *index;
	struct row_groups *groups;
	const struct execution_counts *executions;
	int only;
	bool *is_unnamed; /* [brick_count]: stands for a kernel that no brick launched */
	ARRAY(struct command_span) spans;
	uint32_t lane;
	bool failed; /* out of memory */
};

/* Joins the walk, and is whole when that has run. -ENOMEM; then it is empty. */
int device_accounts_init(struct device_accounts *accounts, struct walk *walk,
	struct row_groups *groups, const struct execution_counts *executions, int only);
void device_accounts_fini(struct device_accounts *accounts);
