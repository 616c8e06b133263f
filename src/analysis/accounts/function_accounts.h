/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts functions in stacks, with the bricks that threads were in then. Owned by the caller,
 * borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/call_tree.h"
#include "trace/run.h"

/* A brick, or none (RUN_NONE), that a function ran in. */
struct function_place {
	uint32_t brick;
	uint64_t stacks; /* that the function was the innermost of */
};

struct function_row {
	uint32_t function;	     /* index in run->functions */
	uint64_t stacks;	     /* that it was the innermost of */
	uint64_t total;		     /* that it was anywhere in */
	double share, low, high;     /* of all stacks, and 95 % confidence limits of it */
	uint32_t place, place_count; /* in functions->places, most stacks first */
};

struct functions {
	const struct run *run;
	uint64_t stacks;
	uint64_t outside; /* of these: the thread was in no brick */
	double each_ns;	  /* CPU time that a stack stands for */
	/*
	 * CPU time of the program and its children in user space, by the scheduler; 0: not known.
	 * If it is more than stacks stand for, some threads lived for less than a period.
	 */
	uint64_t user_ns;
	struct function_row *rows; /* most stacks first, then most in total, then as in the
				      recording */
	size_t count;
	struct function_place *places;
	size_t place_count;
};

/* -ENOMEM. */
int functions_measure(struct functions *f, const struct run *run);
void functions_fini(struct functions *f);

/* Wilson's limits of a share, by 95 %. */
void share_limits(uint64_t part, uint64_t all, double *low, double *high);

/* Its name, or "[file]", or "[made at run time]", or "[unknown]"; the caller frees. NULL: no
 * memory. */
char *function_name(const struct run_function *function);

/*
 * Stacks as a tree below the threads that they are of: a node CALL_FUNCTION for each function below
 * its caller, with CPU time and the number of stacks. -ENOMEM.
 */
int functions_tree(struct call_tree **out, const struct run *run);
