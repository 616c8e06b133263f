/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says by itself: causes of lost time, each with its cost and the numbers that are
 * evidence for it. A rule looks at the facts of one phase and finds something or nothing; a cost is
 * a measured time, or a difference of measured times. Nothing below a fiftieth of a phase is a
 * finding. Sentences are made of findings in src/ui/text/explain_view.c. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/explain/facts.h"

/*
 * The rules: name and id, in the order in which they are asked. rule_NAME() is the rule's function,
 * FINDING_NAME what it finds.
 */
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

enum finding_rule {
#define EXPLAIN_NUMBER(name, id) FINDING_##name,
	EXPLAIN_RULES(EXPLAIN_NUMBER)
#undef EXPLAIN_NUMBER
		FINDING_RULES
};

enum finding_certainty {
	FINDING_MEASURED, /* the cost is time that was measured as such */
	FINDING_LIKELY,	  /* measured times, from which the cause is concluded */
};

/* The evidence, by rule. Rows and names are those of the facts. */
union finding_evidence {
	struct {
		size_t threads;
		uint32_t cpus;
		bool is_crowded; /* more threads than CPUs */
	} oversubscribed;
	const struct summary_row *blocked; /* the brick that slept most */
	struct {
		size_t threads;
		uint64_t waited_ns;		/* by all of them */
		const struct summary_row *most; /* the brick behind which they waited longest */
	} barrier_waits;
	struct {
		const struct summary_row *most;
		uint64_t executions;
	} ran_on_cpu;
	struct {
		uint64_t between_ns, in_ns, out_ns, transfers, bytes;
	} copies;
	struct {
		uint64_t idle_ns, record_ns;
	} launch_bound;
	struct {
		uint64_t tokens, steps;
	} prompt_repeated;
	struct {
		uint64_t calls;
	} sampling;
	struct {
		uint64_t first_ns, last_ns; /* a step, in the first and the last eighth */
	} context_growth;
	struct {
		uint32_t step; /* the first, the slowest; index in the run */
		uint64_t count, took_ns, median_ns;
		const char *more; /* what it spent most of its additional time on */
		uint64_t more_ns;
	} first_step, slow_steps;
	struct {
		uint64_t build_ns, alloc_ns, plan_ns;
	} graph_rebuilt;
	const struct roofline_row *roof; /* of below_roof and at_bandwidth */
};

struct finding {
	enum finding_rule rule;
	enum step_phase phase;
	enum finding_certainty certainty;
	uint64_t cost_ns; /* in all steps of the phase; 0: time that nothing would save */
	union finding_evidence of;
};

/* True: found, and *out is filled in but for rule and phase. */
#define EXPLAIN_DECLARE(name, id) \
	bool rule_##name(         \
		const struct explain_facts *facts, enum step_phase phase, struct finding *out);
EXPLAIN_RULES(EXPLAIN_DECLARE)
#undef EXPLAIN_DECLARE

struct findings {
	struct finding *list; /* what costs most first */
	size_t count;
};

/* -ENOMEM; *findings is then empty. */
int findings_init(struct findings *findings, const struct explain_facts *facts);
void findings_fini(struct findings *findings);

/* The id of a rule: "oversubscribed". */
const char *finding_rule_id(enum finding_rule rule);
const char *finding_certainty_name(enum finding_certainty certainty);

/* Ranks are by cost; a cost per token is of its phase's tokens; negative: no tokens are known. */
double finding_cost_per_token_ns(const struct explain_facts *facts, const struct finding *finding);
