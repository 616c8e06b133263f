/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asked for a launch or a wait: the operator around it on the host's thread, if the recording
 * has operators (of PyTorch: "aten::mm"). Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

struct gpu_asker {
	uint32_t site; /* of the innermost operator around; RUN_NONE: none */
	bool in_optimizer;
};

struct gpu_askers {
	struct gpu_asker **of_lane; /* [lane_count][sample_count]; NULL: no thread's lane */
	size_t lane_count;
};

/* 0 or -ENOMEM; *askers is then empty. */
int gpu_askers_init(
	struct gpu_askers *askers, const struct run *run, const struct step_index *index);
void gpu_askers_fini(struct gpu_askers *askers);

/* Who asked for a command. */
struct gpu_asker gpu_asker_of(const struct gpu_askers *askers, const struct run_command *command);

/* "aten::mm", else the name of the site's brick; NULL: the site is RUN_NONE. Borrowed. */
const char *gpu_asker_name(const struct run *run, uint32_t site);
