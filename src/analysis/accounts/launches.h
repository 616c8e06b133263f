/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the commands that a sample of a thread launched, and the step of a sample on a queue.
 * Relies on run->commands and run->waits being sorted by (lane, sample). Borrows the run; read-only
 * once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

struct launches {
	const struct run *run;
	uint32_t *commands; /* indices in run->commands, by (launch_lane, launch_sample, index) */
	size_t count; /* commands with a known launch; `commands` is NULL in runs without any */
};

/* -ENOMEM; *launches is then empty. */
int launches_init(struct launches *launches, const struct run *run);
void launches_fini(struct launches *launches);

/*
 * The commands that a sample launched: *count indices in run->commands, valid as long as *launches.
 * May be NULL when *count is 0.
 */
const uint32_t *launches_of(
	const struct launches *launches, uint32_t lane, uint32_t sample, uint32_t *count);

/* The command whose execution is this sample of a queue; NULL: not recorded. */
const struct run_command *launches_command(const struct run *run, uint32_t lane, uint32_t sample);

/* True if a brick is of category "Device": it stands for a kernel that no brick launched. */
bool launches_is_unnamed(const struct run *run, uint32_t brick);

/*
 * Index in run->waits of the first wait that a sample of a thread made. If it made none, the index
 * is of a later sample's wait or wait_count: compare lane and sample.
 */
size_t launches_first_wait(const struct run *run, uint32_t lane, uint32_t sample);

/*
 * The step that a sample of a queue belongs to: the step that launched its command; where the
 * launch is not known, the step in which the sample began. RUN_NONE: no step.
 */
uint32_t launches_step(
	const struct run *run, const struct step_index *index, uint32_t lane, uint32_t sample);
