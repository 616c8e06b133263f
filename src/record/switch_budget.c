/* SPDX-License-Identifier: Apache-2.0 */
/* A leaky bucket: over any time, no more is spent than the share of it and what is allowed at once.
 */
#include "record/switch_budget.h"

#define SHARE 0.002
#define PAUSE_NS 1000000000
#define AT_ONCE_NS 2e6
#define UNMEASURED_NS 4000
#define LASTS_NS 2000000000u

enum { MAX_DOUBLINGS = 6, MAX_MS = 1000 };

static double limit_ns(unsigned cpus)
{
	return AT_ONCE_NS * cpus;
}

static uint64_t each_ns(const struct switch_budget *b)
{
	return b->each_ns ? b->each_ns : UNMEASURED_NS;
}

static uint32_t ms_until(double ns)
{
	double ms = ns / 1e6;

	return ms < 1 ? 1 : ms < MAX_MS ? (uint32_t)ms : MAX_MS;
}

uint32_t switch_budget_spend(
	struct switch_budget *b, uint64_t times, unsigned cpus, uint64_t now_ns)
{
	double passed_ns = now_ns > b->at_ns ? (double)(now_ns - b->at_ns) : 1;
	double more_ns = (double)times * (double)each_ns(b) - SHARE * cpus * passed_ns;

	b->debt_ns = b->debt_ns + more_ns > 0 ? b->debt_ns + more_ns : 0;
	b->per_s = (uint64_t)((double)times * 1e9 / passed_ns);
	b->at_ns = now_ns;
	if (b->debt_ns <= 0 && now_ns - b->resumed_ns > LASTS_NS)
		b->stops = 0;
	if (b->debt_ns > limit_ns(cpus))
		return 0;
	return more_ns > 0 ? ms_until((limit_ns(cpus) - b->debt_ns) * passed_ns / more_ns) : MAX_MS;
}

int switch_budget_measured(struct switch_budget *b, uint64_t measured_ns, unsigned cpus)
{
	b->debt_ns *= (double)measured_ns / (double)each_ns(b);
	b->each_ns = measured_ns;
	return b->debt_ns > limit_ns(cpus);
}

uint64_t switch_budget_stop(struct switch_budget *b, uint64_t now_ns)
{
	unsigned doublings = b->stops < MAX_DOUBLINGS ? b->stops : MAX_DOUBLINGS;

	b->stops++;
	b->debt_ns = 0;
	return now_ns + ((uint64_t)PAUSE_NS << doublings);
}

void switch_budget_resume(struct switch_budget *b, uint64_t now_ns)
{
	b->at_ns = b->resumed_ns = now_ns;
}
