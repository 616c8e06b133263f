/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one pass over all samples adds up: per brick (exact statistics of the lanes taken in where
 * the recording has them), per category, and per group of one more kind. Inside of analysis/ only;
 * src/analysis/accounts/summary.h is what others use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/queue_times.h"
#include "analysis/steps/step_index.h"
#include "analysis/steps/step_times.h"
#include "analysis/path/wait_causes.h"
#include "analysis/accounts/walk.h"
#include "analysis/accounts/work_accounts.h"
#include "trace/run.h"

enum summary_by {
	SUMMARY_BY_BRICK,
	SUMMARY_BY_CATEGORY,
	SUMMARY_BY_LAYER,
	SUMMARY_BY_PHASE,
	SUMMARY_BY_STEP,
	SUMMARY_BY_THREAD,
	SUMMARY_BY_KERNEL,
	SUMMARY_BY_QUEUE,
	SUMMARY_BY_COUNT,
};

/* "All phases" where a phase may be asked for. */
enum { SUMMARY_ALL_PHASES = -1 };

/* Begin/end pairs by the phase whose wall time they fell into; the last: into none. */
struct summary_pairs {
	uint64_t count[STEP_PHASES + 1];
	uint64_t beside[STEP_PHASES + 1]; /* of the last ones: while a step ran elsewhere */
	/* Samples that are the profiler's own work, and the shortest of them. */
	uint64_t own_count[STEP_PHASES + 1], own_ns[STEP_PHASES + 1], own_min_ns;
	uint64_t own_beside_ns[STEP_PHASES + 1]; /* of the last: while a step ran elsewhere */
	/* Of samples that the evaluation callback made: how many, and the time that holds them. */
	uint64_t inflated[STEP_PHASES + 1], inflated_ns[STEP_PHASES + 1];
	uint64_t split_count, split_ns, split_min_ns; /* ... of nodes without work */
};

/* 0: none yet. */
static inline void summary_keep_least(uint64_t *least, uint64_t ns)
{
	if (ns && (!*least || ns < *least))
		*least = ns;
}

/* Of single executions. min_ns is of no meaning while count is 0. */
struct summary_lengths {
	uint64_t count, sum_ns, min_ns, max_ns;
};

/* What the single executions of a row are measured by: from avg_ns to max_ns, and rates. */
enum summary_basis {
	BASIS_WALL, /* all their time: waits; or times off the CPU are not known, of some or all */
	BASIS_CPU,
	BASIS_MIXED, /* a category: of some of its bricks samples were dropped */
};

/* Times in ns. min_ns is UINT64_MAX while count is 0. */
struct summary_sums {
	uint64_t count;
	uint64_t sum_ns;   /* of lengths */
	uint64_t total_ns; /* with at least one execution open on a lane, summed over lanes */
	uint64_t self_ns, wait_ns;
	uint64_t open_ns;	  /* of self_ns: in executions that never ended */
	struct run_off_times off; /* of self_ns, as far as samples tell */
	uint64_t wall_ns;	  /* of the wall time of the run */
	uint64_t unevaluated_ns;  /* of that: in batches that were refused or aborted */
	uint64_t min_ns, max_ns;
	uint64_t elements, bytes, flops;
	uint64_t bytes_out;	       /* of those bytes, where the program told them apart */
	struct summary_lengths on_cpu; /* of samples, where times off the CPU are known */
	uint64_t *histogram;	       /* of the same; NULL: not kept */
	uint32_t sources;	       /* 1 << enum brick_source */
	uint32_t flags;		       /* BRICK_SITE_HAS_* */
};

/* When a queue of several lanes worked for a brick, and for a group; RUN_NONE: for none. */
struct summary_span {
	uint64_t begin_ns, end_ns;
	uint32_t queue, brick, group;
};

struct summary_accumulator {
	const struct run *run;
	const struct step_index *index;
	enum summary_by by;
	int only;	/* enum step_phase, or SUMMARY_ALL_PHASES */
	bool knows_off; /* of all that it counts, when threads were off their CPUs */
	/*
	 * Others of the same walk that count bricks for this one, too, which then counts only
	 * groups: of the phases in this mask of 1 << phase, the last bit: of no phase.
	 */
	struct summary_accumulator *parts[STEP_PHASES];
	size_t part_count;
	uint32_t counted_by_parts;
	struct summary_accumulator *whole; /* counts for this one what is counted of all phases */
	bool was_reset;			   /* the program set its statistics back to zero */
	bool has_reported;		   /* executions that the program timed itself */

	struct summary_sums *bricks; /* [brick_count + 1] */
	uint32_t wait_brick; /* BarrierWait's, or brick_count when the run does not know it */
	struct summary_sums
		*groups; /* of summary_by layer, phase, thread, kernel, queue; else NULL */
	uint32_t group_count;
	struct queue_times queues;
	struct summary_sums *device;	    /* [brick_count + 1]: of queues; NULL: there are none */
	struct summary_sums *device_groups; /* [group_count]: the same by layer, phase */
	uint32_t *device_lanes; /* [brick_count + 1]: a lane that it ran on, or RUN_NONE */
	/* [brick_count + 1] of all queues: a queue's statistics stand on the first of its lanes */
	struct device_count {
		uint64_t samples;	       /* of all phases */
		uint64_t executions, total_ns; /* by statistics, where its lane has any */
	} * device_counts;
	bool devices_lost; /* something was dropped, or may have been */
	uint64_t device_ns, device_covered_ns;
	bool *is_unnamed; /* [brick_count]: stands for a kernel that no brick launched */
	uint64_t device_wait_ns;
	struct wait_causes wait_causes;
	uint64_t *device_cross_ns; /* [category_count]: of their bricks' sum, at the same time */
	struct summary_span *spans;
	size_t span_count, span_capacity;
	/* by kernel: groups are kernels of one name, then bricks of samples that have no command */
	uint32_t *kernel_groups; /* [kernel_count] */
	uint32_t kernel_group_count;
	uint64_t *kernel_uses;	     /* [kernel_count] */
	uint32_t *group_kernels;     /* [kernel_group_count]: the one that ran most often */
	uint64_t *category_total_ns; /* [category_count], by samples */
	/* for rates: of bricks and categories, and of groups */
	struct work_accounts *work, group_work;
	bool *teams; /* [brick_count], by thread: one thread tells of what all of a team did */
	struct step_times steps;
	uint64_t wall_ns, unattributed_ns, left_out_ns;
	uint64_t unattributed_unevaluated_ns;
	uint64_t samples, executions; /* samples that have ended; executions by exact statistics */
	uint64_t mismatched;	      /* between the two, where nothing was dropped */
	uint64_t unknown_operations;
	struct summary_pairs *pairs, *hooked; /* as in the summary */
	double *steps_there; /* [process_count]: part of its steps that is in the file */

	/* of the lane that is being walked */
	uint32_t lane;
	struct summary_sums *lane_bricks; /* [brick_count + 1] */
	uint64_t *lane_counts_all;	  /* [brick_count + 1]: executions, of all phases */
	struct summary_pairs lane_pairs, lane_hooked; /* as far as samples tell */
	uint64_t attributed_ns;
	uint64_t lane_end_ns;
	bool failed; /* out of memory */
};

/* Joins the walk, and is whole when that has run. -ENOMEM; *accumulator is then empty. */
int summary_accumulator_init(
	struct summary_accumulator *accumulator, struct walk *walk, enum summary_by by, int only);
void summary_accumulator_fini(struct summary_accumulator *accumulator);

/*
 * Let part count for to: what would be the same sums is summed once. Of one walk: a part of the
 * same phase, or of all as to is, joined it before; one of a phase, where to is of all, after.
 */
void summary_accumulator_take(struct summary_accumulator *to, struct summary_accumulator *part);

/* summary_sample.c: what one sample of a thread adds. */
void summary_sample_end(void *accumulator, const struct walk_frame *frame, unsigned depth);
void summary_sample_tile(void *accumulator, const struct walk_frame *holder, uint32_t sample);
/* Executions of a lane that the program timed itself. */
void summary_reported(struct summary_accumulator *accumulator);

/* All but histograms. */
void sums_add(struct summary_sums *to, const struct summary_sums *from);

/* What a sample says of work. */
void sums_work(struct summary_sums *sums, const struct run_site *site);
void sums_duration(struct summary_sums *sums, uint64_t ns);
void lengths_add(struct summary_lengths *to, const struct summary_lengths *from);
struct summary_lengths lengths_of(const struct summary_sums *sums, enum summary_basis basis);
/* A duration into its histogram, which is made when it is first needed. */
void sums_histogram(
	struct summary_accumulator *accumulator, struct summary_sums *sums, uint64_t ns);

void sums_histograms(struct summary_accumulator *accumulator, struct summary_sums *sums,
	const uint64_t *histogram);
bool summary_needs_histograms(const struct summary_accumulator *accumulator);

/* summary_device.c: the same for the lanes of queues. -ENOMEM. */
int summary_devices_init(struct summary_accumulator *accumulator);
void summary_device_end(void *accumulator, const struct walk_frame *frame, unsigned depth);
void summary_device_lane_end(struct summary_accumulator *accumulator);
void summary_device_finish(struct summary_accumulator *accumulator);
uint32_t summary_kernel_groups(const struct summary_accumulator *accumulator);
/* Name of a group of kernels, and the one of them that ran most often, or RUN_NONE. */
const char *summary_kernel_name(
	const struct summary_accumulator *accumulator, uint32_t group, uint32_t *kernel);
void summary_devices_fini(struct summary_accumulator *accumulator);

/* summary_overlap.c: remember when; after all lanes take off what several did at the same time. */
void summary_overlap_add(struct summary_accumulator *accumulator, const struct summary_span *span);
void summary_overlap_subtract(struct summary_accumulator *accumulator);

/* summary_label.c: name of a group; NULL: no memory. The caller frees. */
/* Of a step's number; RUN_NONE: the last group. By step. */
static inline uint32_t summary_step_group(const struct summary_accumulator *t, uint32_t step)
{
	return step == RUN_NONE ? (uint32_t)t->run->step_count : step;
}

char *summary_group_label(const struct summary_accumulator *accumulator, uint32_t group);

/* Group of layer L is L + 1; of phases: enum step_phase, then outside of steps. */
enum { SUMMARY_PHASE_OUTSIDE = STEP_PHASES, SUMMARY_PHASES, SUMMARY_LAST_LAYER = INT16_MAX };

/* summary_work.c: joins the walk. -ENOMEM. */
int summary_work_init(struct summary_accumulator *t, struct walk *walk);
void summary_work_fini(struct summary_accumulator *t);
enum summary_row_kind { SUMMARY_ROW_BRICK, SUMMARY_ROW_CATEGORY, SUMMARY_ROW_GROUP };
/* The account of a row, on threads or on devices. */
const struct work_account *summary_work(const struct summary_accumulator *t,
	enum summary_row_kind kind, uint32_t id, int on_device);

/* summary_sample.c, summary_device.c: number of the group that a frame counts in; RUN_NONE: none */
uint32_t summary_group(const struct summary_accumulator *t, const struct walk_frame *frame);
uint32_t summary_device_group(
	const struct summary_accumulator *t, uint32_t lane, const struct walk_frame *frame);

/* summary_pairs.c */
bool summary_pairs_init(struct summary_accumulator *t); /* false: out of memory */
/* A hooked sample, of what lies in steps of that phase or beside one: SUMMARY_PHASE_OUTSIDE: none.
 */
void summary_pairs_hooked(struct summary_accumulator *t, const struct walk_frame *frame,
	uint32_t phase, uint32_t beside);
void summary_pairs_merge(struct summary_accumulator *t, const struct run_lane *lane);
