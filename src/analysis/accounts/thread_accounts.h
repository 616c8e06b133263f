/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the samples of threads: by brick, with the exact statistics of their lanes where the
 * recording has them, by category, and by the groups of struct row_groups. Joins a walk and belongs
 * to its thread. A new sum that parts count, too, is added up in on_lane_end or finish.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/execution_counts.h"
#include "analysis/accounts/row_groups.h"
#include "analysis/accounts/row_sums.h"
#include "analysis/accounts/wait_causes.h"

struct thread_accounts {
	struct summary_sums *bricks;	 /* [brick_count + 1]: the last for waits without a brick */
	struct summary_sums *group_sums; /* [groups->count]; NULL: by brick or category */
	uint64_t *category_total_ns;	 /* [category_count]: with any of its bricks open */
	uint64_t attributed_ns;		 /* wall time in bricks and waits, on the CPU and off it */
	struct summary_rests rests;	 /* wall time in no row by brick */
	struct summary_rests group_rests; /* wall time in no group */
	uint64_t unknown_operations;	  /* executions of operations that no rule knew */
	uint64_t device_wait_ns;	  /* wall time in Synchronize */
	struct wait_causes wait_causes;	  /* of device_wait_ns; all zero: not asked for */

	/* used while the walk runs */
	const struct run *run;
	const struct step_index *index;
	const struct row_groups *groups;
	const struct execution_counts *executions;
	int only; /* enum step_phase, or SUMMARY_ALL_PHASES */
	const struct thread_accounts *parts[STEP_PHASES]; /* see thread_accounts_take() */
	size_t part_count;
	uint32_t counted_by_parts; /* mask of 1 << phase that parts count, STEP_PHASES: no step */
	bool has_steps;		   /* of a run with statistics only: steps ran on some lane */
	uint32_t lane;		   /* that the walk is on */
	struct summary_sums *lane_bricks; /* [brick_count + 1]: of that lane, by samples */
	bool failed;			  /* out of memory */
};

/*
 * Joins the walk; sums are there when the walk has run. only: an enum step_phase, or
 * SUMMARY_ALL_PHASES. waits_for_devices: fill wait_causes. -ENOMEM; *accounts is then empty.
 */
int thread_accounts_init(struct thread_accounts *accounts, struct walk *walk,
	const struct row_groups *groups, const struct execution_counts *executions, int only,
	bool waits_for_devices);
void thread_accounts_fini(struct thread_accounts *accounts);

/*
 * Lets `part` count bricks of its phases for `to`, which then counts only groups of these phases,
 * and adds the part's sums at the end of each lane: see summary_take().
 */
void thread_accounts_take(struct thread_accounts *to, const struct thread_accounts *part);
