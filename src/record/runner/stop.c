/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `brick bench`. */
#include "record/runner/stop.h"

#include <math.h>

static uint64_t runs_max(const struct stop_rule *rule)
{
	/* who gives a time wants it used */
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
		[STOP_RUNS] = "runs",
		[STOP_TIME] = "time",
		[STOP_HOPELESS] = "hopeless",
		[STOP_INTERRUPTED] = "interrupted",
	};
	return names[reason];
}
