/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the bricks that threads were in when their stacks were taken: the times of both are of one
 * clock. A stack belongs to bricks of its own thread. Read-only on the run; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/* The brick that a thread was in. */
struct stack_place {
	uint32_t brick;	  /* the innermost that is no tile, or the wait behind it; RUN_NONE: none */
	bool is_left_out; /* nothing that it was in was asked for (selection.h) */
};

/*
 * places [stack_count]. in_brick: a brick was asked for, and the waits behind it are not in it.
 * -ENOMEM.
 */
int stack_places_find(struct stack_place *places, const struct run *run, bool in_brick);
