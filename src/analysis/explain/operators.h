/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules on PyTorch's operators look at: sums over each phase's steps, and over the time behind
 * them up to the next step, on the threads that run steps. Times are on the CPU unless said
 * otherwise. Made once, then read-only: any thread. Borrows the run.
 */
#pragma once

#include "analysis/steps/step_times.h"
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* Executions of one kind, and the one among their sites with the most time. */
struct explain_executions {
	uint64_t count, ns;
	uint32_t site; /* RUN_NONE: none */
	uint64_t site_ns;
};

/* Products with weights of the model, on numbers of a type, whose time arithmetic decides. */
struct explain_rate {
	uint64_t flops, ns;
};

struct explain_operators {
	bool is_known; /* the run has such operators, and no device runs them */
	uint64_t steps;
	uint64_t count, ns; /* outermost operators, but those that load data */
	uint64_t model_ns;  /* of ns: in forward and backward passes */

	struct explain_executions loading; /* waiting for batches included */
	uint64_t loading_slept_ns;	   /* part of it: the thread slept */
	uint64_t workers;		   /* processes that load: children without steps */
	struct explain_executions compiling, recompiling;
	uint64_t recompiled;		  /* times that a function was, with its backward pass */
	struct explain_executions breaks; /* ns: from one compiled region to the next one */
	bool has_regions;		  /* something was compiled */
	bool is_entry_unknown;		  /* breaks.ns lacks the time to enter regions */
	struct explain_executions recomputing;
	/* rows of small operators in which each second to fourth reads a number out of a tensor */
	struct explain_executions reads;
	/* softmax and what else stands between the two products of attention */
	struct explain_executions attention;
	uint64_t attention_product_ns;
	struct explain_executions copies; /* that keep the type, in forward and backward passes */
	struct explain_executions doubles, halves; /* on float64; on float16 and bfloat16 */
	uint64_t typed_of_ns; /* operators of forward passes, among which these are known */
	struct explain_rate half_products, single_products;

	uint64_t optimizer_steps;
	uint64_t optimizer_ns; /* as if the first step were like others; without passes of a closure
				*/
	double optimizer_passes;       /* operators for a tensor of weights in a step; 0: fused */
	uint64_t optimizer_slowest_ns; /* of these, the one that takes longest for all tensors */

	uint64_t padding; /* tokens that are computed for nothing, beside the phase's own */

	/* without a cache: a new token is computed with all tokens before it */
	uint64_t repeated, repeating_steps;
	uint64_t repeated_ns; /* that these took, by how steps grow with them */

	/*
	 * The thread's sleep between operators, without that of loading: all, and in sleeps of
	 * about 5 ms and longer; and a quick one of these, 0 if some take more than a moment but
	 * less. Behind a step it counts as far as the phase's time has it.
	 */
	uint64_t slept_between_ns, switches, switches_ns, sleep_least_ns;
	uint64_t slept_in_steps_ns;	/* part of slept_between_ns */
	uint64_t slept_in_operators_ns; /* in the steps; no part of it */
	uint64_t others_ns; /* of CPU, of other threads in the steps, if Python has several */

	/*
	 * Python in front of an operator in forward passes: so much, or less, in 9 of 10 cases. 0:
	 * not known.
	 */
	uint64_t call_ns;

	/* operators, waiting included; and if each took as long as the quickest of its site */
	uint64_t taken_ns, quickest_ns;
};

/*
 * facts: one for each phase. between_ns: the sleep between its steps that its time has. 0 or
 * -ENOMEM.
 */
int explain_operators_find(struct explain_operators facts[STEP_PHASES], const struct run *run,
	const struct step_index *index, const uint64_t between_ns[STEP_PHASES]);

/* The number that a note of PyTorch's recorder has, as "torch.threads"; 0: it is not known. */
uint64_t explain_note_number(const struct run *run, const char *key);
