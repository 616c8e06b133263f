/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the bricks that threads were in when their stacks were taken, by time: stacks and samples
 * use one clock. Only bricks of the stack's own thread count. Releases pages of the run's samples
 * that it has read (run_release()); else it only reads the run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/* The brick that a thread was in when its stack was taken. */
struct stack_place {
	uint32_t brick;	  /* the innermost but tiles, or the wait after it; RUN_NONE: none */
	bool is_left_out; /* the selection (selection.h) left out all bricks around, or none is */
};

/*
 * Fills places[run->stack_count]. in_brick: the selection is of a brick, which does not hold the
 * waits after it. -ENOMEM.
 */
int stack_places_find(struct stack_place *places, const struct run *run, bool in_brick);
