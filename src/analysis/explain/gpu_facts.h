/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules on GPUs look at: the commands of the busiest GPU, by the phase whose steps launched
 * them. Made once, then read-only: any thread. Borrows the run.
 */
#pragma once

#include "analysis/devices/gpu_times.h"
#include "analysis/steps/step_times.h"
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* Commands of one kind, and the one of the longest time among their names. */
struct explain_commands {
	uint64_t count, ns;
	const char *most; /* a kernel's name, or who asked for it; NULL: none. Borrowed */
	uint64_t most_ns;
};

struct explain_gpu {
	const struct gpu *gpu;	       /* NULL: the run has none */
	const struct gpu_time *time;   /* of the phase */
	uint64_t commands, command_ns; /* that the phase's steps launched */
	uint64_t calls;		       /* that launched them: less, where graphs are replayed */
	uint64_t steps, same_steps;    /* steps; those with the commands of the step before */
	/*
	 * Waits inside of operators or in the middle of steps, and calls that copy and wait: how
	 * long, and for how long the GPU was idle then that would have had work without the wait.
	 * most: who asked.
	 */
	struct explain_commands syncs;
	uint64_t sync_idle_ns;
	/* Copies between host and device while nothing computed: of pageable memory, and others. */
	struct explain_commands pageable, pinned;
	uint64_t pageable_bytes, pinned_bytes;
	struct explain_commands
		chains;		/* kernels of elements that follow one another, less one in each */
	uint64_t chain_kernels; /* of all chains */
	struct explain_commands
		softmax; /* between two products of attention, with what is beside it */
	struct explain_commands single; /* products in f32 */
	struct explain_commands optimizer;
	uint64_t optimizer_wall_ns;    /* from a step's first command of an optimizer to its last */
	struct explain_commands moves; /* kernels that only move tensors within the device */
	uint64_t padding_ns;	       /* of products: the part of rows that are no tokens */
	double padding_rows;	       /* a product has on average; 0: no product is padded */
	struct explain_commands
		unbalanced; /* regions of several queues: what even queues would save */
};

/*
 * times: of each phase, NULL where it has none. facts: one for each phase. tokens, steps: of each
 * phase. 0 or -ENOMEM.
 */
int explain_gpus_find(struct explain_gpu facts[STEP_PHASES], const struct run *run,
	const struct step_index *index, const struct gpu_times *const times[STEP_PHASES],
	const uint64_t tokens[STEP_PHASES], const uint64_t steps[STEP_PHASES]);
