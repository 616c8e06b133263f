/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, each a function of its name; see src/analysis/explain/finding.h. */
#pragma once

#include "analysis/explain/finding.h"

/* Name and id. In the order in which they are asked; the order of findings is by cost. */
#define EXPLAIN_RULES(X)                              \
	X(preempted_by_others, "preempted-by-others") \
	X(oversubscribed, "oversubscribed")           \
	X(blocked, "blocked")                         \
	X(barrier_waits, "barrier-waits")             \
	X(ran_on_cpu, "ran-on-cpu")                   \
	X(copies, "copies-between-backends")          \
	X(launch_bound, "launch-bound")               \
	X(prompt_repeated, "prompt-repeated")         \
	X(sampling, "slow-sampling")                  \
	X(context_growth, "context-growth")           \
	X(first_step, "slow-first-step")              \
	X(slow_steps, "slow-steps")                   \
	X(graph_rebuilt, "graph-rebuilt")             \
	X(below_roof, "far-below-roof")               \
	X(at_bandwidth, "at-memory-bandwidth")        \
	X(unattributed, "in-no-brick")

#define EXPLAIN_DECLARE(name, id) \
	int rule_##name(          \
		const struct explain_facts *facts, enum step_phase phase, struct finding *out);
EXPLAIN_RULES(EXPLAIN_DECLARE)
#undef EXPLAIN_DECLARE

/* Part of a whole; 0 of nothing. */
static inline double explain_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Fill in a text of a finding; what does not fit is cut. */
#define explain_say(member, ...) snprintf((member), sizeof(member), __VA_ARGS__)
