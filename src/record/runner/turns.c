/* SPDX-License-Identifier: Apache-2.0 */
/* stop_look() is called after each pair of blocks. Widths are logarithms of ratios. */
#include "record/runner/turns.h"

#include <math.h>
#include <stdbool.h>
#include "base/hash.h"

void plan_init(struct plan *plan, size_t kinds, uint64_t seed)
{
	*plan = (struct plan){.kinds = kinds, .state = hash_u64(seed + 1)};
}

static void shuffle(struct plan *plan)
{
	for (size_t i = 0; i < plan->kinds; i++)
		plan->order[i] = (uint8_t)i;
	for (size_t i = plan->kinds; i-- > 1;) {
		plan->state = hash_add(plan->state, i);
		size_t other = (size_t)(plan->state % (i + 1));
		uint8_t kept = plan->order[i];
		plan->order[i] = plan->order[other];
		plan->order[other] = kept;
	}
}

size_t plan_next(struct plan *plan)
{
	bool is_mirror = plan->blocks % 2;

	if (!is_mirror && !plan->at)
		shuffle(plan);
	size_t kind = plan->order[is_mirror ? plan->kinds - 1 - plan->at : plan->at];
	if (++plan->at == plan->kinds) {
		plan->at = 0;
		plan->blocks++;
	}
	return kind;
}

static uint64_t runs_max(const struct stop_rule *rule)
{
	/* a rule with a time uses all of it */
	return rule->runs ? rule->runs : rule->time_ns ? UINT64_MAX : STOP_RUNS_MAX;
}

uint64_t stop_forecast(const struct stop_rule *rule, uint64_t runs, double half_width)
{
	double ratio = half_width / log1p(rule->precision);

	return half_width <= 0 || !isfinite(ratio) || ratio > 1000
		       ? UINT64_MAX
		       : (uint64_t)ceil((double)runs * ratio * ratio);
}

enum stop_reason stop_look(
	const struct stop_rule *rule, uint64_t runs, uint64_t elapsed_ns, double half_width)
{
	if (runs >= runs_max(rule))
		return STOP_RUNS;
	if (rule->time_ns && elapsed_ns >= rule->time_ns)
		return STOP_TIME;
	if (rule->runs || rule->precision <= 0 || half_width < 0 || runs < STOP_RUNS_MIN)
		return STOP_GO_ON;
	if (half_width <= log1p(rule->precision))
		return STOP_PRECISE;
	if (runs < STOP_HOPELESS_FROM || rule->time_ns)
		return STOP_GO_ON;
	return stop_forecast(rule, runs, half_width) > 2 * runs_max(rule) ? STOP_HOPELESS
									  : STOP_GO_ON;
}

const char *stop_reason_name(enum stop_reason reason)
{
	static const char *const names[] = {
		[STOP_GO_ON] = "going on",
		[STOP_PRECISE] = "precise",
		[STOP_SETTLED] = "settled",
		[STOP_RUNS] = "runs",
		[STOP_TIME] = "time",
		[STOP_HOPELESS] = "hopeless",
		[STOP_INTERRUPTED] = "interrupted",
	};
	return names[reason];
}
