/* SPDX-License-Identifier: Apache-2.0 */
/* Time beyond what was expected, for which no rule has a cause (expectation.h). */
#include "analysis/explain/finding.h"

#include <stdbool.h>

static bool rules_excess_of(const struct explain_facts *f, enum step_phase p,
	enum expectation_source source, struct finding *out)
{
	out->certainty = source == EXPECTATION_REPEATS ? FINDING_MEASURED : FINDING_LIKELY;
	if (f->phases[p].queue || !expectation_excess(&out->of.excess, f, p, source))
		return false;
	out->cost_ns = out->of.excess.ns;
	return finding_costs(out, f->phases[p].wall_ns, 20);
}

bool rule_excess_repeats(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_excess_of(f, p, EXPECTATION_REPEATS, out);
}

bool rule_excess_work(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_excess_of(f, p, EXPECTATION_WORK, out);
}

bool rule_excess_passes(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_excess_of(f, p, EXPECTATION_PASSES, out);
}

bool rule_excess_machine(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_excess_of(f, p, EXPECTATION_MACHINE, out);
}
