/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands by the sample that launched them, for walks over threads. Borrows the run; read-only
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
	uint32_t *commands; /* by launch, then in their own order; those without one are left out */
	size_t count;
};

/* -ENOMEM; *launches is then empty. */
int launches_init(struct launches *launches, const struct run *run);
void launches_fini(struct launches *launches);

/* The commands that a sample launched: indices in run->commands. */
const uint32_t *launches_of(
	const struct launches *launches, uint32_t lane, uint32_t sample, uint32_t *count);

/* The command that a sample of a queue is, or NULL. */
const struct run_command *launches_command(const struct run *run, uint32_t lane, uint32_t sample);

/* True if a brick stands for a kernel that no brick launched. */
bool launches_is_unnamed(const struct run *run, uint32_t brick);

/* Index in run->waits of the first that a sample of a thread made, if it made one. */
size_t launches_first_wait(const struct run *run, uint32_t lane, uint32_t sample);

/*
 * The step that a sample of a queue belongs to: the one that launched its command, where that is
 * known, else the one in which it began. RUN_NONE: none.
 */
uint32_t launches_step(
	const struct run *run, const struct step_index *index, uint32_t lane, uint32_t sample);
