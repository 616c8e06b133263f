/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one pass over all samples adds up: per brick (exact statistics of the lanes taken in where
 * the recording has them), per category, and per group of one more kind. Inside of analysis/ only;
 * analysis/summary.h is what others use.
 */
#ifndef BRICK_ANALYSIS_TALLY_H
#define BRICK_ANALYSIS_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include "analysis/step_index.h"
#include "analysis/step_times.h"
#include "analysis/summary.h"
#include "trace/run.h"

/* Times in ns. min_ns is UINT64_MAX while count is 0. */
struct tally {
	uint64_t count;
	uint64_t sum_ns;   /* of lengths */
	uint64_t total_ns; /* with at least one execution open on a lane, summed over lanes */
	uint64_t self_ns, wait_ns;
	uint64_t wall_ns; /* of the wall time of the run */
	uint64_t min_ns, max_ns;
	uint64_t elements, bytes, flops;
	uint64_t bytes_out; /* of those bytes, where the program told them apart */
	/* of the samples that say what they moved and did: for rates */
	uint64_t rated_bytes, bytes_time_ns, rated_flops, flops_time_ns;
	uint64_t *histogram; /* NULL: not kept */
	uint32_t active;
	uint32_t sources; /* 1 << enum brick_source */
	uint32_t flags;	  /* BRICK_SITE_HAS_* */
};

/* When a queue of several lanes worked for a brick, and for a group; RUN_NONE: for none. */
struct tally_span {
	uint64_t begin_ns, end_ns;
	uint32_t queue, brick, group;
};

struct tallies {
	const struct run *run;
	const struct step_index *index;
	enum summary_by by;
	int only;	   /* enum step_phase, or SUMMARY_ALL_PHASES */
	bool was_reset;	   /* the program set its statistics back to zero */
	bool has_reported; /* executions that the program timed itself */

	struct tally *bricks; /* [brick_count + 1] */
	uint32_t wait_brick;  /* BarrierWait's, or brick_count when the run does not know it */
	struct tally *groups; /* of summary_by layer, phase, thread, kernel, queue; else NULL */
	uint32_t group_count;
	struct queue_times queues;
	struct tally *device;	     /* [brick_count + 1]: of queues; NULL: there are none */
	struct tally *device_groups; /* [group_count]: the same by layer, phase */
	uint32_t *device_lanes;	     /* [brick_count + 1]: a lane that it ran on, or RUN_NONE */
	uint64_t device_ns;
	uint64_t *device_cross_ns; /* [category_count]: of their bricks' sum, at the same time */
	struct tally_span *spans;
	size_t span_count, span_capacity;
	/* by kernel: groups are kernels of one name, then bricks of samples that have no command */
	uint32_t *kernel_groups; /* [kernel_count] */
	uint32_t kernel_group_count;
	uint64_t *kernel_uses;	     /* [kernel_count] */
	uint32_t *group_kernels;     /* [kernel_group_count]: the one that ran most often */
	uint64_t *category_total_ns; /* [category_count], by samples */
	struct step_times steps;
	uint64_t wall_ns, unattributed_ns;
	uint64_t samples, executions; /* samples that have ended; executions by exact statistics */
	uint64_t mismatched;	      /* between the two, where nothing was dropped */
	uint64_t unknown_operations;
	struct summary_pairs *pairs, *hooked; /* as in the summary */
	double *steps_there; /* [process_count]: part of its steps that is in the file */

	/* of the lane that is being walked */
	uint32_t lane;
	bool lane_counts;
	struct tally *lane_bricks; /* [brick_count + 1] */
	uint64_t *lane_counts_all; /* [brick_count + 1]: executions, of all phases */
	struct summary_pairs lane_pairs, lane_hooked; /* as far as samples tell */
	uint32_t *category_active;
	uint64_t attributed_ns;
	uint64_t lane_end_ns;
	bool failed; /* out of memory */
};

/* -ENOMEM; *tallies is then empty. */
int tallies_init(struct tallies *tallies, const struct run *run, const struct step_index *index,
	enum summary_by by, int only);
void tallies_fini(struct tallies *tallies);

/* Count the samples of the lane that is being walked. */
void tally_samples(struct tallies *tallies);

/* All but histograms. */
void tally_add(struct tally *to, const struct tally *from);

/* What a sample says of work, in that time. */
void tally_work(struct tally *tally, const struct run_site *site, uint64_t time_ns);
void tally_duration(struct tally *tally, uint64_t ns);
/* A duration into its histogram, which is made when it is first needed. */
void tally_histogram(struct tallies *tallies, struct tally *tally, uint64_t ns);

/* tally_device.c: the same for a lane of a queue; -ENOMEM. */
int tally_devices_init(struct tallies *tallies);
void tally_queue(struct tallies *tallies, uint32_t lane);
uint32_t tally_kernel_groups(const struct tallies *tallies);
/* Name of a group of kernels, and the one of them that ran most often, or RUN_NONE. */
const char *tally_kernel_name(const struct tallies *tallies, uint32_t group, uint32_t *kernel);
void tally_devices_fini(struct tallies *tallies);

/* tally_overlap.c: remember when; after all lanes take off what several did at the same time. */
void tally_overlap_add(struct tallies *tallies, const struct tally_span *span);
void tally_overlap_subtract(struct tallies *tallies);

/* summary_label.c: name of a group; NULL: no memory. The caller frees. */
char *summary_group_label(const struct tallies *tallies, uint32_t group);

/* Group of layer L is L + 1; of phases: enum step_phase, then outside of steps. */
enum { TALLY_PHASE_OUTSIDE = STEP_PHASES, TALLY_PHASES, TALLY_LAST_LAYER = INT16_MAX };

#endif
