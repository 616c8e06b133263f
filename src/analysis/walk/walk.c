/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the stack of open samples of one lane, finds the account of each, and calls the
 * accumulators that joined. Nesting is taken from the depths of samples, never from their times, so
 * that a clock that steps back can shorten a sample, but not count it twice.
 */
#include "analysis/walk/walk.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/scope.h"

enum {
	FRAMES = UINT8_MAX + 2, /* depths 0..255 and the lane itself below them */
	AHEAD = 16,		/* samples that are prefetched ahead of the walk */
};

/* A lane's accumulators, by the calls that they want. */
struct calls {
	struct call {
		void (*frame)(void *context, const struct walk_frame *frame, unsigned depth);
		void (*tile)(void *context, const struct walk_frame *holder, uint32_t sample);
		void (*piece)(void *context, const struct walk_frame *frame, uint64_t begin_ns,
			uint64_t end_ns);
		void *context;
	} begin[WALK_JOINED_MAX], end[WALK_JOINED_MAX], tile[WALK_JOINED_MAX],
		piece[WALK_JOINED_MAX];
	size_t begin_count, end_count, tile_count, piece_count;
};

struct walk_lane {
	const struct run *run;
	const struct step_index *index;
	const struct run_lane *lane;
	uint32_t number;       /* the lane's */
	bool drives;	       /* the lane's owner has run a step before the frame */
	bool has_steps;	       /* the lane's process has steps */
	uint64_t handover_ns;  /* when the lane's next owner takes it; UINT64_MAX: never */
	uint32_t own_first;    /* the owner's first step in index->by_lane */
	uint32_t own, own_end; /* the lane's next step in index->by_lane, and the last's end */
	uint32_t own_sample;   /* sample of the step `own`; RUN_NONE: no more steps */
	/* places in index->by_process: first step, next step to begin, end */
	uint32_t process_first, process, process_end;
	uint64_t process_ns; /* begin of the step `process`; UINT64_MAX: no more steps */
	size_t next, end;    /* samples that are still to be fed */
	unsigned depth;	     /* of the innermost open frame; 0: none */
	struct walk_frame frames[FRAMES]; /* by depth; [0] is the lane's own */
	struct calls calls;
};

/*
 * Splits a frame's time off the CPU between its self time and its inner waiting, as the place of
 * inner waiting is not known. Blocked time goes to the waiting first, because most waiting is
 * blocked. Preempted time goes to the self time, unless that is too short.
 */
static void find_off(const struct run_lane *lane, struct walk_frame *frame)
{
	struct walk_frame *parent = frame - 1;
	uint64_t end_ns = frame->end_ns + frame->wait_ns;

	frame->off = frame->all_off = frame->inner_off = frame->wait_off =
		(struct run_off_times){0};
	if (!lane->off_cpu_count)
		return;
	frame->all_off = run_off_cpu_between(lane, frame->begin_ns, frame->end_ns);
	frame->wait_off = run_off_cpu_between(lane, frame->end_ns, end_ns);
	uint64_t blocked_ns = number_minus(frame->all_off.blocked_ns, frame->nested_off.blocked_ns);
	uint64_t preempted_ns =
		number_minus(frame->all_off.preempted_ns, frame->nested_off.preempted_ns);
	if (preempted_ns > frame->self_ns)
		frame->inner_off.preempted_ns = number_min(preempted_ns, frame->inner_ns);
	frame->off.preempted_ns =
		number_min(preempted_ns - frame->inner_off.preempted_ns, frame->self_ns);
	frame->off.blocked_ns = number_min(number_minus(blocked_ns, frame->inner_ns),
		frame->self_ns - frame->off.preempted_ns);
	frame->inner_off.blocked_ns = number_min(blocked_ns - frame->off.blocked_ns,
		frame->inner_ns - frame->inner_off.preempted_ns);
	parent->nested_off.blocked_ns += frame->all_off.blocked_ns + frame->wait_off.blocked_ns;
	parent->nested_off.preempted_ns +=
		frame->all_off.preempted_ns + frame->wait_off.preempted_ns;
}

/* Takes preempted time out of ns, and blocked time unless the time is a wait; returns the rest. */
static uint64_t walk_take_off(
	struct run_off_times *taken, uint64_t ns, struct run_off_times off, bool waits)
{
	uint64_t preempted_ns = number_min(off.preempted_ns, ns); /* counted time may be shorter */
	uint64_t blocked_ns = waits ? 0 : number_min(off.blocked_ns, ns - preempted_ns);

	taken->preempted_ns += preempted_ns;
	taken->blocked_ns += blocked_ns;
	return ns - preempted_ns - blocked_ns;
}

struct walk_shares walk_shares(const struct step_index *index, const struct walk_frame *frame)
{
	const struct walk_times *counted = &frame->counted;
	struct walk_shares s = {0};
	bool waits = index->kinds[frame->brick] == BRICK_KIND_WAIT;

	s.own_ns = walk_take_off(&s.own_off, counted->self_ns, frame->off, waits);
	s.wait_ns = walk_take_off(&s.wait_off, counted->inner_ns, frame->inner_off, true);
	s.wait_ns += walk_take_off(&s.wait_off, counted->wait_ns, frame->wait_off, true);
	return s;
}

static uint64_t walk_clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static void find_begun(struct walk_lane *w, uint64_t ns)
{
	const struct run_step *steps = w->run->steps;
	const uint32_t *order = w->index->by_process;
	while (w->process < w->process_end && steps[order[w->process]].begin_ns <= ns)
		w->process++;
	w->process_ns =
		w->process < w->process_end ? steps[order[w->process]].begin_ns : UINT64_MAX;
}

/* Place in by_process of the last step that had begun at `ns`; RUN_NONE: none. Calls come by time.
 */
static uint32_t walk_last_begun(struct walk_lane *w, uint64_t ns)
{
	if (ns >= w->process_ns)
		find_begun(w, ns);
	return w->process > w->process_first ? w->process - 1 : RUN_NONE;
}

/* Moves on to the lane's first step whose sample is this one or a later one. */
static void walk_find_own(struct walk_lane *w, uint32_t sample)
{
	const uint32_t *order = w->index->by_lane;
	while (w->own < w->own_end && w->run->steps[order[w->own]].sample < sample)
		w->own++;
	w->own_sample = w->own < w->own_end ? w->run->steps[order[w->own]].sample : RUN_NONE;
}

/* Finds the lane's owner at `ns`, when w->own is the lane's next step. */
static void find_owner(struct walk_lane *w, uint64_t ns)
{
	const struct owners *owners = &w->index->owners;
	const struct run_step *steps = w->run->steps;
	const uint32_t *order = w->index->by_lane;
	size_t owner = owners_place(owners, w->number, ns), end = owners->lanes[w->number + 1];

	w->handover_ns = owner + 1 < end ? owners->all[owner + 1].ns : UINT64_MAX;
	w->own_first = w->own;
	while (w->own_first > w->index->lane_first[w->number] &&
		steps[order[w->own_first - 1]].begin_ns >= owners->all[owner].ns)
		w->own_first--;
}

/* The last finished step of the same thread before a sample outside of steps; RUN_NONE: none. */
static uint32_t walk_step_before(struct walk_lane *w, const struct walk_frame *frame)
{
	const uint32_t *order = w->index->by_lane;
	walk_find_own(w, frame->index);
	if (frame->sample->begin_ns >= w->handover_ns)
		find_owner(w, frame->sample->begin_ns);
	uint32_t own = w->own;
	while (own-- > w->own_first)
		if (w->index->finished[order[own]])
			return order[own];
	return RUN_NONE;
}

static uint64_t beside_steps_ns(const struct walk_lane *w, uint64_t begin_ns, uint64_t end_ns)
{
	return step_index_overlap(w->index, w->run, w->lane->process, begin_ns, end_ns);
}

/* Places a frame of a thread that has run no step so far: during a step, or sampling after one. */
static void place_beside(struct walk_lane *w, struct walk_frame *frame)
{
	bool samples = w->run->bricks[frame->brick].well_known == BRICK_SAMPLING &&
		       w->lane->kind == BRICK_LANE_THREAD;
	uint64_t begin_ns = frame->sample->begin_ns, length_ns = frame->end_ns - frame->begin_ns;
	uint32_t place = walk_last_begun(w, begin_ns);

	frame->step = step_index_open(w->index, w->run, place, begin_ns);
	if (!samples || place == RUN_NONE) {
		frame->scope = frame->step == RUN_NONE ? WALK_OUTSIDE : WALK_ALONGSIDE;
		return;
	}
	bool all_beside = frame->step != RUN_NONE &&
			  beside_steps_ns(w, frame->begin_ns, frame->end_ns) == length_ns;
	frame->scope = all_beside ? WALK_ALONGSIDE : WALK_AFTER;
	if (frame->step == RUN_NONE)
		frame->step = w->index->by_process[place];
}

/* Places a frame that lies in no step of its lane. Frames that hold steps are in no account. */
static void place_outside(struct walk_lane *w, struct walk_frame *frame)
{
	frame->scope = WALK_OUTSIDE;
	frame->step = RUN_NONE;
	if (!w->has_steps)
		return;
	frame->step = walk_step_before(w, frame);
	w->drives = frame->step != RUN_NONE;
	if (w->drives)
		frame->scope = WALK_AFTER;
	else
		place_beside(w, frame);
}

/* Marks a frame that is an outermost step; nested frames take its scope and step. */
static void walk_find_step(
	struct walk_lane *w, struct walk_frame *frame, const struct walk_frame *parent)
{
	walk_find_own(w, frame->index);
	if (w->own_sample != frame->index)
		return;
	if (parent->scope == WALK_IN_STEP || parent->scope == WALK_UNFINISHED)
		return;
	for (unsigned i = 1; i < w->depth; i++)
		w->frames[i].holds_step = true;
	uint32_t step = w->index->by_lane[w->own];
	frame->is_step = w->index->finished[step];
	frame->scope = frame->is_step ? WALK_IN_STEP : WALK_UNFINISHED;
	frame->step = frame->is_step ? step : RUN_NONE;
}

/* The frame was the innermost since its last nested frame. */
static void tell_piece(struct walk_lane *w, const struct walk_frame *frame, uint64_t end_ns)
{
	for (size_t k = 0; k < w->calls.piece_count; k++)
		w->calls.piece[k].piece(w->calls.piece[k].context, frame, frame->cursor_ns, end_ns);
}

static inline void walk_push(
	struct walk_lane *w, uint32_t i, const struct run_sample *sample, uint32_t brick)
{
	const struct walk_frame *parent = &w->frames[w->depth];
	struct walk_frame *frame = &w->frames[++w->depth];
	frame->sample = sample;
	frame->index = i;
	frame->brick = brick;
	frame->is_step = frame->holds_step = false;
	frame->begin_ns = walk_clamp(sample->begin_ns, parent->cursor_ns, parent->end_ns);
	frame->end_ns = walk_clamp(sample->end_ns, frame->begin_ns, parent->end_ns);
	frame->nested_ns = frame->beside_ns = 0;
	frame->nested_off = (struct run_off_times){0};
	frame->cursor_ns = frame->begin_ns;
	frame->scope = parent->scope;
	frame->step = parent->step;
	if (parent->holds_step || parent->scope == WALK_OUTSIDE)
		place_outside(w, frame);
	if (i >= w->own_sample)
		walk_find_step(w, frame, parent);
	if (w->depth > 1)
		tell_piece(w, parent, frame->begin_ns);
	for (size_t k = 0; k < w->calls.begin_count; k++)
		w->calls.begin[k].frame(w->calls.begin[k].context, frame, w->depth);
}

/* A step's account leaves out time that another thread spent while a step ran. */
static void leave_out_beside(struct walk_lane *w, struct walk_frame *frame)
{
	struct walk_frame *parent = frame - 1;
	struct walk_times *counted = &frame->counted;
	uint64_t beside_ns = beside_steps_ns(w, frame->begin_ns, frame->end_ns);
	uint64_t wait_beside_ns = beside_steps_ns(w, frame->end_ns, frame->end_ns + frame->wait_ns);
	uint64_t own_ns = frame->self_ns + frame->inner_ns;
	/* nested frames have their part; times of a broken file may contradict each other */
	uint64_t own_beside_ns = beside_ns > frame->beside_ns ? beside_ns - frame->beside_ns : 0;
	if (own_beside_ns > own_ns)
		own_beside_ns = own_ns;
	counted->length_ns -= beside_ns;
	counted->wait_ns -= wait_beside_ns;
	/* the place of inner waiting is not known, so it is reduced in proportion */
	if (own_beside_ns)
		counted->inner_ns = (uint64_t)((double)frame->inner_ns *
					       (double)(own_ns - own_beside_ns) / (double)own_ns);
	counted->self_ns = own_ns - own_beside_ns - counted->inner_ns;
	parent->beside_ns += beside_ns + wait_beside_ns;
}

static bool walk_knows_off(const struct walk_lane *w, const struct walk_frame *frame)
{
	int phase = frame->step == RUN_NONE ? -1 : (int)w->run->steps[frame->step].phase;
	return step_index_knows_off(w->index, phase);
}

/* Fills in the times of a frame that are valid in end(). */
static inline void walk_find_times(struct walk_lane *w, struct walk_frame *frame)
{
	uint64_t length_ns = frame->end_ns - frame->begin_ns;
	uint64_t own_ns = length_ns - frame->nested_ns, inner_ns = frame->sample->inner_ns;

	inner_ns = inner_ns < own_ns ? inner_ns : own_ns;
	frame->length_ns = length_ns;
	frame->self_ns = own_ns - inner_ns;
	frame->inner_ns = inner_ns;
	frame->counted =
		(struct walk_times){length_ns, own_ns - inner_ns, inner_ns, frame->wait_ns};
	if (frame->scope == WALK_AFTER && !w->drives)
		leave_out_beside(w, frame);
	if (w->lane->off_cpu_count && walk_knows_off(w, frame))
		find_off(w->lane, frame);
	else
		frame->off = frame->all_off = frame->inner_off = frame->wait_off =
			(struct run_off_times){0};
}

/* Ends the innermost frame. limit_ns: the begin of the next sample at this level. */
static inline void walk_pop(struct walk_lane *w, uint64_t limit_ns)
{
	struct walk_frame *frame = &w->frames[w->depth], *parent = frame - 1;
	uint64_t most_ns = walk_clamp(limit_ns, frame->end_ns, parent->end_ns) - frame->end_ns;

	frame->wait_ns = frame->sample->wait_ns < most_ns ? frame->sample->wait_ns : most_ns;
	if (frame->holds_step) {
		frame->scope = WALK_OUTSIDE;
		frame->step = RUN_NONE;
	}
	tell_piece(w, frame, frame->end_ns);
	if (w->calls.end_count)
		walk_find_times(w, frame);
	parent->nested_ns += frame->end_ns - frame->begin_ns + frame->wait_ns;
	parent->cursor_ns = frame->end_ns + frame->wait_ns;
	for (size_t k = 0; k < w->calls.end_count; k++)
		w->calls.end[k].frame(w->calls.end[k].context, frame, w->depth);
	w->depth--;
}

/* True if `next` stands beside the innermost open sample, not beside one that holds it. */
static bool is_sibling(const struct walk_lane *w, const struct run_sample *next)
{
	return w->depth == 1 || w->frames[w->depth - 1].sample->depth < next->depth;
}

/*
 * Finds the holder of a tile among the frames, some of which may be popped late: a tile has no part
 * in where others end.
 */
static void name_tile(struct walk_lane *w, uint32_t i)
{
	unsigned holder = w->depth;
	while (holder && w->frames[holder].sample->depth >= w->lane->samples[i].depth)
		holder--;
	for (size_t k = 0; k < w->calls.tile_count; k++)
		w->calls.tile[k].tile(w->calls.tile[k].context, &w->frames[holder], i);
}

/* Feeds the next sample, after the ends of those before it. */
static inline void feed_one(struct walk_lane *w, size_t i)
{
	const struct run_sample *sample = &w->lane->samples[i];
	uint32_t brick = w->run->sites[sample->site].brick;

	__builtin_prefetch(sample + AHEAD); /* processors prefetch within a page only */
	run_lane_passed(w->lane, i);
	if (w->index->kinds[brick] == BRICK_KIND_TILE) {
		if (w->calls.tile_count)
			name_tile(w, (uint32_t)i);
		return;
	}
	while (w->depth && w->frames[w->depth].sample->depth >= sample->depth)
		walk_pop(w, is_sibling(w, sample) ? sample->begin_ns : UINT64_MAX);
	walk_push(w, (uint32_t)i, sample, brick);
}

bool walk_lane_next(struct walk_lane *w, size_t count)
{
	size_t end = w->end - w->next < count ? w->end : w->next + count;
	bool some = w->next < w->end || w->depth;

	for (; w->next < end; w->next++)
		feed_one(w, w->next);
	while (end == w->end && w->depth)
		walk_pop(w, UINT64_MAX);
	return some;
}

static void walk_add_calls(struct calls *calls, const struct walk_ops *ops, void *context)
{
	if (ops->begin)
		calls->begin[calls->begin_count++] =
			(struct call){.frame = ops->begin, .context = context};
	if (ops->end)
		calls->end[calls->end_count++] =
			(struct call){.frame = ops->end, .context = context};
	if (ops->tile)
		calls->tile[calls->tile_count++] =
			(struct call){.tile = ops->tile, .context = context};
	if (ops->piece)
		calls->piece[calls->piece_count++] =
			(struct call){.piece = ops->piece, .context = context};
}

static void walk_init_lane(
	struct walk_lane *w, const struct run *run, const struct step_index *index, uint32_t lane)
{
	w->run = run;
	w->index = index;
	w->lane = &run->lanes[lane];
	w->number = lane;
	w->own = index->lane_first[lane];
	w->own_end = index->lane_first[lane + 1];
	walk_find_own(w, 0);
	find_owner(w, 0);
	w->process = w->process_first = index->process_first[w->lane->process];
	w->process_end = index->process_first[w->lane->process + 1];
	w->has_steps = w->process != w->process_end;
	find_begun(w, 0);
	w->next = 0;
	w->end = w->lane->sample_count;
	w->depth = 0;
	w->frames[0] =
		(struct walk_frame){.step = RUN_NONE, .scope = WALK_OUTSIDE, .end_ns = UINT64_MAX};
	w->calls.begin_count = w->calls.end_count = w->calls.tile_count = w->calls.piece_count = 0;
}

struct walk_lane *walk_lane_create(
	const struct run *run, const struct step_index *index, uint32_t lane)
{
	struct walk_lane *w = malloc(sizeof(*w));

	if (w)
		walk_init_lane(w, run, index, lane);
	return w;
}

void walk_lane_join(struct walk_lane *w, const struct walk_ops *ops, void *context)
{
	walk_add_calls(&w->calls, ops, context);
}

void walk_lane_destroy(struct walk_lane *w)
{
	free(w);
}

void walk_samples(const struct run *run, const struct step_index *index, uint32_t lane,
	size_t first, size_t end, const struct walk_ops *ops, void *context)
{
	struct walk_lane w;

	walk_init_lane(&w, run, index, lane);
	walk_add_calls(&w.calls, ops, context);
	w.next = first;
	w.end = end;
	walk_lane_next(&w, SIZE_MAX);
}

void walk_init(struct walk *walk, const struct run *run, const struct step_index *index)
{
	walk->run = run;
	walk->index = index;
	walk->count = 0;
	walk->executions = NULL;
	walk->work = NULL;
	walk->times = NULL;
}

void walk_join(struct walk *walk, const struct walk_ops *ops, void *context)
{
	assert(walk->count < WALK_JOINED_MAX);
	walk->joined[walk->count++] = (struct walk_joined){ops, context};
}

static int wants(const struct walk *walk, const struct walk_joined *joined, uint32_t lane)
{
	if (joined->ops->begin_lane)
		return joined->ops->begin_lane(joined->context, lane);
	return walk->run->lanes[lane].kind == BRICK_LANE_THREAD;
}

static int feed_wanted(const struct walk *walk, struct walk_lane *w, uint32_t lane, bool *wanted)
{
	int rc = 0;

	for (size_t k = 0; k < walk->count && rc >= 0; k++) {
		rc = wants(walk, &walk->joined[k], lane);
		wanted[k] = rc > 0;
		if (wanted[k])
			walk_lane_join(w, walk->joined[k].ops, walk->joined[k].context);
	}
	if (rc >= 0 && w->calls.begin_count + w->calls.end_count + w->calls.tile_count +
			       w->calls.piece_count)
		walk_lane_next(w, SIZE_MAX);
	return rc;
}

static int walk_one(const struct walk *walk, uint32_t lane)
{
	struct walk_lane *w = walk_lane_create(walk->run, walk->index, lane);
	bool wanted[WALK_JOINED_MAX];
	int rc = w ? feed_wanted(walk, w, lane, wanted) : -ENOMEM;

	for (size_t k = 0; k < walk->count && rc >= 0; k++)
		if (wanted[k] && walk->joined[k].ops->end_lane)
			rc = walk->joined[k].ops->end_lane(walk->joined[k].context, lane);
	walk_lane_destroy(w);
	return rc < 0 ? rc : 0;
}

static int walk_end_process(const struct walk *walk, uint32_t process)
{
	int rc = 0;
	for (size_t k = 0; k < walk->count; k++)
		if (walk->joined[k].ops->end_process) {
			int ended =
				walk->joined[k].ops->end_process(walk->joined[k].context, process);
			rc = rc < 0 ? rc : ended;
		}
	return rc;
}

/* Lanes by process, in their own order: [lane_count]; the caller frees. */
static uint32_t *order_lanes(const struct run *run)
{
	uint32_t *order = malloc((run->lane_count + 1) * sizeof(*order));
	SCOPED uint32_t *next = calloc(run->process_count + 1, sizeof(*next));

	if (order && next) {
		for (size_t i = 0; i < run->lane_count; i++)
			next[run->lanes[i].process + 1]++;
		for (size_t p = 1; p < run->process_count; p++)
			next[p] += next[p - 1];
		for (uint32_t i = 0; i < run->lane_count; i++)
			order[next[run->lanes[i].process]++] = i;
	} else {
		free(order);
		order = NULL;
	}
	return order;
}

int walk_run(const struct walk *walk)
{
	const struct run *run = walk->run;
	SCOPED uint32_t *order = order_lanes(run);
	int rc = order ? 0 : -ENOMEM;
	size_t i = 0;

	for (uint32_t process = 0; process < run->process_count && rc >= 0; process++) {
		for (size_t k = 0; k < walk->count; k++)
			if (walk->joined[k].ops->begin_process)
				walk->joined[k].ops->begin_process(
					walk->joined[k].context, process);
		for (; rc >= 0 && i < run->lane_count && run->lanes[order[i]].process == process;
			i++)
			rc = walk_one(walk, order[i]);
		int ended = walk_end_process(walk, process);
		rc = rc < 0 ? rc : ended;
	}
	for (size_t k = 0; k < walk->count && rc >= 0; k++)
		if (walk->joined[k].ops->finish)
			rc = walk->joined[k].ops->finish(walk->joined[k].context);
	return rc < 0 ? rc : 0;
}
