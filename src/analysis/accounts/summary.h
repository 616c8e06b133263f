/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a run went: rows by brick, category, layer, phase, step or thread, and what all
 * of them leave over. The wall time of a run is the sum over its steps of their time on the thread
 * that runs them (src/analysis/steps/step_times.h); a run without steps has the lifetimes of its
 * threads instead. Each ns of it is in one row, unattributed, or of what was not asked for
 * (src/analysis/accounts/selection.h): wall_ns of all rows of one kind, unattributed_ns and
 * left_out_ns add up to wall_ns of the summary.
 *
 * Queues of devices are another kind of time: none of it is in those numbers. A brick that a device
 * worked for has that time beside its own (device_ns), and rows by kernel and queue are of devices
 * only: their shares are of what all queues did.
 *
 * Rows by brick and category are kinds of work: their wall time is their self time, and waiting is
 * rows of its own (BarrierWait). Rows by layer, phase, step and thread are places: theirs includes
 * the waiting that happened there. All other times of a row add up all threads.
 *
 * Owned by the summary, which borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/queue_times.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary_rows.h"
#include "trace/run.h"

/* "brick", "category", ...; and the plural that names the array in JSON. */
const char *summary_by_name(enum summary_by by);
const char *summary_by_plural(enum summary_by by);

struct summary {
	const struct run *run;
	enum summary_by by;
	int only;		  /* see summary_create() */
	bool knows_off;		  /* when threads were off their CPUs, of all of that */
	struct summary_row *rows; /* by share, largest first; places in their own order */
	size_t row_count;
	struct summary_row *categories;
	size_t category_count;
	struct step_times steps;
	uint64_t wall_ns, unattributed_ns;
	uint64_t unattributed_unevaluated_ns; /* of that: in batches that were refused or aborted */
	uint64_t left_out_ns; /* of a narrowed run's wall time: of bricks that were not asked for */
	double coverage;      /* 1 - unattributed / wall; negative when there is no wall time */
	/*
	 * Samples in the file that have ended, and executions that the threads counted themselves,
	 * also while samples were dropped; ANALYSIS_UNKNOWN when the file has no such statistics.
	 */
	uint64_t samples, executions;
	uint64_t mismatched; /* difference of the two where nothing is known to have been dropped */
	uint64_t unknown_operations; /* executions of operations that no rule knew */
	/*
	 * What of recording fell into the wall time of each phase (the last element: into none; in
	 * a run without steps, all of it): [process_count] begin/end pairs that the process made,
	 * and [lane_count] samples that attached hooks recorded, whose cost is known by itself.
	 * Tiles are pairs, too. Those that were dropped from steps in the file are in the numbers.
	 */
	struct summary_pairs *pairs, *hooked;
	struct queue_times queues;
	uint64_t device_ns; /* what all commands took, each by itself; less what is nested */
	uint64_t device_covered_ns;		 /* of that, of commands that carry a brick */
	uint64_t device_wait_ns;		 /* of the wall time: threads waited for devices */
	struct wait_causes wait_causes;		 /* ... and for what */
	struct summary_accumulator *accumulator; /* what it is made of */
};

/*
 * only: SUMMARY_ALL_PHASES, or an enum step_phase: then rows, wall time and coverage are of the
 * steps of that phase, on all threads, and come from samples alone. Step times are always of all.
 * -ENOMEM.
 */
int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only);
/* The same, whole when the walk has run: for those who want several. */
int summary_create_in(struct summary **out, struct walk *walk, enum summary_by by, int only);
/*
 * Before the walk runs: let part count for to, so that what would be the same sums is summed once.
 * Of the same walk: a part of the same phase, or of all as to is, joined before; one of a phase,
 * where to is of all, after. Both live until the walk has run. No number of either changes by it.
 */
void summary_take(struct summary *to, const struct summary *part);
void summary_destroy(struct summary *summary);

/* Part of the devices' time that is of bricks; negative when there is none. */
double summary_device_coverage(const struct summary *summary);

/* Percent of the wall time of one phase's steps that is in rows; negative when it has none. */
double summary_phase_coverage(const struct summary *summary, enum step_phase phase);
