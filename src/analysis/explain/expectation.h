/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of a phase should take, and how much longer they took: their excess, whatever its
 * cause. Each source of expectations finds at most one excess in a phase, and none that noise could
 * have made. Sources:
 *
 *   repeats  the same work nearby in the run (repeats.h): executions and waits that took longer
 *   work     bytes (FLOPs where many tokens share them) that products with weights move, at the
 *            pace of the phase's other products
 *   passes   the same for simple operations, by the pace and the length of the phase's others
 *   machine  the best rate of such products with weights that the machine was seen to reach, or
 *            a part of their roof by its ceilings
 *   history  the same brick in earlier recordings of the workload on this machine
 *
 * No nanosecond is in two excesses. One thread at a time.
 */
#pragma once

#include "analysis/explain/facts.h"

enum expectation_source {
	EXPECTATION_REPEATS,
	EXPECTATION_WORK,
	EXPECTATION_PASSES,
	EXPECTATION_MACHINE,
	EXPECTATION_HISTORY,
	EXPECTATION_SOURCES,
};

struct excess {
	enum expectation_source source;
	uint32_t brick;		    /* with most of it; RUN_NONE: waits have most of it */
	uint32_t awaited;	    /* of waits: the other threads' brick meanwhile; or RUN_NONE */
	uint64_t took_ns;	    /* the rows that have an excess, in the phase */
	uint64_t ns;		    /* the excess of all these rows */
	uint64_t brick_ns;	    /* the part of `brick`, or of the waits */
	uint64_t noise_ns;	    /* an excess up to that may be noise, also without its names */
	uint64_t low_ns, high_ns;   /* bounds of ns: another expectation that would do, too */
	uint64_t rows;		    /* bricks that have an excess */
	uint64_t of_count, count;   /* repeats: executions, and those that took longer */
	double rate, expected_rate; /* of `brick`; work: bytes or FLOPs, machine: FLOPs per ns */
	/* history: ns of a token in `brick`, now and as a rule */
	double brick_now_ns, brick_usual_ns;
	/* history, machine: the brick with the next largest excess; RUN_NONE: none */
	uint32_t next;
	uint64_t next_ns;
	double next_now_ns, next_usual_ns;
	/* work: the brick's share of the products' work, and of the phase's time */
	double work_share, time_share;
	double bits; /* machine: of a weight; 0: not known */
	/* machine: FLOPs per ns of the phase's products without an excess; 0: there are none */
	double others_rate;
	/* machine: where the expected rate was seen, in the ceilings; NULL: it follows from them */
	const struct ceilings_reached *seen;
	bool is_flops; /* work: of FLOPs; false: of bytes */
};

/* False: no excess of that source stands out of the phase's noise. */
bool expectation_excess(struct excess *out, const struct explain_facts *facts,
	enum step_phase phase, enum expectation_source source);

/*
 * Adds the rates of the run's products with weights to the best that were seen on its machine.
 * Findings borrow from the ceilings: call it after the last use of them. 1: something was added; 0:
 * nothing; or -ENOMEM.
 */
int expectation_learn(struct ceilings *kept, const struct explain_facts *facts);

/* "repeats", "work", "passes", "machine", "history". */
const char *expectation_source_name(enum expectation_source source);
