/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts the time of one lane into activities without a gap: own times of bricks, waits, and the rest
 * between them. Uses the walk that the report uses, so that both agree on whose time is whose.
 */
#include <string.h>

#include "analysis/path/schedule_state.h"
#include "analysis/accounts/walk.h"

struct cutter {
	struct schedule_maker *m;
	uint32_t lane, place;
	bool is_thread;
	uint64_t cursor_ns;
};

static uint32_t brick_of(const struct cutter *c, const struct walk_frame *frame)
{
	return c->m->run->sites[frame->sample->site].brick;
}

/* Of an activity, what is known of it before its times. */
struct part {
	uint32_t owner, sample;
	uint8_t kind, is_last;
};

/* Append what lies between the cursor and `end_ns`; empty parts only if they stand for a sample. */
static uint32_t cut_piece(struct cutter *c, uint64_t end_ns, struct part part)
{
	uint64_t from = c->cursor_ns > c->m->begin_ns ? c->cursor_ns : c->m->begin_ns;
	uint64_t to = end_ns > from ? end_ns : from;

	if (to == from && !part.is_last)
		return RUN_NONE;
	c->cursor_ns = to;
	struct schedule_activity *activity = schedule_next(c->m);
	if (!activity)
		return RUN_NONE;
	*activity = (struct schedule_activity){.begin_ns = from,
		.end_ns = to,
		.duration_ns = to - from,
		.owner = part.owner,
		.lane = c->lane,
		.sample = part.sample,
		.cause = RUN_NONE,
		.kind = part.kind,
		.is_last = part.is_last};
	return (uint32_t)c->m->schedule->activities.count - 1;
}

/* Up to the last time before `end_ns` that the thread was off its CPU: no brick buys that time. */
static void cut_off_cpu(struct cutter *c, uint64_t end_ns, struct part part)
{
	const struct run_lane *lane = &c->m->run->lanes[c->lane];
	uint64_t from = c->cursor_ns > c->m->begin_ns ? c->cursor_ns : c->m->begin_ns;
	uint32_t bricks = (uint32_t)c->m->run->brick_count;
	struct part off = part;

	part.is_last = off.is_last = 0;
	off.kind = SCHEDULE_OFF;
	for (size_t i = run_off_cpu_from(lane, from);
		i < lane->off_cpu_count && lane->off_cpu[i].begin_ns < end_ns; i++) {
		const struct run_off_cpu *o = &lane->off_cpu[i];
		off.owner =
			bricks + (o->preempted ? SCHEDULE_OWNER_PREEMPTED : SCHEDULE_OWNER_BLOCKED);
		cut_piece(c, o->begin_ns, part);
		cut_piece(c, o->end_ns < end_ns ? o->end_ns : end_ns, off);
	}
}

/* The same, without the times in it that the thread was off its CPU: these stand by themselves. */
static uint32_t cut(struct cutter *c, uint64_t end_ns, struct part part)
{
	bool can_be_off = part.kind == SCHEDULE_WORK ||
			  (part.kind == SCHEDULE_REST && part.sample != RUN_NONE);

	if (can_be_off && c->m->run->lanes[c->lane].off_cpu_count)
		cut_off_cpu(c, end_ns, part);
	return cut_piece(c, end_ns, part);
}

static void add_wait(struct cutter *c, uint64_t arrive_ns, uint32_t activity, uint8_t kind)
{
	struct schedule_maker *m = c->m;

	if (activity == RUN_NONE)
		return;
	uint64_t leave_ns = m->schedule->activities.items[activity].end_ns;
	schedule_failed(m, array_push(&m->waits, (struct schedule_wait){arrive_ns, leave_ns,
							 activity, c->place, kind}));
}

/* Own time of a brick up to `end_ns`. */
static void cut_own(struct cutter *c, const struct walk_frame *frame, uint64_t end_ns, bool is_last)
{
	uint32_t brick = brick_of(c, frame);
	enum brick_kind kind = c->m->index->kinds[brick];
	struct part part = {
		.owner = schedule_owner_of(c->m->run, &c->m->run->sites[frame->sample->site]),
		.sample = frame->index,
		.is_last = is_last,
		.kind = SCHEDULE_WORK};

	if (kind == BRICK_KIND_STEP) {
		part.kind = SCHEDULE_REST;
		part.owner = (uint32_t)c->m->run->brick_count + SCHEDULE_OWNER_REST;
	}
	if (kind == BRICK_KIND_WAIT)
		part.kind = SCHEDULE_WAIT;
	uint64_t arrive_ns = c->cursor_ns;
	uint32_t activity = cut(c, end_ns, part);
	if (kind != BRICK_KIND_WAIT)
		return;
	int known = c->m->run->bricks[brick].well_known;
	add_wait(c, arrive_ns, activity,
		known == BRICK_BARRIER_WAIT && c->is_thread ? WAIT_BARRIER
		: known == BRICK_SYNCHRONIZE		    ? WAIT_DEVICE
							    : WAIT_OTHER);
}

/* Time of the lane in none of its samples. */
static uint32_t cut_gap(struct cutter *c, uint64_t end_ns)
{
	return cut(c, end_ns,
		(struct part){.owner = (uint32_t)c->m->run->brick_count + SCHEDULE_OWNER_REST,
			.sample = RUN_NONE,
			.kind = SCHEDULE_REST});
}

/* The activity that ended just now on this lane; RUN_NONE: the lane's first comes next. */
static uint32_t last_activity(const struct cutter *c)
{
	const struct schedule *s = c->m->schedule;
	return s->activities.count > s->spans.items[c->place].first
		       ? (uint32_t)s->activities.count - 1
		       : RUN_NONE;
}

/* Others may begin because of this one: of a step, or of the computation of a graph. */
static void add_fork(struct cutter *c, const struct walk_frame *frame)
{
	struct schedule_maker *m = c->m;
	uint32_t brick = brick_of(c, frame);

	if (m->index->kinds[brick] != BRICK_KIND_STEP &&
		m->run->bricks[brick].well_known != BRICK_GRAPH_COMPUTE)
		return;
	if (schedule_failed(
		    m, array_push(&m->schedule->forks, (struct schedule_fork){c->cursor_ns, c->lane,
							       frame->index, last_activity(c)})))
		return;
	m->lanes.items[c->place].drives = true;
}

/* Remember a sample that launched something. */
static void add_call(struct cutter *c, const struct walk_frame *frame)
{
	struct schedule_maker *m = c->m;
	uint32_t count;

	launches_of(&m->source->launches, c->lane, frame->index, &count);
	if (!count)
		return;
	schedule_failed(
		m, array_push(&m->calls, (struct schedule_call){c->lane, frame->index,
						 last_activity(c), RUN_NONE, c->cursor_ns}));
}

static void end_call(struct cutter *c, const struct walk_frame *frame)
{
	struct schedule_maker *m = c->m;

	for (size_t i = m->calls.count; i-- > 0 && m->calls.items[i].lane == c->lane;) {
		if (m->calls.items[i].sample == frame->index)
			m->calls.items[i].last = last_activity(c);
		if (m->calls.items[i].sample <= frame->index)
			break;
	}
}

static void add_command(struct cutter *c, const struct walk_frame *frame, uint32_t gap)
{
	struct schedule_maker *m = c->m;
	const struct run_command *command = launches_command(m->run, c->lane, frame->index);

	if (!command)
		return;
	schedule_failed(
		m, array_push(&m->commands,
			   (struct schedule_command){(uint32_t)(command - m->run->commands), gap,
				   (uint32_t)m->schedule->activities.count, RUN_NONE}));
}

static void end_command(struct cutter *c, const struct walk_frame *frame)
{
	struct schedule_maker *m = c->m;

	if (m->commands.count &&
		m->run->commands[m->commands.items[m->commands.count - 1].command].sample ==
			frame->index)
		m->commands.items[m->commands.count - 1].last = last_activity(c);
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct cutter *c = context;
	uint32_t gap = RUN_NONE;

	if (depth > 1)
		cut_own(c, frame - 1, frame->begin_ns, false);
	else
		gap = cut_gap(c, frame->begin_ns);
	if (c->is_thread)
		add_fork(c, frame);
	if (!c->m->run->command_count)
		return;
	if (c->is_thread)
		add_call(c, frame);
	else if (depth == 1)
		add_command(c, frame, gap);
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct cutter *c = context;
	struct schedule_maker *m = c->m;

	cut_own(c, frame, frame->end_ns, true);
	if (m->run->command_count && c->is_thread)
		end_call(c, frame);
	else if (m->run->command_count && depth == 1)
		end_command(c, frame);
	if (frame->end_ns > m->end_ns && m->index->kinds[brick_of(c, frame)] == BRICK_KIND_WORK)
		m->lanes.items[c->place].stays = false;
	/* What a step waits after its end is in its account, but in its window only with a tail. */
	if (!frame->wait_ns || (c->lane == m->driver && depth == 1 && !m->has_tail))
		return;
	uint64_t arrive_ns = c->cursor_ns;
	uint32_t activity = cut(c, frame->end_ns + frame->wait_ns,
		(struct part){.owner = m->wait_owner,
			.sample = frame->index,
			.is_last = 1,
			.kind = SCHEDULE_WAIT});
	add_wait(c, arrive_ns, activity, c->is_thread ? WAIT_BARRIER : WAIT_OTHER);
}

void schedule_take_lane(struct schedule_maker *m, uint32_t lane, size_t first, size_t end)
{
	static const struct walk_ops ops = {.begin = on_begin, .end = on_end};
	struct schedule *to = m->schedule;
	const struct run_lane *from = &m->run->lanes[lane];
	size_t place = to->spans.count;

	if (first == end)
		return;
	const struct run_sample *sample = &from->samples[first];
	bool crosses = sample->begin_ns < m->begin_ns && sample->end_ns > m->begin_ns &&
		       m->index->kinds[m->run->sites[sample->site].brick] == BRICK_KIND_WORK;
	struct schedule_span span = {lane, (uint32_t)to->activities.count, 0};
	struct cutter c = {.m = m,
		.lane = lane,
		.place = (uint32_t)place,
		.is_thread = from->kind == BRICK_LANE_THREAD,
		.cursor_ns = m->begin_ns};
	if (schedule_failed(m, array_push(&m->lanes, (struct schedule_lane){.stays = !crosses})) ||
		schedule_failed(m, array_push(&to->spans, span)) ||
		schedule_failed(m, array_reserve(&to->activities, end - first)))
		return;
	walk_samples(m->run, &m->source->windows, lane, first, end, &ops, &c);
	if (m->is_cut && lane == m->driver)
		cut_gap(&c, m->end_ns);
	to->spans.items[place].count = (uint32_t)to->activities.count - span.first;
}
