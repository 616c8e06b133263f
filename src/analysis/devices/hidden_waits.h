/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in which a thread waits for a GPU though the program did not ask for a wait: an operator
 * that needs a value (aten::item, aten::nonzero, a copy to the host), memory that is allocated or
 * freed while the GPU works, and copies whose call ends after the copy. Borrows the run. Read-only
 * once made: any thread.
 */
#pragma once

#include "analysis/devices/gpu_spans.h"

struct hidden_wait {
	const char *asker; /* "aten::item", or the call where no operator is around. Borrowed */
	const char *call;  /* the brick of the call that waited; borrowed */
	uint64_t count, time_ns;
	uint64_t commands;  /* that ended during the calls */
	const char *kernel; /* the last to end in the longest of them; NULL: none */
	uint64_t longest_ns;
};

struct hidden_waits {
	struct hidden_wait *list; /* most time first */
	size_t count;
};

/* 0 or -ENOMEM. Empty without GPUs. */
int hidden_waits_init(
	struct hidden_waits *waits, const struct run *run, const struct gpu_spans *gpus);
void hidden_waits_fini(struct hidden_waits *waits);
