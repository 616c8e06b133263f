/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing in a record or in a lane is trusted: the number of lanes in the sink has a bound. */
#include "lib/drain/lanes.h"

#include <string.h>
#include "base/array.h"
#include "brick/queue.h"
#include "lib/drain/clean.h"
#include "lib/drain/drain_state.h"

enum { MAX_LANES = 4096 }; /* in the sink, of one lane: commands that run at once */

/*
 * Statistics of bricks while their owner goes on counting: an entry that changed under the copy is
 * copied again, a few times. What is torn even then is one execution ahead in some of its fields.
 */
static void copy_stats(
	struct brick_stat *to, const struct brick_stat *from, uint32_t count, int careful)
{
	enum { TRIES = 4 };

	for (uint32_t i = 0; i < count; i++)
		for (int try = 0; try < TRIES; try++) {
			memcpy(&to[i], &from[i], sizeof to[i]);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (!careful || !memcmp(&to[i], &from[i], sizeof to[i]))
				break;
		}
}

struct brick_lane *drain_lane_state(struct drain *d, const struct drain_lane *lane, int with_stats)
{
	struct brick_lane *to = &d->scratch;
	const struct brick_lane *from = lane->shared;

	memcpy(to, from, offsetof(struct brick_lane, frames));
	drain_clean_text(to->name, sizeof to->name);
	drain_clean_text(to->backend, sizeof to->backend);
	if (to->depth > BRICK_MAX_DEPTH)
		to->depth = 0;
	if (to->kind != BRICK_LANE_QUEUE)
		to->kind = BRICK_LANE_THREAD;
	to->ledger.dropped += lane->in_sink.left_out;
	if (!with_stats)
		return to;
	memcpy(to->frames, from->frames, sizeof to->frames);
	copy_stats(to->stats, from->stats, d->tables.now.brick_count, d->map.view);
	return to;
}

static int add(struct drain *d, struct sink *sink, struct drain_lane_sinks *lanes,
	const struct brick_lane *state)
{
	int number = sink_lane(sink, d->process, state);

	if (number < 0)
		return number;
	return array_push(lanes, (struct drain_sink_lane){.number = number});
}

int drain_lane_join(struct drain *d, struct sink *sink, struct drain_lane *lane)
{
	if (lane->in_sink.count)
		return 0;
	const struct brick_lane *state = drain_lane_state(d, lane, 0);
	lane->in_sink.overlaps =
		state->kind == BRICK_LANE_QUEUE && state->queue_flags & BRICK_QUEUE_OUT_OF_ORDER;
	return add(d, sink, &lane->in_sink, state);
}

/* Where a command goes that begins then: -> lanes->to, which is their count if there is none. */
static int choose(struct drain *d, struct sink *sink, struct drain_lane *lane, uint64_t begin)
{
	struct drain_lane_sinks *lanes = &lane->in_sink;

	for (lanes->to = 0; lanes->to < lanes->count; lanes->to++)
		if (lanes->items[lanes->to].end <= begin)
			return 0;
	if (lanes->count == MAX_LANES) {
		lanes->left_out++;
		return 0;
	}
	struct brick_lane *state = drain_lane_state(d, lane, 0);
	state->start_ticks = begin;
	return add(d, sink, lanes, state);
}

/* The record is one of lanes->to: up to where is that taken now? */
static void take(struct drain_lane_sinks *lanes, const struct brick_record *r)
{
	uint64_t end = r->kind == BRICK_RECORD_SAMPLE ? r->begin + r->ticks : r->begin;

	lanes->depth += r->kind == BRICK_RECORD_OPEN;
	lanes->depth -= r->kind == BRICK_RECORD_CLOSE && lanes->depth;
	if (lanes->to < lanes->count)
		lanes->items[lanes->to].end = lanes->depth ? UINT64_MAX : end;
}

static int begins(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_OPEN;
}

/* Records [from, to) go to the lane that was chosen for them. */
static int pass_on(struct sink *sink, const struct drain_lane_sinks *lanes,
	const struct brick_record *records, size_t count)
{
	if (!count || lanes->to == lanes->count)
		return 0;
	return sink_records(sink, lanes->items[lanes->to].number, records, count);
}

int drain_lane_records(struct drain *d, struct sink *sink, struct drain_lane *lane,
	const struct brick_record *records, size_t count)
{
	struct drain_lane_sinks *lanes = &lane->in_sink;
	size_t from = 0;
	int error = 0;

	for (size_t i = 0; i < count && lanes->overlaps && !error; i++) {
		if (begins(&records[i]) && !lanes->depth) {
			error = pass_on(sink, lanes, records + from, i - from);
			error = error ? error : choose(d, sink, lane, records[i].begin);
			from = i;
		}
		if (begins(&records[i]) || records[i].kind == BRICK_RECORD_CLOSE)
			take(lanes, &records[i]);
	}
	return error ? error : pass_on(sink, lanes, records + from, count - from);
}

int drain_lane_statistics(
	struct sink *sink, const struct drain_lane *lane, struct brick_lane *state)
{
	int error = sink_lane_stats(sink, lane->in_sink.items[0].number, state);

	memset(state->stats, 0, sizeof state->stats);
	state->ledger = (struct brick_ledger){0};
	for (size_t i = 1; i < lane->in_sink.count && !error; i++)
		error = sink_lane_stats(sink, lane->in_sink.items[i].number, state);
	return error;
}
