/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says by itself: causes of lost time, each with what it costs, the evidence, and
 * what to try. A rule looks at the facts of one phase and finds something or nothing; a cost is a
 * measured time, or a difference of measured times that its evidence names. Nothing below a
 * fiftieth of a phase is a finding. Main thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/explain/facts.h"

enum finding_certainty {
	FINDING_MEASURED, /* the cost is time that was measured as such */
	FINDING_LIKELY,	  /* measured times, from which the cause is concluded */
};

struct finding {
	const char *rule; /* its id: "oversubscribed" */
	enum step_phase phase;
	enum finding_certainty certainty;
	uint64_t cost_ns; /* in all steps of the phase; 0: time that nothing would save */
	char what[128], evidence[288], advice[224];
	char show[48]; /* the command that shows it, without the recording */
};

/* 1: found, and *out is filled in but for rule and phase; 0: not. */
typedef int (*rule_fn)(
	const struct explain_facts *facts, enum step_phase phase, struct finding *out);

struct explain_rule {
	const char *id;
	rule_fn find;
};

/* All rules; ends with an entry without an id. */
extern const struct explain_rule explain_rules[];

struct findings {
	struct finding *list; /* what costs most first */
	size_t count, rules;  /* rules: how many were asked */
};

/* -ENOMEM; *findings is then empty. */
int findings_init(struct findings *findings, const struct explain_facts *facts);
void findings_fini(struct findings *findings);

const char *finding_certainty_name(enum finding_certainty certainty);

/* Ranks are by cost; a cost per token is of its phase's tokens; negative: no tokens are known. */
double finding_cost_per_token_ns(const struct explain_facts *facts, const struct finding *finding);
