/* SPDX-License-Identifier: Apache-2.0 */
/* Asks every rule about every phase, and ranks what they found. */
#include "base/order.h"
#include "analysis/explain/finding.h"

#include <errno.h>
#include <stdlib.h>

enum { MIN_PART = 50 }; /* a finding costs at least 1/50 of its phase */

static int matters(const struct explain_facts *facts, const struct finding *finding)
{
	return !finding->cost_ns ||
	       finding->cost_ns >= facts->phases[finding->phase].wall_ns / MIN_PART;
}

COMPARATOR(by_cost, struct finding, ORDER(y->cost_ns, x->cost_ns))

static size_t count_rules(void)
{
	size_t n = 0;

	while (explain_rules[n].id)
		n++;
	return n;
}

int findings_init(struct findings *findings, const struct explain_facts *facts)
{
	size_t rules = count_rules();

	*findings = (struct findings){.rules = rules};
	findings->list = calloc(rules * STEP_PHASES + 1, sizeof *findings->list);
	if (!findings->list)
		return -ENOMEM;
	for (int phase = 0; phase < STEP_WARM_UP; phase++)
		for (size_t i = 0; i < rules && facts->phases[phase].summary; i++) {
			struct finding *f = &findings->list[findings->count];
			*f = (struct finding){
				.rule = explain_rules[i].id, .phase = (enum step_phase)phase};
			findings->count +=
				explain_rules[i].find(facts, f->phase, f) && matters(facts, f);
		}
	qsort(findings->list, findings->count, sizeof *findings->list, by_cost);
	return 0;
}

void findings_fini(struct findings *findings)
{
	free(findings->list);
	*findings = (struct findings){0};
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
