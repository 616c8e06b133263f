/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that train: those with a backward pass, or a change of weights, and how long their phases
 * took on the threads that ran them, waiting included. A loss that a program computes between two
 * modules, for instance, is in none of the phases.
 *
 * A device computes the phases one after the other, so the categories of its commands' bricks tell
 * where the next one begins. Copies belong to none, nor do commands that no brick launched. Pure;
 * any thread.
 */
#pragma once

#include "analysis/walk/step_index.h"

enum training_phase {
	TRAINING_FORWARD,
	TRAINING_BACKWARD,
	TRAINING_OPTIMIZER,
	TRAINING_PHASES,
};

struct training_times {
	uint64_t count, tokens; /* of the steps that train */
	uint64_t total_ns;	/* from their begins to their ends */
	uint64_t phase_ns[TRAINING_PHASES];
	uint64_t device_ns[TRAINING_PHASES]; /* all 0: no device computed them */
};

/* The run's brick that lies around a phase on a thread; RUN_NONE: it has none. */
uint32_t training_brick(const struct run *run, enum training_phase phase);

/*
 * Which phase each command belongs to, [run->command_count]: enum training_phase. *out is NULL
 * where no device trains. The caller frees it. 0, or -ENOMEM.
 */
int training_phases_of_commands(
	uint8_t **out, const struct run *run, const struct step_index *index);

/* 0, or -ENOMEM. */
int training_times_of_run(
	struct training_times *times, const struct run *run, const struct step_index *index);
