/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emitting what a session holds into a sink: that its process and lanes exist, its tables before
 * the records that use them, and when it is over its exact statistics. Emitting side.
 */
#include "lib/drain/drain.h"

#include <string.h>
#include "lib/drain/drain_code.h"
#include "lib/drain/expand.h"
#include "lib/drain/lanes.h"
#include "lib/drain/drain_state.h"

static const char *const end_names[] = {"closed", "dead", "exec", "outlived", "broken"};

static int join_process(struct drain *d, struct sink *sink)
{
	if (d->process < 0)
		d->process = sink_process(sink, &d->map.header);
	return d->process < 0 ? d->process : 0;
}

static int emit_tables(struct drain *d, struct sink *sink)
{
	int error = drain_code_emit(&d->code, &d->map, sink);

	return error ? error : drain_tables_emit(&d->tables, &d->map, sink, d->process);
}

static int emit_records(struct drain *d, struct sink *sink, uint32_t index,
	const struct brick_record *records, size_t count)
{
	struct drain_lane *lane = d->map.lanes[index];
	int error = 0;

	if (!d->map.view) {
		drain_histograms_enter(&d->histograms, &d->map, lane, d->tables.now.brick_count,
			records, count, &d->counts);
		error = drain_off_cpu_learn(&d->off_cpu,
			sink_clock_of(&sink->clock, &d->map.header.clock), index, records, count);
	}
	d->counts.records += count;
	return error ? error : drain_lane_records(d, sink, lane, records, count);
}

int drain_emit(struct drain *d, struct sink *sink, uint32_t index,
	const struct brick_record *records, size_t count)
{
	enum { AT_ONCE = 256 };
	struct brick_record expanded[AT_ONCE];
	struct drain_lane *lane = d->map.lanes[index];
	int error = join_process(d, sink);

	if (!error)
		error = emit_tables(d, sink);
	if (!error)
		error = drain_lane_join(d, sink, lane);
	if (!error)
		error = drain_notes_emit_new(&d->notes, &d->map, sink, d->process);
	for (size_t done = 0, used; done < count && !error; done += used) {
		size_t n = drain_expand(&d->tables.now, lane, records + done, count - done,
			expanded, AT_ONCE, &used);
		error = emit_records(d, sink, index, expanded, n);
	}
	return error;
}

static int lane_number(void *context, uint32_t lane)
{
	const struct drain *d = context;

	const struct drain_lane_sinks *lanes = &d->map.lanes[lane]->in_sink;

	return lanes->count ? lanes->items[0].number : -1;
}

int drain_emit_off_cpu(
	struct drain *d, struct sink *sink, const struct sink_off_cpu *intervals, size_t count)
{
	int error = drain_off_cpu_add(&d->off_cpu, intervals, count);

	if (!error)
		error = drain_off_cpu_emit(&d->off_cpu, sink, lane_number, d);
	d->counts.off_cpu_lost = d->off_cpu.lost;
	return error;
}

/*
 * Bricks that are open at the end and had nothing inside of them are in no record yet: only their
 * frames know of them. Where there was no room for the begin of one with bricks inside, it is late
 * for that now.
 */
static int emit_open_frames(
	struct drain *d, struct sink *sink, struct drain_lane *lane, uint64_t end_ticks)
{
	struct brick_lane *state = &d->scratch;
	struct brick_record open[BRICK_MAX_DEPTH];
	size_t count = 0;

	for (uint32_t i = 0; i < state->depth; i++) {
		const struct brick_frame *f = &state->frames[i];
		state->ledger.unmatched += !d->map.view && f->flags & BRICK_FRAME_DROPPED;
		if (f->flags & BRICK_FRAME_OPENED)
			continue;
		/* the time in one that was just beginning is that of its place's last */
		if (f->brick >= d->tables.now.brick_count || f->begin > end_ticks ||
			f->begin < d->map.header.start_ticks || f->begin < lane->last_ticks)
			break;
		open[count++] = brick_frame_open(f);
	}
	return count ? drain_lane_records(d, sink, lane, open, count) : 0;
}

/* What ended since the last look would be in the statistics alone. */
static int emit_rest(struct drain *d, struct sink *sink, uint32_t index)
{
	enum { AT_ONCE = 64 };
	struct brick_record records[AT_ONCE];
	/* not for ever: the program may go on */
	uint64_t left = d->map.view ? 0 : drain_level(d, index).waiting;
	int error = 0;

	while (left && !error) {
		size_t n = drain_consume(d, index, records, left < AT_ONCE ? left : AT_ONCE);
		left -= n;
		if (!n)
			break;
		error = drain_emit(d, sink, index, records, n);
	}
	return error;
}

static int emit_lane_end(struct drain *d, struct sink *sink, uint32_t index, uint64_t end_ticks)
{
	struct drain_lane *lane = d->map.lanes[index];
	int error = emit_rest(d, sink, index);

	if (!error)
		error = drain_lane_join(d, sink, lane);
	if (error)
		return error;
	struct brick_lane *state = drain_lane_state(d, lane, 1);
	d->counts.dropped += state->ledger.dropped;
	d->counts.threads += state->kind == BRICK_LANE_THREAD ? state->owners : 0;
	error = emit_open_frames(d, sink, lane, end_ticks);
	return error ? error : drain_lane_statistics(sink, lane, state);
}

/* The header's own counts as they are at the end; what it says of the process stays as it was. */
static int emit_header(struct drain *d, struct sink *sink)
{
	d->map.header.ledger = d->map.shared->ledger;
	d->map.header.pair_cost = d->map.shared->pair_cost;
	d->map.header.pair_cost_low = d->map.shared->pair_cost_low;
	d->map.header.pair_cost_high = d->map.shared->pair_cost_high;
	d->map.header.pair_cost_streamed = d->map.shared->pair_cost_streamed;
	d->map.header.pair_cost_cold = d->map.shared->pair_cost_cold;
	d->map.header.pair_stream_ticks = d->map.shared->pair_stream_ticks;
	return sink_process_state(sink, d->process, &d->map.header);
}

int drain_emit_digests(struct drain *d, struct sink *sink)
{
	if (!drain_digest_level(d))
		return 0;
	int error = join_process(d, sink);
	if (!error)
		error = emit_tables(d, sink);
	return error ? error
		     : drain_digests_emit(&d->digests, &d->map, &d->tables.now, sink, d->process);
}

int drain_finish(struct drain *d, struct sink *sink, enum drain_end end, uint64_t end_ticks)
{
	int error = join_process(d, sink);

	if (d->map.lane_is_missing)
		drain_map_fault_set(&d->map, "out of memory for a lane");
	if (!error)
		error = emit_tables(d, sink);
	if (!error && !d->map.view)
		error = drain_emit_digests(d, sink);
	if (!error && !d->map.view)
		error = drain_emit_off_cpu(d, sink, NULL, 0);
	if (!error)
		error = emit_header(d, sink);
	for (uint32_t i = 0; i < d->map.lane_count && !error; i++)
		if (d->map.lanes[i]->shared)
			error = emit_lane_end(d, sink, i, end_ticks);
	if (!error)
		error = drain_histograms_emit(
			&d->histograms, &d->map, d->tables.now.brick_count, sink, d->process);
	if (drain_fault(d) && (end == DRAIN_END_CLOSED || end == DRAIN_END_EXEC))
		end = DRAIN_END_BROKEN;
	if (!error)
		error = drain_notes_emit(&d->notes, &d->map, sink, d->process, end_names[end]);
	if (!error)
		error = sink_process_end(sink, d->process, end_ticks,
			end == DRAIN_END_CLOSED || end == DRAIN_END_EXEC);
	return error;
}

struct drain_counts drain_counts(const struct drain *d)
{
	return d->counts;
}

const char *drain_notes(const struct drain *d)
{
	return d->notes.text;
}

void drain_rewind(struct drain *d)
{
	d->process = -1;
	memset(&d->counts, 0, sizeof d->counts);
	drain_tables_rewind(&d->tables);
	drain_notes_rewind(&d->notes);
	d->map.bad_entries = 0;
	for (uint32_t i = 0; i < d->map.lane_count; i++) {
		array_fini(&d->map.lanes[i]->in_sink);
		d->map.lanes[i]->in_sink = (struct drain_lane_sinks){0};
		d->map.lanes[i]->ahead.known = 0;
		d->map.lanes[i]->depth = 0;
	}
}
