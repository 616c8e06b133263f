/* SPDX-License-Identifier: Apache-2.0 */
/* All that rules look at: the views of a run, made once. Borrows run and ceilings. */
#pragma once

#include "analysis/accounts/breakdown.h"
#include "analysis/path/path.h"
#include "analysis/accounts/presence.h"
#include "analysis/roofline/roofline.h"
#include "analysis/accounts/summary.h"
#include "trace/run.h"

struct explain_phase {
	uint64_t steps, tokens, wall_ns;
	struct summary *summary;	 /* by brick, of this phase; NULL: no such step */
	const struct path_section *path; /* NULL: none */
	uint32_t *list;			 /* its finished steps, by begin */
	const struct queue_time *queue;	 /* the one that was busy longest; NULL: no queue */
};

struct explain_facts {
	const struct run *run;
	const struct ceilings *ceilings; /* NULL: none are known */
	struct step_index index;
	struct breakdown *breakdown;
	struct roofline *roofline;
	struct path *path; /* NULL: there is none */
	struct presence presence;
	struct explain_phase phases[STEP_PHASES];
	uint64_t *scratch; /* [step_count] */
};

/* -ENOMEM; *facts is then empty. */
int explain_facts_init(
	struct explain_facts *facts, const struct run *run, const struct ceilings *ceilings);
void explain_facts_fini(struct explain_facts *facts);

/* The row of a brick in a phase, by name; NULL: none. */
const struct summary_row *explain_row(const struct explain_phase *phase, const char *name);
/*
 * The wall time of that row, less what its thread was off its CPU, which is a finding of its own;
 * for bricks of one thread. 0: none.
 */
uint64_t explain_on_cpu_ns(const struct explain_phase *phase, const char *name);

/* What one of enum schedule_owner has on the critical path of a phase. */
uint64_t explain_owner_ns(
	const struct explain_facts *facts, const struct explain_phase *phase, uint32_t owner);

/* A step's time with what comes after it. */
uint64_t explain_step_ns(const struct explain_phase *phase, uint32_t step);
/* The median (the lower one of two) of those of its list from first on, before end; 0: none. */
uint64_t explain_median_ns(const struct explain_facts *facts, const struct explain_phase *phase,
	uint64_t first, uint64_t end);

/* Part of a whole; 0 of nothing. */
static inline double explain_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}
