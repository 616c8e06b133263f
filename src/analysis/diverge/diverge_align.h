/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which digest of one run is which of another (diverge.h): by step, layer, brick and, where both
 * runs name their tensors, label; else by order.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

/* Digests of one step of one process: [first, first + count) of align_run.items. */
struct align_step {
	uint64_t number, tokens;
	uint32_t decode, first, count;
};

struct align_run {
	const struct run *run;
	uint32_t *items; /* of the process with the most digests, in order */
	size_t item_count;
	uint32_t others; /* digests of other processes */
	struct align_step *steps;
	size_t step_count;
	uint32_t *partner; /* by item: digest of the other run, RUN_NONE */
};

struct align {
	struct align_run a, b;
	uint32_t *brick_of_b; /* A's id of B's bricks; RUN_NONE: A has none of that name */
	uint32_t skipped_a, skipped_b, compared, unlike, other_shapes;
};

/* 0 or -ENOMEM; align_fini() in either case. */
int align_init(struct align *align, const struct run *a, const struct run *b);
void align_fini(struct align *align);
