/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts functions in stacks, with the bricks that threads were in when the stacks were taken. The
 * caller owns the struct, which borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/call_tree.h"
#include "trace/run.h"

/* A brick that a function ran in. */
struct function_place {
	uint32_t brick;	 /* RUN_NONE: outside of bricks */
	uint64_t stacks; /* whose innermost function it was, in this brick */
};

struct function_row {
	uint32_t function;	     /* index in run->functions */
	uint64_t stacks;	     /* whose innermost function it was */
	uint64_t total;		     /* stacks that have it anywhere; each counts once */
	double share;		     /* stacks / all stacks */
	double low, high;	     /* 95 % confidence limits of share: share_limits() */
	uint32_t place, place_count; /* from `place` on in functions->places, most stacks first */
};

struct functions {
	const struct run *run;
	uint64_t stacks;
	uint64_t outside; /* part of stacks: the thread was in no brick */
	double each_ns;	  /* CPU time that a stack stands for; 0: not known */
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

/* Wilson's 95 % confidence limits of part / all; 0 and 1 where `all` is 0. */
void share_limits(uint64_t part, uint64_t all, double *low, double *high);

/*
 * A function's name; without a name "[file]", "[made at run time]" or "[unknown]". The caller
 * frees. NULL: no memory.
 */
char *function_name(const struct run_function *function);

/*
 * Makes a tree of all stacks: a node CALL_THREAD for each thread, and below it a node CALL_FUNCTION
 * for each function below its caller, with CPU time and number of stacks. -ENOMEM.
 */
int functions_tree(struct call_tree **out, const struct run *run);
