/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the samples of threads: per brick, with the exact statistics of their lanes where the
 * recording has them, per category, and per group of one more kind.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/execution_counts.h"
#include "analysis/accounts/row_groups.h"
#include "analysis/accounts/row_sums.h"
#include "analysis/accounts/wait_causes.h"

struct thread_accounts {
	struct summary_sums *bricks;	 /* [brick_count + 1]: the last is waits' if no brick is */
	struct summary_sums *group_sums; /* [groups->count]; NULL: by brick or category */
	uint64_t *category_total_ns;	 /* [category_count], by samples */
	uint64_t attributed_ns;	    /* of the wall time: in bricks and waits, off the CPU or not */
	struct summary_rests rests; /* ... and in no row by brick */
	struct summary_rests group_rests; /* ... and in no group */
	uint64_t unknown_operations;
	uint64_t device_wait_ns;
	struct wait_causes wait_causes;

	/* while it is fed */
	const struct run *run;
	const struct step_index *index;
	const struct row_groups *groups;
	const struct execution_counts *executions;
	int only; /* enum step_phase, or SUMMARY_ALL_PHASES */
	/*
	 * Others of the same walk that count bricks for this one, too, which then counts only
	 * groups: of the phases in this mask of 1 << phase, the last bit: of no phase.
	 */
	const struct thread_accounts *parts[STEP_PHASES];
	size_t part_count;
	uint32_t counted_by_parts;
	bool has_steps; /* of a run with statistics only */
	uint32_t lane;
	struct summary_sums *lane_bricks; /* [brick_count + 1] */
	bool failed;			  /* out of memory */
};

/*
 * Joins the walk, and is whole when that has run. only: an enum step_phase, or SUMMARY_ALL_PHASES.
 * waits_for_devices: find out what for. -ENOMEM; then it is empty.
 */
int thread_accounts_init(struct thread_accounts *accounts, struct walk *walk,
	const struct row_groups *groups, const struct execution_counts *executions, int only,
	bool waits_for_devices);
void thread_accounts_fini(struct thread_accounts *accounts);

/* Let part count bricks for to: see summary_take(). */
void thread_accounts_take(struct thread_accounts *to, const struct thread_accounts *part);
