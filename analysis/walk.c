/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the stack of open samples of one lane and decides whose account each belongs to. Nesting is
 * taken from the samples' depths, never from their times, so that a clock that steps back can
 * shorten a sample but not count it twice. Called by the summary and the tree of a step.
 */
#include "analysis/walk.h"

#include <stddef.h>

enum { FRAMES = UINT8_MAX + 2 }; /* depths 0..255 and the lane itself below them */

struct walk {
	const struct run *run;
	const struct step_index *index;
	const struct walk_visitor *visitor;
	const struct run_lane *lane;
	bool drives;
	uint32_t own, own_end;	       /* the lane's next step in index->by_lane */
	uint32_t process, process_end; /* the step to begin next in index->by_process */
	unsigned depth;
	struct walk_frame frames[FRAMES];
};

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* The last step of the lane's process that had begun by then, on any lane; RUN_NONE if none had. */
static uint32_t step_before(struct walk *w, uint64_t ns)
{
	const struct run_step *steps = w->run->steps;
	const uint32_t *order = w->index->by_process;
	while (w->process < w->process_end && steps[order[w->process]].begin_ns <= ns)
		w->process++;
	uint32_t first = w->index->process_first[w->lane->process];
	return w->process > first ? order[w->process - 1] : RUN_NONE;
}

static void place(struct walk *w, struct walk_frame *frame, const struct walk_frame *parent)
{
	/* What holds steps is in no account, but what stands between those steps is. */
	frame->scope = parent->holds_step ? WALK_OUTSIDE : parent->scope;
	frame->step = parent->holds_step ? RUN_NONE : parent->step;
	if (frame->scope != WALK_OUTSIDE)
		return;

	const struct run *run = w->run;
	uint32_t step = step_before(w, frame->sample->begin_ns);
	if (step == RUN_NONE)
		return;
	const struct run_brick *brick = &run->bricks[frame->brick];
	bool sampling = brick->well_known == BRICK_SAMPLING;
	bool during = frame->sample->begin_ns < run->steps[step].end_ns;
	if (w->drives)
		frame->scope = WALK_AFTER;
	else if (during && !sampling)
		frame->scope = WALK_ALONGSIDE;
	else if (sampling)
		frame->scope = WALK_AFTER;
	if (frame->scope != WALK_OUTSIDE)
		frame->step = step;
}

static void mark_holders(struct walk *w)
{
	for (unsigned i = 1; i < w->depth; i++)
		w->frames[i].holds_step = true;
}

/* Whether a frame is an outermost step, which decides for all that is nested in it. */
static void find_step(struct walk *w, struct walk_frame *frame, const struct walk_frame *parent)
{
	const struct run_step *steps = w->run->steps;
	const uint32_t *order = w->index->by_lane;
	while (w->own < w->own_end && steps[order[w->own]].sample < frame->index)
		w->own++;
	if (w->own == w->own_end || steps[order[w->own]].sample != frame->index)
		return;
	if (parent->scope == WALK_IN_STEP || parent->scope == WALK_UNFINISHED)
		return;
	mark_holders(w);
	uint32_t step = order[w->own];
	frame->is_step = w->index->finished[step];
	frame->scope = frame->is_step ? WALK_IN_STEP : WALK_UNFINISHED;
	frame->step = frame->is_step ? step : RUN_NONE;
}

static void push(struct walk *w, uint32_t i)
{
	const struct walk_frame *parent = &w->frames[w->depth];
	const struct run_sample *sample = &w->lane->samples[i];
	struct walk_frame *frame = &w->frames[++w->depth];
	frame->sample = sample;
	frame->index = i;
	frame->brick = w->run->sites[sample->site].brick;
	frame->is_step = frame->holds_step = false;
	frame->begin_ns = clamp(sample->begin_ns, parent->cursor_ns, parent->end_ns);
	frame->end_ns = clamp(sample->end_ns, frame->begin_ns, parent->end_ns);
	frame->nested_ns = 0;
	frame->cursor_ns = frame->begin_ns;
	place(w, frame, parent);

	find_step(w, frame, parent);
	if (w->visitor->begin)
		w->visitor->begin(w->visitor->context, frame, w->depth);
}

/* limit_ns: when the next sample at this level begins. */
static void pop(struct walk *w, uint64_t limit_ns)
{
	struct walk_frame *frame = &w->frames[w->depth], *parent = frame - 1;
	frame->length_ns = frame->end_ns - frame->begin_ns;
	uint64_t own_ns = frame->length_ns - frame->nested_ns;
	frame->inner_ns = frame->sample->inner_ns < own_ns ? frame->sample->inner_ns : own_ns;
	frame->self_ns = own_ns - frame->inner_ns;
	limit_ns = clamp(limit_ns, frame->end_ns, parent->end_ns);
	uint64_t room_ns = limit_ns - frame->end_ns;
	frame->wait_ns = frame->sample->wait_ns < room_ns ? frame->sample->wait_ns : room_ns;
	if (frame->holds_step) {
		frame->scope = WALK_OUTSIDE;
		frame->step = RUN_NONE;
	}
	parent->nested_ns += frame->length_ns + frame->wait_ns;
	parent->cursor_ns = frame->end_ns + frame->wait_ns;
	if (w->visitor->end)
		w->visitor->end(w->visitor->context, frame, w->depth);
	w->depth--;
}

/* Whether next stands beside the innermost open sample, rather than beside one that holds it. */
static bool is_sibling(const struct walk *w, const struct run_sample *next)
{
	return w->depth == 1 || w->frames[w->depth - 1].sample->depth < next->depth;
}

/* What was popped late is no holder: a tile has no part in where others end. */
static void name_tile(struct walk *w, uint32_t i)
{
	unsigned holder = w->depth;
	while (holder && w->frames[holder].sample->depth >= w->lane->samples[i].depth)
		holder--;
	w->visitor->tile(w->visitor->context, &w->frames[holder], i);
}

void walk_samples(const struct run *run, const struct step_index *index, uint32_t lane,
	size_t first, size_t end, const struct walk_visitor *visitor)
{
	struct walk w;
	w.run = run;
	w.index = index;
	w.visitor = visitor;
	w.lane = &run->lanes[lane];
	w.drives = step_index_drives(index, lane);
	w.own = index->lane_first[lane];
	w.own_end = index->lane_first[lane + 1];
	w.process = index->process_first[w.lane->process];
	w.process_end = index->process_first[w.lane->process + 1];
	w.depth = 0;
	w.frames[0] =
		(struct walk_frame){.step = RUN_NONE, .scope = WALK_OUTSIDE, .end_ns = UINT64_MAX};

	const struct run_sample *samples = w.lane->samples;
	for (size_t i = first; i < end; i++) {
		if (index->kinds[run->sites[samples[i].site].brick] == BRICK_KIND_TILE) {
			if (visitor->tile)
				name_tile(&w, (uint32_t)i);
			continue;
		}
		while (w.depth && w.frames[w.depth].sample->depth >= samples[i].depth)
			pop(&w, is_sibling(&w, &samples[i]) ? samples[i].begin_ns : UINT64_MAX);
		push(&w, (uint32_t)i);
	}
	while (w.depth)
		pop(&w, UINT64_MAX);
}

void walk_lane(const struct run *run, const struct step_index *index, uint32_t lane,
	const struct walk_visitor *visitor)
{
	walk_samples(run, index, lane, 0, run->lanes[lane].sample_count, visitor);
}
