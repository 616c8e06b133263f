/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers the groups that rows are made of. An execution counts in the group of its layer, phase,
 * step, model or thread, or on a device in the group of its kernel or queue. Kernels of one name,
 * backend and kind are one group, whatever their shapes. Borrows the run, its index and its queues.
 * row_groups_use() is for the walk's thread only; the rest is read-only: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/queue_times.h"
#include "analysis/walk/walk.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

/*
 * A new value goes into by_names (summary.c), and into count_groups(), row_group_on_queue() and
 * row_group_label() (row_groups.c). Bricks and categories, which have no groups, stay first.
 */
enum summary_by {
	SUMMARY_BY_BRICK,
	SUMMARY_BY_CATEGORY,
	SUMMARY_BY_LAYER,
	SUMMARY_BY_PHASE,
	SUMMARY_BY_STEP,
	SUMMARY_BY_MODEL,
	SUMMARY_BY_THREAD,
	SUMMARY_BY_KERNEL,
	SUMMARY_BY_QUEUE,
	SUMMARY_BY_COUNT,
};

/* True if rows are of devices only; else they are of threads, with the devices' time beside. */
static inline bool summary_by_devices(enum summary_by by)
{
	return by == SUMMARY_BY_KERNEL || by == SUMMARY_BY_QUEUE;
}

/* The value of `only` that stands for all phases. */
enum { SUMMARY_ALL_PHASES = -1 };

/* Groups by layer: layer + 1, 0 outside. Groups by phase: enum step_phase, then outside of steps.
 */
enum { SUMMARY_PHASE_OUTSIDE = STEP_PHASES, SUMMARY_PHASES, SUMMARY_LAST_LAYER = INT16_MAX };

struct row_groups {
	const struct run *run;
	const struct step_index *index;
	const struct queue_times *queues;
	enum summary_by by;
	uint32_t count; /* 0: rows of bricks or categories */
	/* by model: groups are models, then "model not known", then outside of steps; else NULL */
	uint32_t *of_step;	  /* [step_count]: group */
	uint32_t *first_of_model; /* [model_groups]: the model's first step */
	uint32_t model_groups;
	/* by kernel: groups are kernels, then the bricks of samples without commands; else NULL */
	uint32_t *of_kernel; /* [kernel_count]: group */
	uint64_t *uses;	     /* [kernel_count]: calls of row_groups_use() */
	uint32_t *kernels;   /* [kernel_groups]: the group's kernel that was used most often */
	uint32_t kernel_groups;
};

/* -ENOMEM; then it is empty. */
int row_groups_init(struct row_groups *groups, const struct run *run,
	const struct step_index *index, enum summary_by by, const struct queue_times *queues);
void row_groups_fini(struct row_groups *groups);

/* False for rows of bricks and categories. */
static inline bool row_groups_exist(const struct row_groups *groups)
{
	return groups->by > SUMMARY_BY_CATEGORY;
}

static inline uint32_t row_group_of_layer(const struct run *run, const struct walk_frame *frame)
{
	int32_t layer = run->sites[frame->sample->site].layer;
	return layer >= 0 && layer <= SUMMARY_LAST_LAYER ? (uint32_t)layer + 1 : 0;
}

/* Group of a step by its phase; step: a number, or RUN_NONE. */
static inline uint32_t row_group_of_phase(const struct run *run, uint32_t step)
{
	return step == RUN_NONE ? (uint32_t)SUMMARY_PHASE_OUTSIDE : run->steps[step].phase;
}

/* Group of a step by its model; step: a number, or RUN_NONE. */
static inline uint32_t row_group_of_model(const struct row_groups *groups, uint32_t step)
{
	return step == RUN_NONE ? groups->model_groups + 1 : groups->of_step[step];
}

/* Group of a frame on a thread: by layer, phase, step or thread only. */
static inline uint32_t row_group_on_thread(
	const struct row_groups *groups, uint32_t lane, const struct walk_frame *frame)
{
	switch (groups->by) {
	case SUMMARY_BY_LAYER:
		return row_group_of_layer(groups->run, frame);
	case SUMMARY_BY_PHASE:
		return row_group_of_phase(groups->run, frame->step);
	case SUMMARY_BY_MODEL:
		return row_group_of_model(groups, frame->step);
	case SUMMARY_BY_STEP:
		return frame->step == RUN_NONE ? (uint32_t)groups->run->step_count : frame->step;
	default:
		return lane;
	}
}

/* Group of a command on a queue; RUN_NONE: rows by brick, category or thread. */
uint32_t row_group_on_queue(
	const struct row_groups *groups, uint32_t lane, const struct walk_frame *frame);

/* Counts an execution of a kernel, so that row_group_kernel() gives the most frequent one. */
void row_groups_use(struct row_groups *groups, uint32_t group, uint32_t kernel);

/* The kernel that names a group by kernel; RUN_NONE: the group is a brick. */
uint32_t row_group_kernel(const struct row_groups *groups, uint32_t group);

/* Name of a group; NULL: no memory. The caller frees. */
char *row_group_label(const struct row_groups *groups, uint32_t group);
