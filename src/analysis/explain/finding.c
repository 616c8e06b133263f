/* SPDX-License-Identifier: Apache-2.0 */
/* Asks every rule about every phase, and ranks what they found. */
#include "analysis/explain/finding.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

enum { MIN_PART = 50 }; /* a finding costs at least 1/50 of its phase */

static const struct {
	const char *id;
	bool (*find)(const struct explain_facts *facts, enum step_phase phase, struct finding *out);
} rules[FINDING_RULES] = {
#define EXPLAIN_ENTRY(name, id) {id, rule_##name},
	EXPLAIN_RULES(EXPLAIN_ENTRY)
#undef EXPLAIN_ENTRY
};

static bool matters(const struct explain_facts *facts, const struct finding *finding)
{
	return !finding->cost_ns ||
	       finding->cost_ns >= facts->phases[finding->phase].wall_ns / MIN_PART;
}

COMPARATOR(by_cost, struct finding, ORDER(y->cost_ns, x->cost_ns))

int findings_init(struct findings *findings, const struct explain_facts *facts)
{
	*findings = (struct findings){0};
	findings->list = calloc(FINDING_RULES * STEP_PHASES, sizeof(*findings->list));
	if (!findings->list)
		return -ENOMEM;
	for (int phase = 0; phase < STEP_WARM_UP; phase++)
		for (int rule = 0; rule < FINDING_RULES && facts->phases[phase].summary; rule++) {
			struct finding *f = &findings->list[findings->count];
			*f = (struct finding){
				.rule = (enum finding_rule)rule, .phase = (enum step_phase)phase};
			findings->count +=
				rules[rule].find(facts, f->phase, f) && matters(facts, f);
		}
	qsort(findings->list, findings->count, sizeof(*findings->list), by_cost);
	return 0;
}

void findings_fini(struct findings *findings)
{
	free(findings->list);
	*findings = (struct findings){0};
}

const char *finding_rule_id(enum finding_rule rule)
{
	return rules[rule].id;
}

const char *finding_certainty_name(enum finding_certainty certainty)
{
	return certainty == FINDING_MEASURED ? "measured" : "likely";
}

double finding_cost_per_token_ns(const struct explain_facts *facts, const struct finding *finding)
{
	uint64_t tokens = facts->phases[finding->phase].tokens;

	return tokens ? (double)finding->cost_ns / (double)tokens : -1;
}
