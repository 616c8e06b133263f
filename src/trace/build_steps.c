/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a run: their phases, times and tokens. A refused step has no tokens, since the
 * engine will be asked for them again. Speculative decoding: a step's tokens are those of the model
 * whose text it is. Tokens that a drafting model evaluated do not count, nor do drafts that were
 * refuted. Counters within the steps and between them say so (brick/abi/step_counters.h); a
 * refutation belongs to the last step of its context that checked so many.
 */

#include "trace/build.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/step_counters.h"
#include "trace/run.h"

enum {
	STEPS_RELEASED = 512, /* spilled samples are released after so many steps */
	MAX_BESIDE = 4096,    /* step_at() looks back over so many steps of all threads */
	MAX_BACK = 256,	      /* so many steps, or points, are searched backwards */
	MAX_NUMBER = 1 << 20, /* greater values of counters count as 0 */
};

COMPARATOR(build_steps_by_begin, struct run_step,
	ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->lane, y->lane))

static uint32_t build_steps_phase_of(int32_t well_known)
{
	switch (well_known) {
	case BRICK_DECODE:
		return BRICK_PHASE_DECODE;
	case BRICK_MIXED:
		return BRICK_PHASE_MIXED;
	case BRICK_WARM_UP:
		return BRICK_PHASE_WARM_UP;
	case BRICK_OTHER_STEP:
		return BRICK_PHASE_OTHER;
	default:
		return BRICK_PHASE_PREFILL;
	}
}

/* The step of the lane that runs at `ns`; NULL: there is none. run->steps must be sorted. */
static struct run_step *step_at(struct run *run, uint32_t lane, uint64_t ns)
{
	size_t low = BISECT(i, 0, run->step_count, run->steps[i].begin_ns <= ns);

	for (size_t left = MAX_BESIDE; low && left; low--, left--)
		if (run->steps[low - 1].lane == lane)
			return run->steps[low - 1].end_ns >= ns ? &run->steps[low - 1] : NULL;
	return NULL;
}

/* The step in which a counter of this brick was set by the point; NULL: there is none. */
static struct run_step *step_counted_by(
	struct run *run, uint32_t brick, const struct run_point *point)
{
	return point->kind == RUN_POINT_COUNTER && point->brick == brick
		       ? step_at(run, point->lane, point->ns)
		       : NULL;
}

/* Tokens that an engine refused belong to no step: the engine will be asked for them again. */
static void take_outcome(struct run *run, const char *counter, enum run_outcome outcome)
{
	uint32_t brick = run_brick_find(run, counter);

	for (size_t i = 0; brick != RUN_NONE && i < run->point_count; i++) {
		struct run_step *step = step_counted_by(run, brick, &run->points[i]);
		if (!step)
			continue;
		step->outcome = outcome;
		step->tokens = step->output_tokens = 0;
	}
}

/* Tokens that the step did not begin with. */
static void take_added(struct run *run)
{
	uint32_t brick = run_brick_find(run, BRICK_ADDED_NAME);

	for (size_t i = 0; brick != RUN_NONE && i < run->point_count; i++) {
		struct run_step *step = step_counted_by(run, brick, &run->points[i]);
		if (step)
			step->tokens += number_of_double(run->points[i].value);
	}
}

/* The values of a step's counters. */
struct told {
	int32_t context;  /* -1: not known */
	int32_t drafter;  /* the context that drafts, + 1; 0: none */
	uint32_t refuted; /* drafts */
};

enum counter { CONTEXT, CHECKED, DRAFTER, REFUTED, COUNTERS };

static uint32_t build_steps_whole(double value)
{
	return value >= 0 && value < MAX_NUMBER ? (uint32_t)value : 0;
}

static void hear(struct run_step *step, struct told *told, enum counter counter, double value)
{
	switch (counter) {
	case CONTEXT:
		told->context = value < 0 ? -1 : (int32_t)build_steps_whole(value);
		break;
	case CHECKED:
		step->checked = build_steps_whole(value);
		break;
	case DRAFTER:
		told->drafter = (int32_t)build_steps_whole(value) + 1;
		break;
	default:
		told->refuted = build_steps_whole(value);
	}
}

static bool find_counters(const struct run *run, uint32_t *bricks)
{
	static const char *const names[COUNTERS] = {
		BRICK_CONTEXT_NAME, BRICK_CHECKED_NAME, BRICK_DRAFTER_NAME, BRICK_REFUTED_NAME};

	for (int k = 0; k < COUNTERS; k++)
		bricks[k] = run_brick_find(run, names[k]);
	return bricks[CHECKED] != RUN_NONE;
}

static void hear_all(struct run *run, struct told *told, const uint32_t *bricks)
{
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *point = &run->points[i];
		int k = 0;
		while (k < COUNTERS && bricks[k] != point->brick)
			k++;
		struct run_step *step = k < COUNTERS && point->kind == RUN_POINT_COUNTER
						? step_at(run, point->lane, point->ns)
						: NULL;
		if (step)
			hear(step, &told[step - run->steps], (enum counter)k, point->value);
	}
}

/* A context's key; numbers of contexts are unique in a process only. */
static uint64_t context_key(const struct run *run, uint32_t lane, int32_t context)
{
	return (uint64_t)run->lanes[lane].process << 32 | (uint32_t)context;
}

static void build_steps_take(struct run_step *step, uint64_t tokens)
{
	tokens = tokens < step->tokens ? tokens : step->tokens;
	step->drafts += tokens;
	step->tokens -= tokens;
	step->output_tokens -= tokens < step->output_tokens ? tokens : step->output_tokens;
}

/* Take refuted drafts from the context's earlier steps, the last step first. */
static void take_refuted(
	struct run *run, const struct told *told, size_t at, uint64_t key, uint64_t left)
{
	for (size_t i = at, back = 0; left && i-- && back < MAX_BACK; back++) {
		struct run_step *step = &run->steps[i];
		uint64_t can = step->checked > step->drafts ? step->checked - step->drafts : 0;
		if (!can || context_key(run, step->lane, told[i].context) != key)
			continue;
		uint64_t some = left < can ? left : can;
		build_steps_take(step, some);
		left -= some;
	}
}

static bool build_steps_is_between(struct run *run, size_t at, uint32_t brick)
{
	const struct run_point *p = &run->points[at];

	return p->brick == brick && p->kind == RUN_POINT_COUNTER && !step_at(run, p->lane, p->ns);
}

/* The thread's point right before that one may say which context is meant. */
static int32_t context_before(struct run *run, size_t at, uint32_t brick)
{
	uint32_t lane = run->points[at].lane;

	for (size_t i = at, back = 0; i-- && back < MAX_BACK; back++)
		if (run->points[i].lane == lane)
			return build_steps_is_between(run, i, brick)
				       ? (int32_t)build_steps_whole(run->points[i].value)
				       : 0;
	return 0;
}

/* Take refuted drafts that counters between the steps report. */
static void take_between(struct run *run, const struct told *told, const uint32_t *bricks)
{
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		if (!build_steps_is_between(run, i, bricks[REFUTED]))
			continue;
		size_t at = BISECT(k, 0, run->step_count, run->steps[k].begin_ns <= p->ns);
		int32_t context = context_before(run, i, bricks[CONTEXT]);
		take_refuted(run, told, at, context_key(run, p->lane, context),
			build_steps_whole(p->value));
	}
}

/* The last tokens of a sequence. */
struct past {
	uint32_t event; /* index in run->sequence_events */
	bool is_back;	/* a state was loaded after they had checked drafts */
	bool is_undone; /* ... and the sequence was cut to where they begin: they do not count */
};

/*
 * A model that keeps a state goes back to before all drafts if one does not hold, and evaluates
 * again what held, with the token that was chosen behind: only this one counts then.
 */
static void hear_tokens(struct run *run, struct past *past, uint32_t at)
{
	const struct run_sequence_event *e = &run->sequence_events[at];
	const struct run_sequence_event *before = &run->sequence_events[past->event];
	bool is_again = past->is_undone && e->position == before->position && !e->prompt &&
			e->tokens > 1 && e->tokens <= before->tokens;

	if (is_again) {
		struct run_step *step = &run->steps[e->step], *first = &run->steps[before->step];
		uint64_t held = e->tokens - 2;
		held = held < first->drafts ? held : first->drafts;
		first->drafts -= held;
		first->tokens += held;
		first->output_tokens += held;
		held = e->tokens - 1;
		step->tokens -= held < step->tokens ? held : step->tokens;
		step->output_tokens -= held < step->output_tokens ? held : step->output_tokens;
		step->checked -= held < step->checked ? (uint32_t)held : step->checked;
	}
	*past = (struct past){.event = at};
}

static bool checks_drafts(const struct run *run, const struct run_sequence_event *e)
{
	return e->tokens > 1 && !e->prompt && e->position >= 0 &&
	       run->steps[e->step].outcome == RUN_EVALUATED && run->steps[e->step].checked;
}

static int take_undone(struct run *run)
{
	ARRAY(struct past) pasts = {0};
	struct hashmap map = {0};
	int error = 0;

	for (uint32_t i = 0; i < run->sequence_event_count && !error; i++) {
		const struct run_sequence_event *e = &run->sequence_events[i];
		uint64_t key = hash_add(context_key(run, e->lane, e->model), (uint32_t)e->sequence);
		uint64_t at = hashmap_get(&map, key);
		bool has_tokens = e->event == BRICK_SEQUENCE_TOKENS && e->step != RUN_NONE &&
				  !run->steps[e->step].is_draft;
		if (has_tokens && at == HASHMAP_NONE)
			error = array_push(&pasts, (struct past){.event = i})
					?: hashmap_set(&map, key, pasts.count - 1);
		if (at == HASHMAP_NONE)
			continue;
		struct past *past = &pasts.items[at];
		if (has_tokens)
			hear_tokens(run, past, i);
		else if (e->event == BRICK_SEQUENCE_LOADED)
			past->is_back = checks_drafts(run, &run->sequence_events[past->event]);
		else if (e->event == BRICK_SEQUENCE_REMOVED) {
			const struct run_sequence_event *before =
				&run->sequence_events[past->event];
			if (past->is_back && e->position == before->position) {
				build_steps_take(&run->steps[before->step], before->tokens - 1);
				past->is_undone = true;
			}
			past->is_back = false;
		}
	}
	array_fini(&pasts);
	hashmap_fini(&map);
	return error;
}

static int finish_drafts(struct run *run)
{
	SCOPED struct told *told = calloc(run->step_count + 1, sizeof(*told));
	struct hashmap drafting = {0};
	uint32_t bricks[COUNTERS];
	int error = told ? 0 : -ENOMEM;

	if (error || !find_counters(run, bricks))
		return error;
	hear_all(run, told, bricks);
	for (size_t i = 0; i < run->step_count && !error; i++)
		if (told[i].drafter)
			error = hashmap_set(&drafting,
				context_key(run, run->steps[i].lane, told[i].drafter - 1), 1);
	for (size_t i = 0; i < run->step_count; i++) {
		struct run_step *step = &run->steps[i];
		uint64_t key = context_key(run, step->lane, told[i].context);
		step->is_draft = told[i].context >= 0 && step->phase != BRICK_PHASE_WARM_UP &&
				 hashmap_get(&drafting, key) != HASHMAP_NONE;
		if (step->is_draft) {
			step->checked = 0;
			build_steps_take(step, step->tokens);
		} else {
			take_refuted(run, told, i, key, told[i].refuted);
		}
	}
	take_between(run, told, bricks);
	hashmap_fini(&drafting);
	return error ?: take_undone(run);
}

COMPARATOR(by_lane, struct run_expert,
	ORDER(x->lane, y->lane) ?: ORDER(x->ns, y->ns) ?: ORDER(x->step, y->step))

static void finish_experts(struct run *run)
{
	if (run->expert_count)
		qsort(run->experts, run->expert_count, sizeof(*run->experts), by_lane);
	for (size_t i = 0; i < run->expert_count; i++) {
		struct run_expert *e = &run->experts[i];
		const struct run_step *step = step_at(run, e->lane, e->ns);
		e->step = step ? (uint32_t)(step - run->steps) : RUN_NONE;
	}
}

COMPARATOR(build_steps_by_age, struct run_memory,
	ORDER(x->ns, y->ns) ?: ORDER(x->lane, y->lane) ?: ORDER(x->step, y->step))

static void finish_memory(struct run *run)
{
	if (run->memory_count)
		qsort(run->memories, run->memory_count, sizeof(*run->memories), build_steps_by_age);
	for (size_t i = 0; i < run->memory_count; i++) {
		struct run_memory *m = &run->memories[i];
		const struct run_step *step = step_at(run, m->lane, m->ns);
		m->step = step ? (uint32_t)(step - run->steps) : RUN_NONE;
	}
}

COMPARATOR(build_steps_by_time, struct run_sequence_event,
	ORDER(x->ns, y->ns) ?: ORDER(x->lane, y->lane) ?: ORDER(x->step, y->step))

/* Finds the sequences that steps evaluate; the model of a step follows from them. */
static void finish_sequences(struct run *run)
{
	if (run->sequence_event_count)
		qsort(run->sequence_events, run->sequence_event_count,
			sizeof(*run->sequence_events), build_steps_by_time);
	for (size_t i = 0; i < run->sequence_event_count; i++) {
		struct run_sequence_event *event = &run->sequence_events[i];
		struct run_step *step = step_at(run, event->lane, event->ns);
		event->step = step ? (uint32_t)(step - run->steps) : RUN_NONE;
		if (step && event->event == BRICK_SEQUENCE_TOKENS &&
			event->model != BRICK_SEQUENCE_NO_MODEL)
			step->model = event->model;
	}
}

int build_steps_finish(struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++) {
		struct run_step *step = &run->steps[i];
		const struct run_sample *sample = &run->lanes[step->lane].samples[step->sample];
		const struct run_site *site = &run->sites[sample->site];
		step->phase = build_steps_phase_of(run->bricks[site->brick].well_known);
		step->output_tokens = site->output_tokens;
		step->tokens = site->elements;
		step->begin_ns = sample->begin_ns;
		step->end_ns = sample->end_ns;
		step->open = sample->flags & RUN_SAMPLE_OPEN;
		step->model = RUN_NONE;
		if (i % STEPS_RELEASED == STEPS_RELEASED - 1)
			run_release(run);
	}
	if (run->step_count)
		qsort(run->steps, run->step_count, sizeof(*run->steps), build_steps_by_begin);
	finish_sequences(run);
	finish_experts(run);
	finish_memory(run);
	take_added(run);
	take_outcome(run, BRICK_REFUSED_NAME, RUN_REFUSED);
	take_outcome(run, BRICK_ABORTED_NAME, RUN_ABORTED);
	return finish_drafts(run);
}
