/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/accounts/slow_step.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/percentile.h"
#include "analysis/steps/step_times.h"
#include "analysis/walk/step_index.h"
#include "analysis/walk/walk.h"
#include "base/scope.h"

/* A part's time in one step. */
struct part_time {
	uint64_t ns, preempted_ns, blocked_ns;
};

/* Of chosen steps; the slow one is the first. */
struct parts {
	const struct step_index *index;
	size_t columns;	     /* bricks, and one for waits of a run without BarrierWait */
	uint32_t wait_brick; /* column of waits */
	uint32_t steps[SLOW_STEP_NEIGHBOURS + 1];
	size_t count;
	uint32_t *row_of;	 /* [step_count]: row + 1; 0: the step is not chosen */
	struct part_time *times; /* [count][columns] */
};

static void slow_step_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct parts *p = context;

	if (frame->step == RUN_NONE || !p->row_of[frame->step] ||
		(frame->scope != WALK_IN_STEP && frame->scope != WALK_AFTER))
		return;
	struct part_time *row = p->times + (p->row_of[frame->step] - 1) * p->columns;
	const struct walk_shares s = walk_shares(p->index, frame);
	row[frame->brick].ns += frame->counted.self_ns;
	row[frame->brick].preempted_ns += s.own_off.preempted_ns;
	row[frame->brick].blocked_ns += s.own_off.blocked_ns;
	row[p->wait_brick].ns += frame->counted.inner_ns + frame->counted.wait_ns;
	row[p->wait_brick].preempted_ns += s.wait_off.preempted_ns;
	row[p->wait_brick].blocked_ns += s.wait_off.blocked_ns;
}

/* Adds the steps next to it by begin that are like it, in turns on both sides. */
static void choose(struct parts *p, const struct run *run, bool same_tokens)
{
	const struct run_step *slow = &run->steps[p->steps[0]];
	uint32_t process = run->lanes[slow->lane].process;
	uint32_t first = p->index->process_first[process];
	uint32_t end = p->index->process_first[process + 1], place = first;

	while (place < end && p->index->by_process[place] != p->steps[0])
		place++;
	p->count = 1;
	for (uint32_t away = 1; away < end - first && p->count <= SLOW_STEP_NEIGHBOURS; away++)
		for (int side = -1; side <= 1; side += 2) {
			if (side < 0 ? place - first < away : place + away >= end)
				continue;
			uint32_t step =
				p->index->by_process[side < 0 ? place - away : place + away];
			const struct run_step *s = &run->steps[step];
			if (p->count <= SLOW_STEP_NEIGHBOURS && s->phase == slow->phase &&
				s->lane == slow->lane && s->is_draft == slow->is_draft &&
				step_index_is_evaluated(p->index, run, step) &&
				(!same_tokens || s->tokens == slow->tokens))
				p->steps[p->count++] = step;
		}
}

static uint64_t median(uint64_t *values, size_t count)
{
	percentile_sort(values, count);
	return values[(count - 1) / 2];
}

static uint64_t growth(const struct slow_step_part *part)
{
	return part->took_ns > part->usual_ns ? part->took_ns - part->usual_ns : 0;
}

/* Keeps those that grew most. */
static void keep_part(struct slow_step *out, const struct slow_step_part *part)
{
	size_t at = out->part_count;

	while (at && growth(&out->parts[at - 1]) < growth(part))
		at--;
	if (at == SLOW_STEP_PARTS)
		return;
	out->part_count += out->part_count < SLOW_STEP_PARTS;
	memmove(&out->parts[at + 1], &out->parts[at],
		(out->part_count - 1 - at) * sizeof(out->parts[0]));
	out->parts[at] = *part;
}

static void compare(struct slow_step *out, const struct parts *p, const struct run *run,
	const struct step_times *times)
{
	uint64_t of_others[SLOW_STEP_NEIGHBOURS];

	for (size_t i = 1; i < p->count; i++)
		of_others[i - 1] = step_time_total_ns(&times->steps[p->steps[i]]);
	out->neighbours = p->count - 1;
	out->took_ns = step_time_total_ns(&times->steps[out->step]);
	out->usual_ns = median(of_others, out->neighbours);
	uint64_t more_ns = out->took_ns > out->usual_ns ? out->took_ns - out->usual_ns : 0;
	for (size_t b = 0; b < p->columns; b++) {
		const struct part_time *own = &p->times[b];
		bool is_step = b < run->brick_count && p->index->kinds[b] == BRICK_KIND_STEP;
		struct slow_step_part part = {.took_ns = own->ns,
			.preempted_ns = own->preempted_ns,
			.blocked_ns = own->blocked_ns,
			.brick = is_step		? NULL
				 : b < run->brick_count ? run->bricks[b].name
							: brick_name(BRICK_BARRIER_WAIT)};
		for (size_t i = 1; i < p->count; i++)
			of_others[i - 1] = p->times[i * p->columns + b].ns;
		part.usual_ns = median(of_others, out->neighbours);
		if (growth(&part) && growth(&part) >= more_ns / 20)
			keep_part(out, &part);
	}
}

static uint64_t others_preempted_ns(const struct run *run, const struct run_step *step)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < run->lane_count; i++)
		if (i != step->lane && run->lanes[i].process == run->lanes[step->lane].process)
			ns += run_off_cpu_between(&run->lanes[i], step->begin_ns, step->end_ns)
				      .preempted_ns;
	return ns;
}

/* With the walk over the run. */
static int measure(struct slow_step *out, struct parts *p, const struct run *run)
{
	static const struct walk_ops ops = {.end = slow_step_on_end};
	struct step_times times;
	struct walk walk;

	choose(p, run, true);
	if (p->count <= SLOW_STEP_LEAST)
		choose(p, run, false);
	if (p->count <= SLOW_STEP_LEAST)
		return 0;
	SCOPED uint32_t *row_of = calloc(run->step_count, sizeof(*row_of));
	SCOPED struct part_time *parts = calloc(p->count * p->columns, sizeof(*parts));
	if (!row_of || !parts)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++)
		row_of[p->steps[i]] = (uint32_t)i + 1;
	p->row_of = row_of;
	p->times = parts;
	walk_init(&walk, run, p->index);
	int error = step_times_init(&times, &walk);
	if (error)
		return error;
	walk_join(&walk, &ops, p);
	error = walk_run(&walk);
	if (error >= 0)
		compare(out, p, run, &times);
	step_times_fini(&times);
	return error < 0 ? error : 1;
}

int slow_step_at(struct slow_step *out, const struct run *run, uint64_t ns)
{
	enum { ROUNDING_NS = 2 }; /* of the mark's time and of the step's */
	struct step_index index;
	struct parts parts = {.index = &index, .wait_brick = walk_wait_brick(run)};
	int result = 0;

	*out = (struct slow_step){.step = RUN_NONE};
	parts.columns = run->brick_count + (parts.wait_brick == run->brick_count);
	int error = step_index_init(&index, run);
	if (error)
		return error;
	for (uint32_t i = 0; i < run->step_count && out->step == RUN_NONE; i++)
		if (index.finished[i] && run->steps[i].begin_ns + ROUNDING_NS >= ns &&
			run->steps[i].begin_ns <= ns + ROUNDING_NS)
			out->step = i;
	if (out->step != RUN_NONE) {
		parts.steps[0] = out->step;
		out->number = step_number(run, &index, out->step);
		out->others_preempted_ns = others_preempted_ns(run, &run->steps[out->step]);
		result = measure(out, &parts, run);
	}
	step_index_fini(&index);
	return result;
}
