/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrows a run. First steps are chosen by phase, number, time and speed, and samples in their
 * accounts (walk.h) are kept. A step that begins in the chosen time is kept whole; samples outside
 * of steps are cut to the time. Then the sites of other bricks, layers and threads are marked
 * left_out.
 */
#include "analysis/accounts/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "analysis/accounts/stack_bricks.h"
#include "analysis/steps/step_times.h"
#include "base/number.h"
#include "base/scope.h"
#include "brick/abi/overhead.h"
#include "brick/error.h"
#include "trace/run_keep.h"

/* SELECT_SLOW chooses one in so many steps of a phase, and at least one. */
enum { SLOW_PART = 20 };

struct choice {
	const struct selection *selection;
	bool leaves_plain; /* steps that were recorded as one piece to limit the cost */
	struct run *run;
	const struct step_index *index;
	uint64_t since_ns, until_ns;
	uint8_t *steps; /* [step_count]: 1: chosen */
	uint8_t **keep; /* [lane_count][sample_count]: 1: kept */
	uint32_t lane;	/* that the walk is on */
};

/* True if steps are chosen by phase, speed or number: then time outside of steps is dropped. */
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

static bool selection_is_limited(const struct run *run)
{
	return run_note_find(run, BRICK_LIMITED_NOTE) && !run->has_statistics_only;
}

/* The sample of such a step is followed by the one that stands for all of its work. */
static bool selection_is_plain(const struct run *run, const struct run_step *step, uint32_t brick)
{
	const struct run_lane *lane = &run->lanes[step->lane];

	return step->sample + (size_t)1 < lane->sample_count &&
	       run->sites[lane->samples[step->sample + 1].site].brick == brick;
}

/* Remembers the lengths of those steps, for their neighbours to be compared with. 0 or -ENOMEM. */
static int leave_plain(struct choice *c)
{
	struct run *run = c->run;
	uint32_t brick = run_brick_find(run, BRICK_PLAIN_NAME);

	run->left_steps = calloc(run->step_count + 1, sizeof(*run->left_steps));
	if (!run->left_steps)
		return -ENOMEM;
	for (size_t i = 0; i < run->step_count && brick != RUN_NONE; i++) {
		const struct run_step *s = &run->steps[i];
		if (!c->steps[i] || !selection_is_plain(run, s, brick))
			continue;
		c->steps[i] = 0;
		if (s->outcome == RUN_EVALUATED)
			run->left_steps[run->left_step_count++] = (struct run_left_step){s->lane,
				s->phase, s->tokens, s->begin_ns, s->end_ns,
				run_off_cpu_between(&run->lanes[s->lane], s->begin_ns, s->end_ns)
					.preempted_ns};
	}
	return 0;
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
		/* a step of a run that was narrowed before has its number */
		number = step->number ? step->number : number + 1;
		step->number = number;
		c->run->all_steps = (uint32_t)number_max(c->run->all_steps, number);
		c->steps[i] = (s->phase < 0 || (int)step->phase == s->phase) &&
			      step->begin_ns >= c->since_ns && step->begin_ns < c->until_ns &&
			      is_numbered(s, number);
	}
}

/* Of the chosen steps of a phase, keeps the longest. Returns how many were evaluated. */
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

/*
 * SELECT_SLOWEST chooses one step: of decode if there is any, as wherever a single step is chosen.
 */
static int choose_by_speed(struct choice *c)
{
	SCOPED struct step_length *list = calloc(c->run->step_count + 1, sizeof(*list));
	struct step_times times;
	bool found = false;
	if (!list || step_times_measure(&times, c->run, c->index) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < STEP_PHASES; i++) {
		size_t count = choose_slowest(c, &times, list, step_phase_order[i]);
		if (found && count && c->selection->speed == SELECT_SLOWEST)
			c->steps[list[0].step] = 0;
		found |= count > 0;
	}
	step_times_fini(&times);
	return 0;
}

/* Cuts a sample to the time. A cut sample is open: no execution any more, but its time counts. */
static bool selection_cut(const struct choice *c, struct run_sample *sample)
{
	uint64_t begin_ns = number_max(sample->begin_ns, c->since_ns);
	uint64_t end_ns = number_min(sample->end_ns, c->until_ns);
	if (begin_ns >= c->until_ns || end_ns < begin_ns ||
		(end_ns == begin_ns && sample->end_ns > sample->begin_ns))
		return false;
	if (begin_ns != sample->begin_ns || end_ns != sample->end_ns)
		sample->flags |= RUN_SAMPLE_OPEN;
	sample->begin_ns = begin_ns;
	sample->end_ns = end_ns;
	sample->wait_ns = (uint32_t)number_min(sample->wait_ns, c->until_ns - end_ns);
	return true;
}

/* Cuts a sample outside of all steps to the selected time. True: some of it is kept. */
static bool selection_is_kept(struct choice *c, uint32_t sample, bool holds_step)
{
	if (asks_for_steps(c->selection) || holds_step)
		return false;
	return selection_cut(c, &c->run->lanes[c->lane].samples[sample]);
}

static int selection_on_lane(void *context, uint32_t lane)
{
	struct choice *c = context;
	c->lane = lane;
	return 1;
}

static void selection_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct choice *c = context;
	uint32_t step = frame->step;
	if (c->run->lanes[c->lane].kind == BRICK_LANE_QUEUE)
		step = launches_step(c->run, c->index, c->lane, frame->index);
	bool open_step = frame->scope == WALK_UNFINISHED;
	c->keep[c->lane][frame->index] = step != RUN_NONE ? c->steps[step]
							  : selection_is_kept(c, frame->index,
								    frame->holds_step || open_step);
}

/* A tile goes with the sample that holds it, else with the step that ran then. */
static void selection_on_tile(void *context, const struct walk_frame *holder, uint32_t sample)
{
	struct choice *c = context;
	uint64_t begin_ns = c->run->lanes[c->lane].samples[sample].begin_ns;
	uint32_t step = holder->step != RUN_NONE
				? holder->step
				: step_index_at(c->index, c->run, c->lane, begin_ns);
	c->keep[c->lane][sample] =
		step != RUN_NONE ? c->steps[step] : selection_is_kept(c, sample, false);
}

static const struct walk_ops selection_ops = {
	.begin_lane = selection_on_lane, .end = selection_on_end, .tile = selection_on_tile};

static int find_kept(struct choice *c)
{
	struct walk walk;
	for (size_t i = 0; i < c->run->lane_count; i++) {
		c->keep[i] = calloc(c->run->lanes[i].sample_count + 1, 1);
		if (!c->keep[i])
			return -ENOMEM;
	}
	walk_init(&walk, c->run, c->index);
	walk_join(&walk, &selection_ops, c);
	return walk_run(&walk);
}

/*
 * True if a time in a lane is selected. Within a step, the step decides; elsewhere, `outside` and
 * the time itself.
 */
static bool is_kept_at(const struct choice *c, uint32_t lane, uint64_t ns, bool outside)
{
	uint32_t step =
		lane < c->run->lane_count ? step_index_at(c->index, c->run, lane, ns) : RUN_NONE;

	return step != RUN_NONE ? c->steps[step]
				: outside && ns >= c->since_ns && ns < c->until_ns &&
					  !asks_for_steps(c->selection);
}

/* Keeps instants and values of counters by their time. */
static void keep_points(struct choice *c)
{
	struct run *run = c->run;
	size_t count = 0;
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		if (is_kept_at(c, p->lane, p->ns, p->kind != RUN_POINT_REPORTED))
			run->points[count++] = *p;
	}
	run->point_count = count;
}

/* The lane of a stack, or another one of its process; RUN_NONE: none records. */
static uint32_t lane_beside(const struct run *run, const struct run_stack *stack)
{
	uint32_t pid = run->stack_threads[stack->thread].pid;

	for (uint32_t i = 0; stack->lane == RUN_NONE && i < run->lane_count; i++)
		if (run->processes[run->lanes[i].process].pid == pid)
			return i;
	return stack->lane;
}

/* Keeps stacks by their time, as points. */
static void keep_stacks(struct choice *c)
{
	struct run *run = c->run;
	size_t count = 0;
	for (size_t i = 0; i < run->stack_count; i++) {
		const struct run_stack *s = &run->stacks[i];
		if (is_kept_at(c, lane_beside(run, s), s->ns, true))
			run->stacks[count++] = *s;
	}
	run->stack_count = count;
}

/* A run without steps takes the time of its threads. */
static void cut_lanes(const struct choice *c)
{
	for (size_t i = 0; i < c->run->lane_count && !c->run->step_count; i++) {
		struct run_lane *lane = &c->run->lanes[i];
		lane->start_ns = number_max(lane->start_ns, c->since_ns);
		lane->end_ns = number_max(number_min(lane->end_ns, c->until_ns), lane->start_ns);
	}
}

/* Writes the reason why no step is chosen; negative: no memory. */
static int say_missing(const struct choice *c, char **missing)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	uint32_t count = c->index->count;

	for (uint32_t i = 0; i < c->run->step_count; i++)
		if (c->index->finished[i]) {
			first_ns = number_min(c->run->steps[i].begin_ns, first_ns);
			last_ns = number_max(c->run->steps[i].begin_ns, last_ns);
		}
	if (!count)
		return asprintf(missing, "no step that ended");
	if (!asks_for_time(c->selection))
		return asprintf(missing, "no such step; it has %u that ended", count);
	return asprintf(missing,
		"no such step; it has %u that ended, begun between %.3f s and %.3f s", count,
		(double)(first_ns - c->run->start_ns) / 1e9,
		(double)(last_ns - c->run->start_ns) / 1e9);
}

static int selection_choose(struct choice *c, char **missing)
{
	bool any = !c->run->step_count && !asks_for_steps(c->selection);
	choose_by_kind(c);
	if (c->leaves_plain && leave_plain(c) < 0)
		return -ENOMEM;
	if (c->selection->speed != SELECT_ANY_SPEED && choose_by_speed(c) < 0)
		return -ENOMEM;
	c->run->is_scattered = c->selection->speed == SELECT_SLOW ||
			       c->selection->step_ranges > 1 || c->run->left_step_count;
	for (size_t i = 0; i < c->run->step_count; i++)
		any |= c->steps[i];
	if (any)
		return 0;
	return say_missing(c, missing) < 0 ? -ENOMEM : BRICK_ENOTRECORDED;
}

/* The calls of hooks are scaled to the part of the samples that is kept. */
static void selection_scale_hooks(struct run_lane *lane, const uint8_t *keep)
{
	double kept = 0;
	for (size_t i = 0; i < lane->sample_count; i++)
		kept += keep[i];
	if (lane->sample_count)
		kept /= (double)lane->sample_count;
	lane->hook_calls = (uint64_t)((double)lane->hook_calls * kept + 0.5);
}

static int keep_chosen(struct choice *c, char **missing)
{
	int rc = selection_choose(c, missing);
	if (rc == 0)
		rc = find_kept(c);
	if (rc < 0)
		return rc;
	keep_points(c);
	keep_stacks(c);
	cut_lanes(c);
	for (size_t i = 0; i < c->run->lane_count; i++)
		selection_scale_hooks(&c->run->lanes[i], c->keep[i]);
	return run_keep(c->run, c->keep, false);
}

/* True if a gap lies in a kept step or, where kept, between steps. */
static bool selection_is_chosen(const struct choice *c, const struct off_cpu_gap *gap)
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

/* Gaps in other steps say nothing about these. */
static void drop_gaps(struct choice *c)
{
	struct off_cpu_account *o = &c->run->off_cpu;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < o->gap_count; i++)
		if (selection_is_chosen(c, &o->gaps[i]))
			o->gaps[kept++] = o->gaps[i];
	o->gap_count = kept;
}

static int apply_steps(const struct selection *s, struct run *run, char **missing)
{
	struct step_index index;
	struct choice c = {.selection = s,
		.leaves_plain = selection_is_limited(run) && !run->left_steps,
		.run = run,
		.index = &index};
	if (!selection_has_steps(s) && !c.leaves_plain)
		return 0;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	c.since_ns = run->start_ns + s->since_ns;
	c.until_ns =
		s->until_ns < UINT64_MAX - run->start_ns ? run->start_ns + s->until_ns : UINT64_MAX;
	c.steps = calloc(run->step_count + 1, 1);
	c.keep = calloc(run->lane_count + 1, sizeof(*c.keep));
	rc = c.steps && c.keep ? keep_chosen(&c, missing) : -ENOMEM;
	if (rc == 0)
		drop_gaps(&c);
	for (size_t i = 0; c.keep && i < run->lane_count; i++)
		free(c.keep[i]);
	free(c.keep);
	free(c.steps);
	step_index_fini(&index);
	return rc;
}

static bool selection_has_places(const struct selection *s)
{
	return s->brick || s->layer != SELECTION_ALL_LAYERS;
}

/* Puts the selection into words, for run->selected; -ENOMEM. */
static int selection_describe(const struct selection *s, struct run *run)
{
	static const char *const speeds[] = {
		[SELECT_SLOWEST] = "slowest step", [SELECT_SLOW] = "slowest 5% of steps"};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	if (selection_is_limited(run))
		fputs("; steps with bricks (--max-cost)", out);
	if (s->phase >= 0)
		fprintf(out, "; %s%s", step_phase_name(s->phase),
			s->phase == STEP_OTHER ? " steps" : "");
	for (unsigned i = 0; i < s->step_ranges; i++)
		fprintf(out, s->steps[i].first == s->steps[i].last ? "%s%llu" : "%s%llu-%llu",
			i ? "," : "; steps ", (unsigned long long)s->steps[i].first,
			(unsigned long long)s->steps[i].last);
	if (s->speed != SELECT_ANY_SPEED)
		fprintf(out, "; %s", speeds[s->speed]);
	if (s->layer == -1)
		fputs("; outside of layers", out);
	else if (s->layer != SELECTION_ALL_LAYERS)
		fprintf(out, "; layer %d", s->layer);
	if (s->brick)
		fprintf(out, "; %s", s->brick);
	if (s->thread)
		fprintf(out, "; thread %s", s->thread);
	if (s->since_ns)
		fprintf(out, "; since %.9g s", (double)s->since_ns / 1e9);
	if (s->until_ns != UINT64_MAX)
		fprintf(out, "; until %.9g s", (double)s->until_ns / 1e9);
	if (fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	memmove(text, text + 2, strlen(text + 2) + 1);
	free(run->selected);
	run->selected = text;
	return 0;
}

static int missing_text(char **missing, const char *what, const char *name)
{
	return asprintf(missing, "no %s %s", what, name) < 0 ? -ENOMEM : BRICK_ENOTRECORDED;
}

/*
 * The parts of a site that are left out. Waits are parts of other bricks' samples, so a selection
 * of waits keeps these for their waits alone.
 */
static uint32_t left_out(
	const struct selection *s, const struct run *run, const struct run_site *site)
{
	const struct run_brick *brick = &run->bricks[site->brick];
	int32_t layer = site->layer < 0 ? -1 : site->layer;
	if (s->layer != SELECTION_ALL_LAYERS && layer != s->layer)
		return RUN_LEFT_OUT_ALL;
	if (!s->brick || !strcmp(brick->name, s->brick))
		return 0;
	bool waits = !strcmp(s->brick, brick_name(BRICK_BARRIER_WAIT));
	return waits ? RUN_LEFT_OUT_TIME : RUN_LEFT_OUT_ALL;
}

static int apply_places(const struct selection *s, struct run *run, char **missing)
{
	bool any = false;
	if (!selection_has_places(s))
		return 0;
	if (s->brick && run_brick_find(run, s->brick) == RUN_NONE)
		return missing_text(missing, "brick", s->brick);
	for (size_t i = 0; i < run->site_count; i++) {
		run->sites[i].left_out = left_out(s, run, &run->sites[i]);
		any |= run->sites[i].left_out != RUN_LEFT_OUT_ALL;
	}
	if (any)
		return 0;
	char layer[16];
	snprintf(layer, sizeof(layer), "%d", s->layer);
	return missing_text(missing, s->brick ? "such brick in layer" : "layer", layer);
}

/* True if a thread of that name, or NULL, and number is asked for. */
static bool is_thread(const char *name, uint64_t tid, const char *asked)
{
	char number[24];
	snprintf(number, sizeof(number), "%llu", (unsigned long long)tid);
	return (name && !strcmp(name, asked)) || !strcmp(number, asked);
}

/* Adds a left-out twin of each site, for samples of other threads. */
static int double_sites(struct run *run)
{
	size_t count = run->site_count;
	struct run_site *sites = reallocarray(run->sites, 2 * count + 1, sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	run->sites = sites;
	for (size_t i = 0; i < count; i++) {
		struct run_site *copy = &sites[count + i];
		*copy = sites[i];
		copy->left_out = RUN_LEFT_OUT_ALL;
		copy->operation = sites[i].operation ? strdup(sites[i].operation) : NULL;
		copy->label = sites[i].label ? strdup(sites[i].label) : NULL;
		run->site_count++;
		if ((sites[i].operation && !copy->operation) || (sites[i].label && !copy->label))
			return -ENOMEM;
	}
	return 0;
}

/* True if the chosen thread launched the command. A queue that was chosen itself is kept whole. */
static bool is_launched(const struct run *run, const uint8_t *lanes, uint32_t lane, uint32_t sample)
{
	if (run->lanes[lane].kind != BRICK_LANE_QUEUE)
		return false;
	size_t i = run_command_from(run, lane, sample);
	return i < run->command_count && run->commands[i].lane == lane &&
	       run->commands[i].sample == sample && run->commands[i].launch_lane != RUN_NONE &&
	       lanes[run->commands[i].launch_lane];
}

static int apply_thread(const struct selection *s, struct run *run, char **missing)
{
	size_t sites = run->site_count;
	uint8_t *lanes = s->thread ? calloc(run->lane_count + 1, 1) : NULL;
	bool any = false;
	if (!s->thread)
		return 0;
	int rc = lanes ? double_sites(run) : -ENOMEM;
	for (size_t i = 0; i < run->lane_count && rc == 0; i++)
		any |= lanes[i] = is_thread(run->lanes[i].name, run->lanes[i].tid, s->thread);
	for (size_t i = 0; i < run->stack_thread_count && rc == 0; i++)
		any |= is_thread(run->stack_threads[i].name, run->stack_threads[i].tid, s->thread);
	if (rc == 0 && !any)
		rc = missing_text(missing, "thread or queue", s->thread);
	for (uint32_t l = 0; l < run->lane_count && rc == 0; l++)
		for (uint32_t i = 0; !lanes[l] && i < run->lanes[l].sample_count; i++) {
			run_lane_passed(&run->lanes[l], i);
			if (!is_launched(run, lanes, l, i))
				run->lanes[l].samples[i].site += (uint32_t)sites;
		}
	free(lanes);
	return rc;
}

/* Keeps the stacks of the selected thread that were in selected bricks; once sites are marked. */
static int apply_to_stacks(const struct selection *s, struct run *run)
{
	SCOPED struct stack_place *places = calloc(run->stack_count + 1, sizeof(*places));
	SCOPED bool *threads = calloc(run->stack_thread_count + 1, sizeof(*threads));
	SCOPED bool *lanes = calloc(run->lane_count + 1, sizeof(*lanes));
	size_t count = 0;
	int rc = !places || !threads || !lanes ? -ENOMEM
		 : selection_has_places(s)     ? stack_places_find(places, run, s->brick != NULL)
					       : 0;
	for (size_t i = 0; i < run->stack_thread_count && rc == 0; i++)
		threads[i] = !s->thread || is_thread(run->stack_threads[i].name,
						   run->stack_threads[i].tid, s->thread);
	for (size_t i = 0; i < run->lane_count && rc == 0; i++)
		lanes[i] = s->thread && is_thread(run->lanes[i].name, run->lanes[i].tid, s->thread);
	for (size_t i = 0; i < run->stack_count && rc == 0; i++) {
		const struct run_stack stack = run->stacks[i];
		bool is_of_thread =
			threads[stack.thread] || (stack.lane != RUN_NONE && lanes[stack.lane]);
		if (is_of_thread && !places[i].is_left_out)
			run->stacks[count++] = stack;
	}
	if (rc == 0)
		run->stack_count = count;
	return rc;
}

bool selection_is_any(const struct selection *s)
{
	return selection_has_steps(s) || selection_has_places(s) || s->thread;
}

int selection_apply(const struct selection *s, struct run *run, char **missing)
{
	*missing = NULL;
	if (!selection_is_any(s) && !(selection_is_limited(run) && !run->left_steps))
		return 0;
	run->is_narrowed |= selection_is_any(s);
	int rc = selection_describe(s, run);
	if (rc == 0)
		rc = run_edit(run);
	if (rc == 0)
		rc = apply_steps(s, run, missing);
	if (rc == 0)
		rc = apply_places(s, run, missing);
	if (rc == 0)
		rc = apply_thread(s, run, missing);
	if (rc == 0 && run->stack_count)
		rc = apply_to_stacks(s, run);
	if (rc == 0)
		run_statistics_drop(run);
	return rc;
}

static void find_dropped(const struct run *run, const struct step_index *index, uint8_t **keep)
{
	for (size_t lane = 0; lane < run->lane_count; lane++)
		for (size_t i = 0; i < run->lanes[lane].sample_count; i++) {
			run_lane_passed(&run->lanes[lane], i);
			const struct run_site *site = &run->sites[run->lanes[lane].samples[i].site];
			keep[lane][i] =
				!site->left_out || index->kinds[site->brick] == BRICK_KIND_STEP;
		}
}

int selection_drop(struct run *run)
{
	struct step_index index;
	if (!run->selected)
		return 0;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	SCOPED uint8_t **keep = calloc(run->lane_count + 1, sizeof(*keep));
	rc = keep ? 0 : -ENOMEM;
	for (size_t i = 0; i < run->lane_count && rc == 0; i++) {
		keep[i] = calloc(run->lanes[i].sample_count + 1, 1);
		rc = keep[i] ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		find_dropped(run, &index, keep);
		rc = run_keep(run, keep, false);
	}
	for (size_t i = 0; keep && i < run->lane_count; i++)
		free(keep[i]);
	step_index_fini(&index);
	return rc;
}
