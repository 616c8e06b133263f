/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over steps that train, which have a backward pass or a change of weights: how long their
 * phases took on the threads that ran them, waiting included, and on devices. Some work is in no
 * phase, for example a loss that a program computes between two modules.
 *
 * A device computes the phases one after the other, so the categories of its commands' bricks tell
 * where the next phase begins. Copies, and commands that no brick launched, are in no phase. Pure;
 * any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/walk/step_index.h"

enum training_phase {
	TRAINING_FORWARD,
	TRAINING_BACKWARD,
	TRAINING_OPTIMIZER,
	TRAINING_PHASES,
};

struct training_times {
	uint64_t count, tokens;		     /* steps that train, and their tokens */
	uint64_t total_ns;		     /* from begins to ends of these steps */
	uint64_t phase_ns[TRAINING_PHASES];  /* on threads */
	uint64_t device_ns[TRAINING_PHASES]; /* on devices; all 0: no device computed them */
	uint64_t clipping_ns;		     /* clipping of gradients, on threads */
	uint64_t recomputed_ns; /* forward passes that backward passes repeat, which are a part of
				   them */
};

/* The brick that lies around a phase on a thread; RUN_NONE: the run has none. */
uint32_t training_brick(const struct run *run, enum training_phase phase);

/* True if a thread's step has a backward pass or a change of weights on that thread. */
bool training_is_step(const struct run *run, const struct run_step *step);

/*
 * Makes a list of the phases of all commands, [run->command_count]: enum training_phase, or
 * TRAINING_PHASES for none. The caller frees *out; it is NULL where no device trains. -ENOMEM.
 */
int training_phases_of_commands(
	uint8_t **out, const struct run *run, const struct step_index *index);

/* Fills *times; count is 0 where no step trains. -ENOMEM. */
int training_times_of_run(
	struct training_times *times, const struct run *run, const struct step_index *index);
