/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speculative decoding: a step's tokens are those of the model whose text it is. What a model that
 * drafts evaluated are none, nor are drafts that did not hold, which a later step of the context
 * tells, or that they are taken out: they belong to the last one that checked so many. Counters
 * within the steps and between them say it (brick/abi/step_counters.h).
 */
#include <errno.h>
#include <stdlib.h>
#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/step_counters.h"
#include "trace/build.h"

enum { MAX_BACK = 256, MAX_NUMBER = 1 << 20 };

/* What the counters of a step say. */
struct told {
	int32_t context; /* -1: not known */
	int32_t drafter; /* + 1; 0: none */
	uint32_t refuted;
};

enum counter { CONTEXT, CHECKED, DRAFTER, REFUTED, COUNTERS };

static uint32_t whole(double value)
{
	return value >= 0 && value < MAX_NUMBER ? (uint32_t)value : 0;
}

static void hear(struct run_step *step, struct told *told, enum counter counter, double value)
{
	switch (counter) {
	case CONTEXT:
		told->context = value < 0 ? -1 : (int32_t)whole(value);
		break;
	case CHECKED:
		step->checked = whole(value);
		break;
	case DRAFTER:
		told->drafter = (int32_t)whole(value) + 1;
		break;
	default:
		told->refuted = whole(value);
	}
}

static int find_counters(const struct run *run, uint32_t *bricks)
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
						? build_step_at(run, point->lane, point->ns)
						: NULL;
		if (step)
			hear(step, &told[step - run->steps], (enum counter)k, point->value);
	}
}

/* Of one process. */
static uint64_t context_key(const struct run *run, uint32_t lane, int32_t context)
{
	return (uint64_t)run->lanes[lane].process << 32 | (uint32_t)context;
}

static void take(struct run_step *step, uint64_t tokens)
{
	tokens = tokens < step->tokens ? tokens : step->tokens;
	step->drafts += tokens;
	step->tokens -= tokens;
	step->output_tokens -= tokens < step->output_tokens ? tokens : step->output_tokens;
}

/* By the context's steps before that one, the last first. */
static void take_refuted(
	struct run *run, const struct told *told, size_t at, uint64_t key, uint64_t left)
{
	for (size_t i = at, back = 0; left && i-- && back < MAX_BACK; back++) {
		struct run_step *step = &run->steps[i];
		uint64_t can = step->checked > step->drafts ? step->checked - step->drafts : 0;
		if (!can || context_key(run, step->lane, told[i].context) != key)
			continue;
		uint64_t some = left < can ? left : can;
		take(step, some);
		left -= some;
	}
}

static int is_between(struct run *run, size_t at, uint32_t brick)
{
	const struct run_point *p = &run->points[at];

	return p->brick == brick && p->kind == RUN_POINT_COUNTER &&
	       !build_step_at(run, p->lane, p->ns);
}

/* The thread's point right before that one may say which context is meant. */
static int32_t context_before(struct run *run, size_t at, uint32_t brick)
{
	uint32_t lane = run->points[at].lane;

	for (size_t i = at, back = 0; i-- && back < MAX_BACK; back++)
		if (run->points[i].lane == lane)
			return is_between(run, i, brick) ? (int32_t)whole(run->points[i].value) : 0;
	return 0;
}

/* What is said between steps. */
static void take_between(struct run *run, const struct told *told, const uint32_t *bricks)
{
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		if (!is_between(run, i, bricks[REFUTED]))
			continue;
		size_t at = BISECT(k, 0, run->step_count, run->steps[k].begin_ns <= p->ns);
		int32_t context = context_before(run, i, bricks[CONTEXT]);
		take_refuted(run, told, at, context_key(run, p->lane, context), whole(p->value));
	}
}

int build_drafts_finish(struct run *run)
{
	SCOPED struct told *told = calloc(run->step_count + 1, sizeof *told);
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
			take(step, step->tokens);
		} else {
			take_refuted(run, told, i, key, told[i].refuted);
		}
	}
	take_between(run, told, bricks);
	hashmap_fini(&drafting);
	return error;
}
