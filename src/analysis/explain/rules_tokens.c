/* SPDX-License-Identifier: Apache-2.0 */
/* What differs from one token to the next, and what tokens were made for nothing. */
#include <stdio.h>
#include "analysis/accounts/percentile.h"
#include "brick/abi/step_counters.h"
#include "analysis/explain/explain_rules.h"
#include "ui/text/step_number.h"
#include "ui/text/units.h"

enum {
	GROWTH_STEPS = 32, /* steps from which on it can be seen */
	GROWTH_PARTS = 8,
	SLOW = 2, /* times the median */
};

/* What Brick's counter says of prompts that came again: in steps that evaluate mostly such. */
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

int rule_prompt_repeated(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t counter = run_brick_find(f->run, BRICK_REPEATED_NAME);
	struct repeated sum = {0};

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++)
		if (f->run->points[i].kind == RUN_POINT_COUNTER &&
			f->run->points[i].brick == counter && f->run->points[i].value > 0)
			add_point(&sum, f, phase, &f->run->points[i]);
	if (!sum.steps)
		return 0;
	out->cost_ns = sum.time_ns;
	out->certainty = FINDING_LIKELY;
	explain_say(out->what, "prompts are evaluated that had been evaluated before");
	explain_say(out->evidence,
		"%llu tokens in %llu of %llu steps are the beginning of an earlier batch, token by "
		"token at the same positions; the cost is what those steps took",
		(unsigned long long)sum.tokens, (unsigned long long)sum.steps,
		(unsigned long long)phase->steps);
	explain_say(out->advice, "keep the KV cache of what prompts share (cache_prompt, "
				 "--cache-reuse, one slot per conversation)");
	explain_say(out->show, "brick report --by phase");
	return 1;
}

int rule_sampling(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, brick_name(BRICK_SAMPLING));
	char ns[UNITS_BYTES], part[UNITS_BYTES];

	out->cost_ns = explain_on_cpu_ns(phase, brick_name(BRICK_SAMPLING));
	if (!row || !row->count || out->cost_ns < phase->wall_ns / 10)
		return 0;
	explain_say(out->what, "sampling takes %s of the time of a token",
		units_percent(part, explain_share(out->cost_ns, phase->wall_ns)));
	explain_say(out->evidence, "%llu calls of %s each, on the thread that evaluates",
		(unsigned long long)row->count, units_time(ns, out->cost_ns / row->count));
	explain_say(out->advice,
		"sort less: a small top-k first in the chain, no grammar where none is needed");
	explain_say(out->show, "brick report --phase %s", step_phase_name(p));
	return 1;
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
static int grows(const uint64_t medians[GROWTH_PARTS])
{
	for (int k = 1; k < GROWTH_PARTS; k++)
		if (medians[k] <= medians[k - 1])
			return 0;
	return 10 * medians[GROWTH_PARTS - 1] >= 13 * medians[0];
}

int rule_context_growth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t attention =
		run_category_find(f->run, brick_category_name(BRICK_CATEGORY_ATTENTION));
	uint64_t medians[GROWTH_PARTS];
	char from[UNITS_BYTES], to[UNITS_BYTES];

	if (p != STEP_DECODE || phase->steps < GROWTH_STEPS || attention == RUN_NONE)
		return 0;
	for (int k = 0; k < GROWTH_PARTS; k++)
		medians[k] = part_median_ns(f, phase, attention, k);
	if (!grows(medians))
		return 0;
	for (uint64_t i = 0; i < phase->steps; i++) {
		uint64_t ns = breakdown_step(f->breakdown, phase->list[i])[attention];
		out->cost_ns += ns > medians[0] ? ns - medians[0] : 0;
	}
	explain_say(out->what, "attention takes longer with every token of context");
	explain_say(out->evidence,
		"%s a step in the first eighth of %llu decode steps, %s in the last, growing in "
		"each",
		units_time(from, medians[0]), (unsigned long long)phase->steps,
		units_time(to, medians[GROWTH_PARTS - 1]));
	explain_say(out->advice, "a smaller KV cache: quantised (-ctk, -ctv q8_0), a shorter "
				 "context, sliding windows");
	explain_say(out->show, "brick report --by category --phase decode");
	return 1;
}

/* What a step had, per category: which one it has most more of than the others on average. */
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

/* What was preempted in it is a finding of its own. */
int rule_first_step(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	char took[UNITS_BYTES], usual[UNITS_BYTES], more[UNITS_BYTES];
	uint64_t first_ns, median_ns, more_ns;

	if (phase->steps < 4)
		return 0;
	first_ns = explain_step_ns(phase, phase->list[0]);
	median_ns = explain_median_ns(f, phase, 1, phase->steps);
	if (first_ns < SLOW * median_ns)
		return 0;
	out->cost_ns = first_ns - median_ns;
	more_ns = off_in(f->run, phase->list[0]).preempted_ns;
	if (out->cost_ns <= more_ns)
		return 0;
	out->cost_ns -= more_ns;
	const char *what = difference(f, phase, phase->list[0], &more_ns);
	explain_say(out->what, "the first %s step is slow", step_phase_name(p));
	explain_say(out->evidence,
		"it took %s, the others %s (median); most of that is %.47s (+%s)",
		units_time(took, first_ns), units_time(usual, median_ns), what,
		units_time(more, more_ns));
	explain_say(out->advice,
		"warm up before you serve: pages of the model that are not in memory yet, kernels "
		"that are compiled, buffers that are allocated (--no-mmap, --mlock, --warmup)");
	explain_say(out->show, "brick tree --step %u",
		step_number(f->run, &f->index, phase->list[0]));
	return 1;
}

/* Slow ones beside the first; what is preempted or blocked in them is a finding of its own. */
int rule_slow_steps(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t median_ns = explain_median_ns(f, phase, 0, phase->steps), count = 0, worst_ns = 0;
	uint64_t more_ns;
	uint32_t worst = 0;
	char median[UNITS_BYTES], took[UNITS_BYTES], more[UNITS_BYTES];

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
		return 0;
	const char *what = difference(f, phase, worst, &more_ns);
	explain_say(out->what, "%llu of %llu decode steps took over twice the median",
		(unsigned long long)count, (unsigned long long)phase->steps);
	explain_say(out->evidence, "the median is %s, the slowest %s: most of that is %.47s (+%s)",
		units_time(median, median_ns), units_time(took, worst_ns), what,
		units_time(more, more_ns));
	explain_say(out->advice, "look into that step, and at the bricks that it has more of");
	explain_say(
		out->show, "brick tree --step %u", step_number(f->run, &f->index, worst));
	return 1;
}
