/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speculative decoding: a step's tokens are those of the model whose text it is. What a model that
 * drafts evaluated are none, nor are drafts that did not hold, which a later step of the context
 * tells: they belong to the last one that checked so many. Counters within the steps say it
 * (brick/abi/step_counters.h).
 */
#include <errno.h>
#include <stdlib.h>
#include "base/hashmap.h"
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

static int hear_all(struct run *run, struct told *told)
{
	static const char *const names[COUNTERS] = {
		BRICK_CONTEXT_NAME, BRICK_CHECKED_NAME, BRICK_DRAFTER_NAME, BRICK_REFUTED_NAME};
	uint32_t bricks[COUNTERS];

	for (int k = 0; k < COUNTERS; k++)
		bricks[k] = run_brick_find(run, names[k]);
	if (bricks[CHECKED] == RUN_NONE)
		return 0;
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
	return 1;
}

/* Of one process. */
static uint64_t context_key(const struct run *run, const struct run_step *step, int32_t context)
{
	return (uint64_t)run->lanes[step->lane].process << 32 | (uint32_t)context;
}

static void take(struct run_step *step, uint64_t tokens)
{
	tokens = tokens < step->tokens ? tokens : step->tokens;
	step->drafts += tokens;
	step->tokens -= tokens;
	step->output_tokens -= tokens < step->output_tokens ? tokens : step->output_tokens;
}

/* By the context's steps before this one, the last first. */
static void take_refuted(struct run *run, const struct told *told, size_t at)
{
	uint64_t key = context_key(run, &run->steps[at], told[at].context);
	uint64_t left = told[at].refuted;

	for (size_t i = at, back = 0; left && i-- && back < MAX_BACK; back++) {
		struct run_step *step = &run->steps[i];
		uint64_t can = step->checked > step->drafts ? step->checked - step->drafts : 0;
		if (!can || context_key(run, step, told[i].context) != key)
			continue;
		uint64_t some = left < can ? left : can;
		take(step, some);
		left -= some;
	}
}

int build_drafts_finish(struct run *run)
{
	SCOPED struct told *told = calloc(run->step_count + 1, sizeof *told);
	struct hashmap drafting = {0};
	int error = told ? 0 : -ENOMEM;

	if (error || !hear_all(run, told))
		return error;
	for (size_t i = 0; i < run->step_count && !error; i++)
		if (told[i].drafter)
			error = hashmap_set(&drafting,
				context_key(run, &run->steps[i], told[i].drafter - 1), 1);
	for (size_t i = 0; i < run->step_count; i++) {
		struct run_step *step = &run->steps[i];
		uint64_t key = context_key(run, step, told[i].context);
		step->is_draft = told[i].context >= 0 && step->phase != BRICK_PHASE_WARM_UP &&
				 hashmap_get(&drafting, key) != HASHMAP_NONE;
		if (step->is_draft) {
			step->checked = 0;
			take(step, step->tokens);
		} else {
			take_refuted(run, told, i);
		}
	}
	hashmap_fini(&drafting);
	return error;
}
