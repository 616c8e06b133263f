/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many records are looked at follows from what a step needs, and at first from what the first
 * token needs (look.h).
 */
#include "record/live/live_look.h"

#include <stddef.h>
#include "brick/clock.h"
#include "record/live/live_difference.h"
#include "record/live/live_session.h"
#include "record/live/live_snapshot.h"

enum {
	MIN_RECORDS = 8192, /* of a lane */
	MAX_RECORDS = 1 << 18,
	ALL_RECORDS = 1 << 18, /* of all lanes together, but for the first look */
};

static enum drain_end end_of(enum live_state state)
{
	switch (state) {
	case LIVE_CLOSED:
	case LIVE_STOPPED:
		return DRAIN_END_CLOSED;
	case LIVE_DIED:
		return DRAIN_END_DEAD;
	case LIVE_BROKEN:
		return DRAIN_END_BROKEN;
	default:
		return DRAIN_END_OUTLIVED;
	}
}

static size_t gather(const struct live_session *sessions, struct snapshot_part *parts)
{
	size_t count = 0;

	for (const struct live_session *l = sessions; l; l = l->next)
		parts[count++] = (struct snapshot_part){l->drain, end_of(l->state),
			l->end_ticks ? l->end_ticks : drain_ticks(l->drain)};
	return count;
}

static size_t lane_count(const struct live_session *sessions)
{
	size_t lanes = 0;

	for (const struct live_session *l = sessions; l; l = l->next)
		lanes += drain_lanes(l->drain);
	return lanes ? lanes : 1;
}

/* Records of the lane that has most. */
static uint64_t most_written(const struct live_session *sessions)
{
	uint64_t most = 0;

	for (const struct live_session *l = sessions; l; l = l->next)
		for (uint32_t i = drain_lanes(l->drain); i-- > 0;) {
			uint64_t written = drain_level(l->drain, i).written;
			most = written > most ? written : most;
		}
	return most;
}

/*
 * Rings are looked at whole until the first token is known to have been in them, or it is too late;
 * each time only when there is twice as much in them.
 */
static void find_first_token(struct live_look *look, const struct live_session *sessions,
	const struct run *run, int whole)
{
	if (look->first_seen || most_written(sessions) < look->first_due)
		return;
	look->first_due = 2 * most_written(sessions);
	look->first_seen = !whole;
	if (whole && look->first_token(run, &look->ttft_ns))
		look->first_seen = look->ttft_known = 1;
}

/* Does the run hold a step from begin to end? */
static int has_step(const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++)
		if (!run->steps[i].open)
			return 1;
	return 0;
}

static int knows_steps(const struct run *run)
{
	for (size_t l = 0; l < run->lane_count; l++)
		for (uint32_t b = 0; run->lanes[l].stats && b < run->brick_count; b++)
			if (brick_is_step((uint32_t)run->bricks[b].well_known) &&
				run->lanes[l].stats[b].count)
				return 1;
	return 0;
}

static void adapt_capacity(struct live_look *look, const struct run *run)
{
	if (!has_step(run) && knows_steps(run) && look->capacity < MAX_RECORDS)
		look->capacity *= 2;
}

static size_t capacity_now(const struct live_look *look, const struct live_session *sessions)
{
	size_t most = ALL_RECORDS / lane_count(sessions);

	if (!look->first_seen && most_written(sessions) >= look->first_due)
		return MAX_RECORDS;
	return look->capacity < most ? look->capacity : most < 1024 ? 1024 : most;
}

static void apply_base(struct live_look *look, struct run **run)
{
	if (look->reset) {
		run_destroy(look->base);
		look->base = *run;
		look->reset = 0;
		*run = NULL;
	}
}

int live_look_run(struct live_look *look, const struct live_session *sessions, struct run **out,
	uint64_t *ttft_ns)
{
	struct snapshot_part parts[LIVE_MAX_SESSIONS];
	struct run *run = NULL;
	int whole = 0;
	size_t count = gather(sessions, parts);

	if (!count)
		return 0;
	int error = live_snapshot(&run, parts, count, capacity_now(look, sessions), &whole);
	if (error < 0)
		return error;
	find_first_token(look, sessions, run, whole);
	adapt_capacity(look, run);
	apply_base(look, &run);
	if (!run) {
		error = live_snapshot(&run, parts, count, capacity_now(look, sessions), &whole);
		if (error < 0)
			return error;
	}
	if (look->base)
		live_subtract(run, look->base);
	if (look->ttft_known)
		*ttft_ns = look->ttft_ns;
	*out = run;
	return 1;
}

void live_look_init(struct live_look *look, live_first_token_fn first_token)
{
	*look = (struct live_look){.capacity = MIN_RECORDS, .first_token = first_token};
}

void live_look_fini(struct live_look *look)
{
	run_destroy(look->base);
}
