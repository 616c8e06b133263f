/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between one token and the next, and tokens evaluated for nothing. */
#include "analysis/accounts/percentile.h"
#include "brick/abi/step_counters.h"
#include "analysis/explain/finding.h"

enum {
	GROWTH_STEPS = 32, /* steps from which on it can be seen */
	GROWTH_PARTS = 8,
	SLOW = 2, /* times the median */
};

/* Prompts that came again, as Brick's counter has them: steps that evaluate mostly such tokens. */
struct repeated {
	uint64_t tokens, steps, time_ns;
};

static void add_point(struct repeated *sum, const struct explain_facts *f,
	const struct explain_phase *phase, const struct run_point *point)
{
	uint32_t step = step_index_at(&f->index, f->run, point->lane, point->ns);
	uint64_t tokens = (uint64_t)point->value;

	if (step == RUN_NONE || &f->phases[step_phase_of(&f->run->steps[step])] != phase ||
		2 * tokens < f->run->steps[step].tokens ||
		!step_index_is_evaluated(&f->index, f->run, step))
		return;
	sum->tokens += tokens;
	sum->time_ns += explain_step_ns(phase, step);
	sum->steps++;
}

bool rule_prompt_repeated(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t counter = run_brick_find(f->run, BRICK_REPEATED_NAME);
	struct repeated sum = {0};

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++)
		if (f->run->points[i].kind == RUN_POINT_COUNTER &&
			f->run->points[i].brick == counter && f->run->points[i].value > 0)
			add_point(&sum, f, phase, &f->run->points[i]);
	if (!sum.steps)
		return false;
	out->cost_ns = sum.time_ns;
	out->certainty = FINDING_LIKELY;
	out->of.prompt_repeated.tokens = sum.tokens;
	out->of.prompt_repeated.steps = sum.steps;
	return true;
}

bool rule_sampling(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, brick_name(BRICK_SAMPLING));

	out->cost_ns = explain_on_cpu_ns(phase, brick_name(BRICK_SAMPLING));
	out->of.sampling.calls = row ? row->count : 0;
	return row && row->count && out->cost_ns >= phase->wall_ns / 10;
}

/* Median of one category's time over part `k` of the steps. */
static uint64_t part_median_ns(
	const struct explain_facts *f, const struct explain_phase *phase, uint32_t category, int k)
{
	uint64_t first = phase->steps * (uint64_t)k / GROWTH_PARTS;
	size_t n = 0;

	for (uint64_t i = first; i < phase->steps * ((uint64_t)k + 1) / GROWTH_PARTS; i++)
		f->scratch[n++] = breakdown_step(f->breakdown, phase->list[i])[category];
	percentile_sort(f->scratch, n);
	return n ? f->scratch[(n - 1) / 2] : 0;
}

/* Each part's median above the one before: chance does that once in 8! times. */
static bool grows(const uint64_t medians[GROWTH_PARTS])
{
	for (int k = 1; k < GROWTH_PARTS; k++)
		if (medians[k] <= medians[k - 1])
			return false;
	return 10 * medians[GROWTH_PARTS - 1] >= 13 * medians[0];
}

bool rule_context_growth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t attention =
		run_category_find(f->run, brick_category_name(BRICK_CATEGORY_ATTENTION));
	uint64_t medians[GROWTH_PARTS];

	if (p != STEP_DECODE || phase->steps < GROWTH_STEPS || attention == RUN_NONE)
		return false;
	for (int k = 0; k < GROWTH_PARTS; k++)
		medians[k] = part_median_ns(f, phase, attention, k);
	if (!grows(medians))
		return false;
	for (uint64_t i = 0; i < phase->steps; i++) {
		uint64_t ns = breakdown_step(f->breakdown, phase->list[i])[attention];
		out->cost_ns += ns > medians[0] ? ns - medians[0] : 0;
	}
	out->of.context_growth.first_ns = medians[0];
	out->of.context_growth.last_ns = medians[GROWTH_PARTS - 1];
	return true;
}

/* The category that a step has most more of than the others have on average. */
static uint32_t most_different(const struct explain_facts *f, const struct explain_phase *phase,
	uint32_t step, uint64_t *more_ns)
{
	const struct breakdown *b = f->breakdown;
	uint32_t most = 0;

	*more_ns = 0;
	for (uint32_t c = 0; c < b->category_count; c++) {
		double mean = 0, ns = (double)breakdown_step(b, step)[c];
		for (uint64_t i = 0; i < phase->steps; i++)
			mean += (double)breakdown_step(b, phase->list[i])[c];
		mean = (mean - ns) / (double)(phase->steps - 1);
		if (ns - mean > (double)*more_ns) {
			*more_ns = (uint64_t)(ns - mean);
			most = c;
		}
	}
	return most;
}

static struct run_off_times off_in(const struct run *run, uint32_t step)
{
	const struct run_step *s = &run->steps[step];

	return run_off_cpu_between(&run->lanes[s->lane], s->begin_ns, s->end_ns);
}

/* Name of what a step spent its additional time on, and how much of that it was. */
static const char *difference(const struct explain_facts *f, const struct explain_phase *phase,
	uint32_t step, uint64_t *more_ns)
{
	struct run_off_times off = off_in(f->run, step);
	uint32_t category = most_different(f, phase, step, more_ns);

	if (off.preempted_ns > *more_ns / 2)
		return *more_ns = off.preempted_ns, "preempted";
	if (off.blocked_ns > *more_ns / 2)
		return *more_ns = off.blocked_ns, "blocked";
	return category < f->run->category_count ? f->run->categories[category].name : "waits";
}

/* Preempted time of the step is a finding of its own. */
bool rule_first_step(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t first_ns, median_ns, more_ns;

	if (phase->steps < 4)
		return false;
	first_ns = explain_step_ns(phase, phase->list[0]);
	median_ns = explain_median_ns(f, phase, 1, phase->steps);
	if (first_ns < SLOW * median_ns)
		return false;
	out->cost_ns = first_ns - median_ns;
	more_ns = off_in(f->run, phase->list[0]).preempted_ns;
	if (out->cost_ns <= more_ns)
		return false;
	out->cost_ns -= more_ns;
	out->of.first_step.step = phase->list[0];
	out->of.first_step.took_ns = first_ns;
	out->of.first_step.median_ns = median_ns;
	out->of.first_step.more = difference(f, phase, phase->list[0], &out->of.first_step.more_ns);
	return true;
}

/* Slow steps but the first; their preempted and blocked time are findings of their own. */
bool rule_slow_steps(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t median_ns = explain_median_ns(f, phase, 0, phase->steps), count = 0, worst_ns = 0;
	uint32_t worst = 0;

	for (uint64_t i = 1; p == STEP_DECODE && i < phase->steps; i++) {
		uint64_t ns = explain_step_ns(phase, phase->list[i]);
		struct run_off_times off = off_in(f->run, phase->list[i]);
		uint64_t off_ns = off.preempted_ns + off.blocked_ns;
		if (ns < SLOW * median_ns)
			continue;
		out->cost_ns += ns - median_ns > off_ns ? ns - median_ns - off_ns : 0;
		count++;
		if (ns > worst_ns) {
			worst_ns = ns;
			worst = phase->list[i];
		}
	}
	if (!out->cost_ns)
		return false;
	out->of.slow_steps.step = worst;
	out->of.slow_steps.count = count;
	out->of.slow_steps.took_ns = worst_ns;
	out->of.slow_steps.median_ns = median_ns;
	out->of.slow_steps.more = difference(f, phase, worst, &out->of.slow_steps.more_ns);
	return true;
}
