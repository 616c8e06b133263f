/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording times off the CPU may cost the program: 0.2 % of the CPUs that it uses, and 2 ms
 * of each at once. What is spent beyond the share is a debt, which time pays off. Pure; one thread.
 */
#pragma once

#include <stdint.h>

/* Zero but for at_ns, when recording began. */
struct switch_budget {
	uint64_t at_ns;	     /* reckoned up to here */
	uint64_t each_ns;    /* what one takes; 0: not measured, then more than it is anywhere */
	uint64_t per_s;	     /* so many were there when it was reckoned last */
	uint64_t resumed_ns; /* 0: never stopped */
	double debt_ns;
	unsigned stops; /* one soon after another */
};

/*
 * So many times off the CPU since it was reckoned last, on `cpus` CPUs. Returns in how many ms the
 * debt will be too large if all goes on like this; 0: it is.
 */
uint32_t switch_budget_spend(
	struct switch_budget *b, uint64_t times, unsigned cpus, uint64_t now_ns);

/* The cost was measured, and the debt is reckoned by it. 1: it is too large. */
int switch_budget_measured(struct switch_budget *b, uint64_t each_ns, unsigned cpus);

/* Recording stops: until when? For 1 s, or twice as long as last time if that was just before. */
uint64_t switch_budget_stop(struct switch_budget *b, uint64_t now_ns);

/* Recording goes on. */
void switch_budget_resume(struct switch_budget *b, uint64_t now_ns);
