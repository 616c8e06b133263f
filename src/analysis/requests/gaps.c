/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the samples of threads that run steps finds, for each step, the time of graphs
 * inside of it, and the time of sampling, states and the cache after it. All other parts of a gap
 * follow from the steps and from times off the CPU.
 */
#include "analysis/requests/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "base/order.h"

/* Times in a step (graph_ns), and after it until the next step of its lane (the others). */
struct step_facts {
	uint64_t graph_ns, sampling_ns, state_ns, cache_ns;
	uint64_t faults;
};

struct finder {
	struct requests *q;
	const struct run *run;
	struct step_facts *facts; /* [step_count] */
	uint32_t *next_on_lane;	  /* [step_count]: the next step of the lane; RUN_NONE: none */
	uint8_t *kinds;		  /* [brick_count]: enum kind */
	bool has_faults;
	uint64_t *scratch;
};

enum kind { KIND_NONE, KIND_GRAPH, KIND_SAMPLING, KIND_STATE, KIND_CACHE };

static enum kind gaps_kind_of(const struct run_brick *brick)
{
	if (brick->well_known == BRICK_GRAPH_BUILD || brick->well_known == BRICK_GRAPH_ALLOC)
		return KIND_GRAPH;
	if (brick->well_known == BRICK_SAMPLING || !strcmp(brick->name, "TokenAccept"))
		return KIND_SAMPLING;
	if (brick->well_known == BRICK_KV_CACHE_PREPARE)
		return KIND_CACHE;
	return !strcmp(brick->name, "StateLoad") || !strcmp(brick->name, "StateSave") ? KIND_STATE
										      : KIND_NONE;
}

/* Outermost samples of a kind only: samples inside of one count with it. */
static void gaps_read_lane(struct finder *f, uint32_t number, uint32_t step)
{
	const struct run_lane *lane = &f->run->lanes[number];
	uint64_t covered_ns = 0;

	for (size_t i = f->run->steps[step].sample; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		enum kind kind = f->kinds[f->run->sites[s->site].brick];
		run_lane_passed(lane, i);
		while (f->next_on_lane[step] != RUN_NONE &&
			f->run->steps[f->next_on_lane[step]].begin_ns <= s->begin_ns)
			step = f->next_on_lane[step];
		bool is_inside = s->begin_ns < f->run->steps[step].end_ns;
		if (kind == KIND_NONE || s->begin_ns < covered_ns ||
			is_inside != (kind == KIND_GRAPH))
			continue;
		covered_ns = s->end_ns;
		struct step_facts *facts = &f->facts[step];
		uint64_t ns = s->end_ns - s->begin_ns;
		if (kind == KIND_GRAPH)
			facts->graph_ns += ns;
		else if (kind == KIND_SAMPLING)
			facts->sampling_ns += ns;
		else if (kind == KIND_STATE)
			facts->state_ns += ns;
		else if (kind == KIND_CACHE)
			facts->cache_ns += ns;
	}
}

/* Page faults stand behind their step, before the next one. */
static void read_faults(struct finder *f)
{
	uint32_t brick = run_brick_find(f->run, "page-faults");

	for (size_t i = 0; brick != RUN_NONE && i < f->run->point_count; i++) {
		const struct run_point *p = &f->run->points[i];
		if (p->brick != brick || p->kind != RUN_POINT_COUNTER)
			continue;
		size_t at = BISECT(k, 0, f->run->step_count, f->run->steps[k].begin_ns <= p->ns);
		while (at && f->run->steps[at - 1].lane != p->lane)
			at--;
		if (at) {
			f->facts[at - 1].faults = (uint64_t)p->value;
			f->has_faults = true;
		}
	}
}

/*
 * Adds up other requests' tokens in a step, and finds the request with most tokens of a prompt, or
 * of all.
 */
static void others_in(const struct requests *q, uint32_t step, uint32_t own,
	struct request_gap *gap, uint64_t *most)
{
	for (uint32_t i = q->step_first[step]; i < q->step_first[step + 1]; i++) {
		const struct request_part *part = &q->parts[q->of_step[i]];
		uint64_t weight = ((uint64_t)part->prompt << 32) + part->tokens;
		if (part->request == own)
			continue;
		gap->other_prompt += part->prompt;
		if (weight <= *most)
			continue;
		*most = weight;
		gap->other = part->request;
	}
}

static const struct request_part *gaps_own_part(
	const struct requests *q, uint32_t step, uint32_t own)
{
	for (uint32_t i = q->step_first[step]; i < q->step_first[step + 1]; i++)
		if (q->parts[q->of_step[i]].request == own)
			return &q->parts[q->of_step[i]];
	return NULL;
}

static uint64_t prompt_of_others(const struct requests *q, uint32_t step, uint32_t own)
{
	uint64_t sum = 0;

	for (uint32_t i = q->step_first[step]; i < q->step_first[step + 1]; i++) {
		const struct request_part *part = &q->parts[q->of_step[i]];
		sum += part->request == own ? 0 : part->prompt;
	}
	return sum;
}

static struct run_off_times off(const struct finder *f, uint32_t lane, uint64_t begin, uint64_t end)
{
	return end > begin && run_off_cpu_is_known(f->run, begin, end)
		       ? run_off_cpu_between(&f->run->lanes[lane], begin, end)
		       : (struct run_off_times){0, 0};
}

/* The time before its step: other steps of the process, and the time between them. */
static void gaps_read_before(
	struct finder *f, struct request_gap *gap, uint32_t own, uint64_t *most)
{
	const struct run_step *step = &f->run->steps[gap->step];
	uint32_t process = f->run->lanes[step->lane].process;
	uint64_t at = gap->begin_ns, *parts = gap->parts_ns;
	size_t first = BISECT(i, 0, f->run->step_count, f->run->steps[i].begin_ns < gap->begin_ns);

	for (size_t i = first; i <= gap->step; i++) {
		const struct run_step *s = &f->run->steps[i];
		if (s->begin_ns >= step->begin_ns && i != gap->step)
			continue;
		if (f->run->lanes[s->lane].process != process ||
			(s->lane != step->lane && i != gap->step && s->model != step->model))
			continue;
		if (s->begin_ns > at) { /* nobody's */
			struct run_off_times o = off(f, step->lane, at, s->begin_ns);
			parts[GAP_PART_PREEMPTED] += o.preempted_ns;
			parts[GAP_PART_IDLE] += o.blocked_ns;
			parts[GAP_PART_HOST] += s->begin_ns - at - o.preempted_ns - o.blocked_ns;
		}
		if (i == gap->step)
			break;
		const struct request_part *own_one = gaps_own_part(f->q, (uint32_t)i, own);
		bool is_draft = s->is_draft || (own_one && own_one->is_undone);
		enum gap_part part = is_draft					? GAP_PART_DRAFTING
				     : prompt_of_others(f->q, (uint32_t)i, own) ? GAP_PART_PREFILL
										: GAP_PART_OTHERS;
		uint64_t end = s->end_ns < step->begin_ns ? s->end_ns : step->begin_ns;
		if (end > at)
			parts[part] += end - (s->begin_ns > at ? s->begin_ns : at);
		at = end > at ? end : at;
		others_in(f->q, (uint32_t)i, own, gap, most);
	}
}

static void take_from(uint64_t *from, uint64_t *to, uint64_t ns)
{
	uint64_t some = ns < *from ? ns : *from;

	*from -= some;
	*to += some;
}

/* The last step of the lane that ended by then; 0 if there is none. */
static size_t last_ended(const struct finder *f, uint32_t lane, uint64_t ns)
{
	size_t i = BISECT(k, 0, f->run->step_count, f->run->steps[k].begin_ns < ns);

	while (i && f->run->steps[i - 1].lane != lane)
		i--;
	return i ? i - 1 : 0;
}

/*
 * Reads the host's time between the steps. Work from before the request's own token was chosen is
 * not in this gap.
 */
static void read_host(struct finder *f, struct request_gap *gap)
{
	const struct run_step *step = &f->run->steps[gap->step];
	uint64_t *parts = gap->parts_ns;

	for (size_t i = last_ended(f, step->lane, gap->begin_ns); i < gap->step; i++) {
		const struct run_step *s = &f->run->steps[i];
		uint64_t before_ns = number_minus(gap->begin_ns, s->end_ns);
		if (s->lane != step->lane)
			continue;
		take_from(&parts[GAP_PART_HOST], &parts[GAP_PART_SAMPLING],
			number_minus(f->facts[i].sampling_ns, before_ns));
		take_from(&parts[GAP_PART_HOST], &parts[GAP_PART_STATE], f->facts[i].state_ns);
		take_from(&parts[GAP_PART_HOST], &parts[GAP_PART_CACHE], f->facts[i].cache_ns);
	}
}

static void read_gap(struct finder *f, struct request_gap *gap, uint32_t own)
{
	const struct run_step *step = &f->run->steps[gap->step];
	uint64_t begin = step->begin_ns > gap->begin_ns ? step->begin_ns : gap->begin_ns;
	uint64_t *parts = gap->parts_ns, most = 0;

	gap->other = RUN_NONE;
	gaps_read_before(f, gap, own, &most);
	read_host(f, gap);
	others_in(f->q, gap->step, own, gap, &most);
	struct run_off_times o = off(f, step->lane, begin, step->end_ns);
	struct run_off_times behind = off(f, step->lane, step->end_ns, gap->end_ns);
	parts[GAP_PART_STEP] = step->end_ns - begin;
	parts[GAP_PART_PREEMPTED] += behind.preempted_ns;
	parts[GAP_PART_IDLE] += behind.blocked_ns;
	parts[GAP_PART_SAMPLING] +=
		number_minus(gap->end_ns, step->end_ns) - behind.preempted_ns - behind.blocked_ns;
	take_from(&parts[GAP_PART_STEP], &parts[GAP_PART_PREEMPTED], o.preempted_ns);
	take_from(&parts[GAP_PART_STEP], &parts[GAP_PART_BLOCKED], o.blocked_ns);
	take_from(&parts[GAP_PART_STEP], &parts[GAP_PART_GRAPH], f->facts[gap->step].graph_ns);
	gap->faults = f->facts[gap->step].faults;
}

static uint64_t gaps_median(uint64_t *values, size_t n)
{
	if (!n)
		return 0;
	percentile_sort(values, n);
	return values[(n - 1) / 2];
}

static uint32_t requests_in(const struct requests *q, uint32_t step)
{
	return q->step_first[step + 1] - q->step_first[step];
}

enum { WHOLE = 1000000 }; /* in which shares are counted */

struct usual {
	uint64_t parts_ns[GAP_PARTS], gap_ns, faults;
	uint64_t preempted;	 /* parts of WHOLE of a gap */
	uint64_t team_preempted; /* ... of its step; valid if knows_team, as it is rarely asked for
				  */
	bool knows_team;
	uint32_t requests;
};

/*
 * A thread that is preempted all the time is preempted in a long gap in proportion, and that is not
 * the gap's cause.
 */
static uint64_t usual_part(const struct request_gap *gap, const struct usual *usual, int part)
{
	double in_proportion = (double)usual->preempted / WHOLE * (double)gap_ns(gap);

	return part == GAP_PART_PREEMPTED
		       ? number_max((uint64_t)in_proportion, usual->parts_ns[part])
		       : usual->parts_ns[part];
}

static uint64_t excess_of(const struct request_gap *gap, const struct usual *usual, int part)
{
	return number_minus(gap->parts_ns[part], usual_part(gap, usual, part));
}

/* The longest time that another thread with bricks in its step had no CPU meanwhile. */
static uint64_t team_preempted(const struct finder *f, const struct request_gap *gap)
{
	const struct run_step *step = &f->run->steps[gap->step];
	uint64_t most = 0;

	for (uint32_t i = 0; i < f->run->lane_count; i++) {
		const struct run_lane *lane = &f->run->lanes[i];
		if (i == step->lane || lane->process != f->run->lanes[step->lane].process)
			continue;
		size_t at = BISECT(
			k, 0, lane->sample_count, lane->samples[k].begin_ns < step->begin_ns);
		if (at < lane->sample_count && lane->samples[at].begin_ns < step->end_ns)
			most = number_max(
				most, off(f, i, step->begin_ns, step->end_ns).preempted_ns);
	}
	return most;
}

static uint64_t gap_step_ns(const struct finder *f, const struct request_gap *gap)
{
	return f->run->steps[gap->step].end_ns - f->run->steps[gap->step].begin_ns;
}

static void find_usual_team(struct finder *f, const struct request *r, struct usual *usual)
{
	for (uint32_t i = 0; i < r->gap_count; i++) {
		const struct request_gap *gap = &f->q->gaps[r->gap_first + i];
		f->scratch[i] = (uint64_t)((double)team_preempted(f, gap) /
					   (double)number_max(gap_step_ns(f, gap), 1) * WHOLE);
	}
	usual->team_preempted = gaps_median(f->scratch, r->gap_count);
	usual->knows_team = true;
}

/* Did its step take longer because others that compute it were preempted more than usual? */
static bool is_held_by_team(
	struct finder *f, const struct request_gap *gap, uint32_t own, struct usual *usual)
{
	uint64_t here = team_preempted(f, gap);

	if (!here)
		return false;
	if (!usual->knows_team)
		find_usual_team(f, &f->q->list[own], usual);
	double share = (double)usual->team_preempted / WHOLE;
	uint64_t in_proportion = (uint64_t)(share * (double)gap_step_ns(f, gap));
	return 2 * number_minus(here, in_proportion) >= excess_of(gap, usual, GAP_PART_STEP);
}

static enum gap_cause gaps_cause_of(
	struct finder *f, const struct request_gap *gap, uint32_t own, struct usual *usual)
{
	static const enum gap_cause causes[GAP_PARTS] = {
		[GAP_PART_STEP] = GAP_STEP,
		[GAP_PART_GRAPH] = GAP_GRAPH,
		[GAP_PART_PREEMPTED] = GAP_PREEMPTED,
		[GAP_PART_BLOCKED] = GAP_BLOCKED,
		[GAP_PART_PREFILL] = GAP_PREFILL_BEFORE,
		[GAP_PART_OTHERS] = GAP_OTHERS,
		[GAP_PART_DRAFTING] = GAP_DRAFTING,
		[GAP_PART_STATE] = GAP_STATE,
		[GAP_PART_CACHE] = GAP_CACHE,
		[GAP_PART_SAMPLING] = GAP_SAMPLING,
		[GAP_PART_IDLE] = GAP_IDLE,
		[GAP_PART_HOST] = GAP_HOST,
	};
	const struct request_part *part = gaps_own_part(f->q, gap->step, own);
	int worst = 0;

	for (int k = 1; k < GAP_PARTS; k++)
		if (excess_of(gap, usual, k) > excess_of(gap, usual, worst))
			worst = k;
	if (gap->is_evicted)
		return GAP_EVICTED;
	if (worst == GAP_PART_BLOCKED && f->has_faults && gap->faults > 4 * usual->faults + 16)
		return GAP_COLD_PAGES;
	if (worst != GAP_PART_STEP)
		return causes[worst];
	if (part && part->shifts)
		return GAP_SHIFT;
	if (part && part->prompt)
		return GAP_AGAIN;
	if (prompt_of_others(f->q, gap->step, own))
		return GAP_PREFILL_BESIDE;
	if (f->has_faults && gap->faults > 4 * usual->faults + 16)
		return GAP_COLD_PAGES;
	if (is_held_by_team(f, gap, own, usual))
		return GAP_PREEMPTED;
	return requests_in(f->q, gap->step) > usual->requests ? GAP_MORE_REQUESTS : GAP_STEP;
}

static void find_usual(struct finder *f, const struct request *r, struct usual *usual)
{
	const struct request_gap *gaps = &f->q->gaps[r->gap_first];

	for (int k = 0; k < GAP_PARTS; k++) {
		for (uint32_t i = 0; i < r->gap_count; i++)
			f->scratch[i] = gaps[i].parts_ns[k];
		usual->parts_ns[k] = gaps_median(f->scratch, r->gap_count);
	}
	for (uint32_t i = 0; i < r->gap_count; i++)
		f->scratch[i] = (uint64_t)((double)gaps[i].parts_ns[GAP_PART_PREEMPTED] /
					   (double)gap_ns(&gaps[i]) * WHOLE);
	usual->preempted = gaps_median(f->scratch, r->gap_count);
	for (uint32_t i = 0; i < r->gap_count; i++)
		f->scratch[i] = gaps[i].faults;
	usual->faults = gaps_median(f->scratch, r->gap_count);
	for (uint32_t i = 0; i < r->gap_count; i++)
		f->scratch[i] = requests_in(f->q, gaps[i].step);
	usual->requests = (uint32_t)gaps_median(f->scratch, r->gap_count);
	for (uint32_t i = 0; i < r->gap_count; i++)
		f->scratch[i] = gap_ns(&gaps[i]);
	usual->gap_ns = gaps_median(f->scratch, r->gap_count);
}

static void find_causes(struct finder *f, uint32_t own)
{
	struct request *r = &f->q->list[own];
	struct usual usual = {0};

	r->p50_ns = r->p95_ns = r->p99_ns = r->max_ns = ANALYSIS_UNKNOWN;
	if (!r->gap_count)
		return;
	find_usual(f, r, &usual); /* leaves the sorted gaps */
	r->p50_ns = percentile_sorted(f->scratch, r->gap_count, 50);
	r->p95_ns = percentile_sorted(f->scratch, r->gap_count, 95);
	r->p99_ns = percentile_sorted(f->scratch, r->gap_count, 99);
	r->max_ns = f->scratch[r->gap_count - 1];
	for (uint32_t i = 0; i < r->gap_count; i++) {
		struct request_gap *gap = &f->q->gaps[r->gap_first + i];
		if (gap_ns(gap) <= GAP_LONG * usual.gap_ns)
			continue;
		gap->excess_ns = gap_ns(gap) - usual.gap_ns;
		gap->cause = gaps_cause_of(f, gap, own, &usual);
	}
}

/* Finds gaps between steps that gave tokens; a step of a prompt in between gave none. */
static void find_gaps(struct finder *f, uint32_t own)
{
	struct requests *q = f->q;
	struct request *r = &q->list[own];
	uint64_t last_ns = 0;
	bool is_evicted = false;

	r->gap_first = (uint32_t)q->gap_count;
	for (uint32_t i = 0; i < r->part_count; i++) {
		const struct request_part *part = &q->parts[r->part_first + i];
		const struct run_step *step = &f->run->steps[part->step];
		uint32_t outputs = part->tokens - part->prompt;
		is_evicted |= part->is_resumed;
		if ((!outputs && !part->results) || part->is_undone)
			continue;
		uint64_t came_ns = part->sampled_ns ? part->sampled_ns : step->end_ns;
		bool is_seen = !f->run->mark_count || !run_was_off(f->run, last_ns, step->end_ns);
		if (last_ns && step->end_ns > last_ns && is_seen) {
			struct request_gap *gap = &q->gaps[q->gap_count++];
			*gap = (struct request_gap){.begin_ns = last_ns,
				.end_ns = came_ns,
				.step = part->step,
				.tokens = outputs ? outputs - part->refuted : 1,
				.is_evicted = is_evicted};
			read_gap(f, gap, own);
		}
		is_evicted = false;
		last_ns = came_ns > last_ns ? came_ns : last_ns;
	}
	r->gap_count = (uint32_t)(q->gap_count - r->gap_first);
}

static int gaps_allocate(struct finder *f)
{
	f->facts = calloc(f->run->step_count + 1, sizeof(*f->facts));
	f->next_on_lane = calloc(f->run->step_count + 1, sizeof(*f->next_on_lane));
	f->kinds = calloc(f->run->brick_count + 1, 1);
	f->scratch = calloc(f->q->part_count + 1, sizeof(*f->scratch));
	f->q->gaps = calloc(f->q->part_count + 1, sizeof(*f->q->gaps));
	return f->facts && f->next_on_lane && f->kinds && f->scratch && f->q->gaps ? 0 : -ENOMEM;
}

int gaps_find(struct requests *q)
{
	const struct run *run = q->run;
	struct finder f = {.q = q, .run = run};
	uint32_t *last = calloc(run->lane_count + 1, sizeof(*last));
	int error = last ? gaps_allocate(&f) : -ENOMEM;

	if (!error) {
		for (size_t i = 0; i < run->brick_count; i++)
			f.kinds[i] = (uint8_t)gaps_kind_of(&run->bricks[i]);
		for (size_t i = 0; i < run->lane_count; i++)
			last[i] = RUN_NONE;
		for (size_t i = run->step_count; i--;) {
			f.next_on_lane[i] = last[run->steps[i].lane];
			last[run->steps[i].lane] = (uint32_t)i;
		}
		for (size_t i = 0; i < run->lane_count; i++)
			if (last[i] != RUN_NONE) /* the lane's first step */
				gaps_read_lane(&f, (uint32_t)i, last[i]);
		read_faults(&f);
		for (size_t i = 0; i < q->count; i++) {
			find_gaps(&f, (uint32_t)i);
			find_causes(&f, (uint32_t)i);
		}
	}
	free(last);
	free(f.facts);
	free(f.next_on_lane);
	free(f.kinds);
	free(f.scratch);
	return error;
}

/* Takes the time of nested samples from the samples that hold them. */
void gap_self_times(const struct run *run, uint32_t number, uint64_t *self)
{
	const struct run_step *step = &run->steps[number];
	const struct run_lane *lane = &run->lanes[step->lane];
	uint32_t holders[UINT8_MAX + 1];

	for (size_t i = step->sample; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		if (s->begin_ns >= step->end_ns && i != step->sample)
			break;
		uint32_t brick = run->sites[s->site].brick;
		uint64_t length = s->end_ns - s->begin_ns;
		holders[s->depth] = brick;
		self[brick] += number_minus(length, s->inner_ns);
		if (s->depth && i != step->sample)
			self[holders[s->depth - 1]] -= length + s->wait_ns;
	}
}

int gap_bricks(const struct run *run, uint32_t number, struct gap_brick out[GAP_BRICKS])
{
	const struct run_step *step = &run->steps[number];
	uint64_t *self = calloc(run->brick_count + 1, sizeof(*self));
	uint32_t engine = run_category_find(run, "Engine"), wait = run_category_find(run, "Wait");

	for (int i = 0; i < GAP_BRICKS; i++)
		out[i] = (struct gap_brick){RUN_NONE, 0};
	if (!self)
		return -ENOMEM;
	gap_self_times(run, number, self);
	for (int i = 0; i < GAP_BRICKS; i++) {
		uint32_t best = RUN_NONE;
		for (uint32_t b = 0; b < run->brick_count; b++) {
			bool is_work = run->bricks[b].category != engine &&
				       run->bricks[b].category != wait &&
				       !brick_is_step((uint32_t)run->bricks[b].well_known);
			if (is_work && self[b] && self[b] <= INT64_MAX &&
				(best == RUN_NONE || self[b] > self[best]))
				best = b;
		}
		if (best == RUN_NONE)
			break;
		out[i] = (struct gap_brick){
			best, (double)self[best] / (double)(step->end_ns - step->begin_ns)};
		self[best] = 0;
	}
	free(self);
	return 0;
}
