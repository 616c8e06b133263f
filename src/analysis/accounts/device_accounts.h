/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the commands on queues, by brick and by group. This is time of devices, which no number
 * of threads has. Statistics of a queue count where they have more executions than its samples.
 * Joins a walk and belongs to its thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/estimated_times.h"
#include "analysis/accounts/execution_counts.h"
#include "analysis/accounts/row_groups.h"
#include "analysis/accounts/row_sums.h"
#include "base/array.h"

/* One command of a queue that has several lanes: only there commands of a brick overlap. */
struct command_span {
	uint64_t begin_ns, end_ns;
	uint32_t queue;
	uint32_t brick; /* RUN_NONE: nested in a command of its brick */
	uint32_t group; /* RUN_NONE: nested, or rows of devices */
};

struct device_accounts {
	struct summary_sums *bricks;	 /* [brick_count + 1]; NULL: a run without queues */
	struct summary_sums *group_sums; /* [groups->count]; NULL: by brick or category */
	uint32_t *lanes;      /* [brick_count + 1]: a lane that the brick ran on, or RUN_NONE */
	uint64_t *overlap_ns; /* [category_count]: what the sum of its bricks' total_ns has twice */
	uint64_t device_ns;   /* of all commands, without nested ones */
	uint64_t covered_ns;  /* part of device_ns: commands that carry a brick */
	uint64_t estimated;   /* commands whose times are estimates */
	struct estimated_times estimates; /* rows are those of the functions below */

	/* used while the walk runs */
	const struct run *run;
	const struct step_index *index;
	struct row_groups *groups;
	const struct execution_counts *executions;
	int only;	  /* an enum step_phase, or SUMMARY_ALL_PHASES */
	bool *is_unnamed; /* [brick_count]: stands for a kernel that no brick launched */
	ARRAY(struct command_span) spans;
	uint32_t lane;
	bool failed; /* out of memory */
};

/* Joins the walk; sums are there when the walk has run. -ENOMEM; *accounts is then empty. */
int device_accounts_init(struct device_accounts *accounts, struct walk *walk,
	struct row_groups *groups, const struct execution_counts *executions, int only);
void device_accounts_fini(struct device_accounts *accounts);

/* How far the sum of the commands' lengths may be off: estimated_times_error_ns(). */
uint64_t device_accounts_error(const struct device_accounts *accounts);
uint64_t device_accounts_brick_error(const struct device_accounts *accounts, uint32_t brick);
uint64_t device_accounts_group_error(const struct device_accounts *accounts, uint32_t group);
