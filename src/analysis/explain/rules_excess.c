/* SPDX-License-Identifier: Apache-2.0 */
/* Time beyond what was expected, for which no rule has a cause (expectation.h). */
#include "analysis/explain/finding.h"

#include <stdbool.h>

#include "base/number.h"

static bool rules_excess_of(const struct explain_facts *f, enum step_phase p,
	enum expectation_source source, struct finding *out)
{
	out->certainty = source == EXPECTATION_REPEATS ? FINDING_MEASURED : FINDING_LIKELY;
	if (f->phases[p].queue || !expectation_excess(&out->of.excess, f, p, source))
		return false;
	out->cost_ns = out->of.excess.ns;
	return finding_excess_costs(out, f->phases[p].wall_ns);
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

/*
 * True if two bricks have most of the excess: then the second one has a finding of its own. Where
 * all bricks are slower, they have one cause.
 */
static bool has_next(const struct explain_facts *f, enum step_phase p, const struct excess *e)
{
	return 4 * (e->brick_ns + e->next_ns) >= 3 * e->ns && e->next != RUN_NONE &&
	       e->next_ns >= f->phases[p].wall_ns / EXCESS_PART &&
	       f->index.kinds[e->next] == BRICK_KIND_WORK;
}

bool rule_excess_history(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	struct excess *e = &out->of.excess;

	if (!rules_excess_of(f, p, EXPECTATION_HISTORY, out))
		return false;
	if (has_next(f, p, e)) {
		e->ns -= e->next_ns;
		e->low_ns = number_minus(e->low_ns, e->next_ns);
		e->high_ns = number_minus(e->high_ns, e->next_ns);
		e->rows--;
		e->next = RUN_NONE;
		/* both together are no noise */
		e->noise_ns = f->phases[p].wall_ns / EXCESS_PART;
		out->cost_ns = e->ns;
	}
	return true;
}

bool rule_excess_next(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	struct excess *e = &out->of.excess;

	if (!rules_excess_of(f, p, EXPECTATION_HISTORY, out) || !has_next(f, p, e))
		return false;
	uint64_t ns = e->next_ns, tokens = f->phases[p].tokens;
	*e = (struct excess){.source = EXPECTATION_HISTORY,
		.brick = e->next,
		.awaited = RUN_NONE,
		.next = RUN_NONE,
		.took_ns = number_of_double(e->next_now_ns * (double)tokens),
		.ns = ns,
		.brick_ns = ns,
		.low_ns = ns,
		.high_ns = ns,
		.rows = 1,
		.of_count = e->of_count,
		.brick_now_ns = e->next_now_ns,
		.brick_usual_ns = e->next_usual_ns};
	out->cost_ns = ns;
	return true;
}

bool rule_excess_machine(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_excess_of(f, p, EXPECTATION_MACHINE, out);
}
