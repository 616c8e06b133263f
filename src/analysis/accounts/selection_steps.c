/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses steps, and keeps what the walk puts into their accounts. A step is in a time when it
 * begins in it, and is then in it as a whole; what lies outside of steps is cut to the time. Called
 * by selection.c.
 */
#include "analysis/accounts/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/accounts/launches.h"
#include "analysis/steps/step_times.h"
#include "base/scope.h"
#include "brick/error.h"
#include "trace/run_keep.h"

/* The slow ones: this part of the steps of a phase, at least one. */
enum { SLOW_PART = 20 };

struct choice {
	const struct selection *selection;
	struct run *run;
	const struct step_index *index;
	uint64_t since_ns, until_ns;
	uint8_t *steps; /* [step_count] */
	uint8_t **keep; /* [lane_count][sample_count] */
	uint32_t lane;	/* that is being walked */
};

/* Whether it asks for steps by what they are, so that what lies outside of steps was not. */
static bool asks_for_steps(const struct selection *s)
{
	return s->phase >= 0 || s->speed != SELECT_ANY_SPEED || s->step_ranges;
}

static bool asks_for_time(const struct selection *s)
{
	return s->since_ns || s->until_ns != UINT64_MAX;
}

bool selection_has_steps(const struct selection *s)
{
	return asks_for_steps(s) || asks_for_time(s);
}

static bool is_numbered(const struct selection *s, uint64_t number)
{
	bool found = !s->step_ranges;
	for (unsigned i = 0; i < s->step_ranges; i++)
		found |= number >= s->steps[i].first && number <= s->steps[i].last;
	return found;
}

static void choose_by_kind(struct choice *c)
{
	const struct selection *s = c->selection;
	uint32_t number = 0;
	for (size_t i = 0; i < c->run->step_count; i++) {
		struct run_step *step = &c->run->steps[i];
		if (!c->index->finished[i])
			continue;
		step->number = c->run->all_steps = ++number;
		c->steps[i] = (s->phase < 0 || (int)step->phase == s->phase) &&
			      step->begin_ns >= c->since_ns && step->begin_ns < c->until_ns &&
			      is_numbered(s, number);
	}
}

/* Of one phase, those that took longest. Returns how many there were to choose from. */
static size_t choose_slowest(
	struct choice *c, const struct step_times *times, struct step_length *list, unsigned phase)
{
	size_t count = 0;
	for (uint32_t i = 0; i < c->run->step_count; i++) {
		if (!c->steps[i] || c->run->steps[i].phase != phase)
			continue;
		c->steps[i] = 0;
		if (c->run->steps[i].outcome == RUN_EVALUATED)
			list[count++] =
				(struct step_length){step_time_total_ns(&times->steps[i]), i};
	}
	qsort(list, count, sizeof(*list), step_length_compare);
	size_t most =
		c->selection->speed == SELECT_SLOWEST ? 1 : (count + SLOW_PART - 1) / SLOW_PART;
	for (size_t i = 0; i < count && i < most; i++)
		c->steps[list[i].step] = 1;
	return count;
}

/* "slowest" is one step: of decode where there is any, as wherever a step is chosen. */
static int choose_by_speed(struct choice *c)
{
	static const enum step_phase order[] = {
		STEP_DECODE, STEP_MIXED, STEP_PREFILL, STEP_WARM_UP};
	SCOPED struct step_length *list = calloc(c->run->step_count + 1, sizeof(*list));
	struct step_times times;
	bool found = false;
	if (!list || step_times_measure(&times, c->run, c->index) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		size_t count = choose_slowest(c, &times, list, order[i]);
		if (found && count && c->selection->speed == SELECT_SLOWEST)
			c->steps[list[0].step] = 0;
		found |= count > 0;
	}
	step_times_fini(&times);
	return 0;
}

static uint64_t at_least(uint64_t value, uint64_t limit)
{
	return value > limit ? value : limit;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/* What was cut is no execution any more, but its time is there. */
static bool cut(const struct choice *c, struct run_sample *sample)
{
	uint64_t begin_ns = at_least(sample->begin_ns, c->since_ns);
	uint64_t end_ns = at_most(sample->end_ns, c->until_ns);
	if (begin_ns >= c->until_ns || end_ns < begin_ns ||
		(end_ns == begin_ns && sample->end_ns > sample->begin_ns))
		return false;
	if (begin_ns != sample->begin_ns || end_ns != sample->end_ns)
		sample->flags |= RUN_SAMPLE_OPEN;
	sample->begin_ns = begin_ns;
	sample->end_ns = end_ns;
	sample->wait_ns = (uint32_t)at_most(sample->wait_ns, c->until_ns - end_ns);
	return true;
}

/* Of something outside of all steps. */
static bool is_kept(struct choice *c, uint32_t sample, bool holds_step)
{
	if (asks_for_steps(c->selection) || holds_step)
		return false;
	return cut(c, &c->run->lanes[c->lane].samples[sample]);
}

static int on_lane(void *context, uint32_t lane)
{
	struct choice *c = context;
	c->lane = lane;
	return 1;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct choice *c = context;
	uint32_t step = frame->step;
	if (c->run->lanes[c->lane].kind == BRICK_LANE_QUEUE)
		step = launches_step(c->run, c->index, c->lane, frame->index);
	bool open_step = frame->scope == WALK_UNFINISHED;
	c->keep[c->lane][frame->index] =
		step != RUN_NONE ? c->steps[step]
				 : is_kept(c, frame->index, frame->holds_step || open_step);
}

/* A tile goes with what holds it, else with the step that ran then. */
static void on_tile(void *context, const struct walk_frame *holder, uint32_t sample)
{
	struct choice *c = context;
	uint64_t begin_ns = c->run->lanes[c->lane].samples[sample].begin_ns;
	uint32_t step = holder->step != RUN_NONE
				? holder->step
				: step_index_at(c->index, c->run, c->lane, begin_ns);
	c->keep[c->lane][sample] = step != RUN_NONE ? c->steps[step] : is_kept(c, sample, false);
}

static const struct walk_ops ops = {.begin_lane = on_lane, .end = on_end, .tile = on_tile};

static int find_kept(struct choice *c)
{
	struct walk walk;
	for (size_t i = 0; i < c->run->lane_count; i++) {
		c->keep[i] = calloc(c->run->lanes[i].sample_count + 1, 1);
		if (!c->keep[i])
			return -ENOMEM;
	}
	walk_init(&walk, c->run, c->index);
	walk_join(&walk, &ops, c);
	return walk_run(&walk);
}

/* Instants and values of counters: by when they were. */
static void keep_points(struct choice *c)
{
	struct run *run = c->run;
	size_t count = 0;
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		uint32_t step = p->lane < run->lane_count
					? step_index_at(c->index, run, p->lane, p->ns)
					: RUN_NONE;
		bool in_time = p->ns >= c->since_ns && p->ns < c->until_ns &&
			       !asks_for_steps(c->selection) && p->kind != RUN_POINT_REPORTED;
		if (step != RUN_NONE ? c->steps[step] : in_time)
			run->points[count++] = *p;
	}
	run->point_count = count;
}

/* Without steps the time of a run is that of its threads. */
static void cut_lanes(const struct choice *c)
{
	for (size_t i = 0; i < c->run->lane_count && !c->run->step_count; i++) {
		struct run_lane *lane = &c->run->lanes[i];
		lane->start_ns = at_least(lane->start_ns, c->since_ns);
		lane->end_ns = at_least(at_most(lane->end_ns, c->until_ns), lane->start_ns);
	}
}

static int choose(struct choice *c, char **missing)
{
	bool any = !c->run->step_count && !asks_for_steps(c->selection);
	choose_by_kind(c);
	if (c->selection->speed != SELECT_ANY_SPEED && choose_by_speed(c) < 0)
		return -ENOMEM;
	c->run->is_scattered = c->selection->speed == SELECT_SLOW || c->selection->step_ranges > 1;
	for (size_t i = 0; i < c->run->step_count; i++)
		any |= c->steps[i];
	if (any)
		return 0;
	int n = c->index->count
			? asprintf(missing, "no such step; it has %u that ended", c->index->count)
			: asprintf(missing, "no step that ended");
	return n < 0 ? -ENOMEM : BRICK_ENOTRECORDED;
}

/* Hooks were called for what is left in proportion. */
static void scale_hooks(struct run_lane *lane, const uint8_t *keep)
{
	double kept = 0;
	for (size_t i = 0; i < lane->sample_count; i++)
		kept += keep[i];
	if (lane->sample_count)
		kept /= (double)lane->sample_count;
	lane->hook_calls = (uint64_t)((double)lane->hook_calls * kept + 0.5);
}

static int apply(struct choice *c, char **missing)
{
	int rc = choose(c, missing);
	if (rc == 0)
		rc = find_kept(c);
	if (rc < 0)
		return rc;
	keep_points(c);
	cut_lanes(c);
	for (size_t i = 0; i < c->run->lane_count; i++)
		scale_hooks(&c->run->lanes[i], c->keep[i]);
	return run_keep(c->run, c->keep);
}

/* Whether what was chosen has to do with that time: a step as a whole, and what lies between. */
static bool is_chosen(const struct choice *c, const struct off_cpu_gap *gap)
{
	const struct run *run = c->run;

	if (!asks_for_steps(c->selection) && gap->begin_ns < c->until_ns &&
		gap->end_ns > c->since_ns)
		return true;
	for (size_t i = 0; i < run->step_count; i++)
		if (gap->begin_ns < run->steps[i].end_ns && gap->end_ns > run->steps[i].begin_ns)
			return true;
	return false;
}

/* What is not known of other steps is no fault of these. */
static void drop_gaps(struct choice *c)
{
	struct off_cpu_account *o = &c->run->off_cpu;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < o->gap_count; i++)
		if (is_chosen(c, &o->gaps[i]))
			o->gaps[kept++] = o->gaps[i];
	o->gap_count = kept;
}

int selection_apply_steps(const struct selection *s, struct run *run, char **missing)
{
	struct step_index index;
	struct choice c = {.selection = s, .run = run, .index = &index};
	if (!selection_has_steps(s))
		return 0;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	c.since_ns = run->start_ns + s->since_ns;
	c.until_ns =
		s->until_ns < UINT64_MAX - run->start_ns ? run->start_ns + s->until_ns : UINT64_MAX;
	c.steps = calloc(run->step_count + 1, 1);
	c.keep = calloc(run->lane_count + 1, sizeof(*c.keep));
	rc = c.steps && c.keep ? apply(&c, missing) : -ENOMEM;
	if (rc == 0)
		drop_gaps(&c);
	for (size_t i = 0; c.keep && i < run->lane_count; i++)
		free(c.keep[i]);
	free(c.keep);
	free(c.steps);
	step_index_fini(&index);
	return rc;
}
