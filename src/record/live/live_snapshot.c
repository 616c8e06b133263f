/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order matters: records are looked at before statistics, so that a brick is never in the run more
 * often than its thread has counted it; all lanes are cut to begin at the same moment, so that
 * threads can be compared. Called by src/record/live/live_source.c and the fuzzer.
 */
#include "record/live/live_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include "brick/error.h"
#include "record/live/live_window.h"
#include "base/clock_ns.h"
#include "lib/drain/machine.h"
#include "trace/run_builder.h"

/* Newest records of one lane. */
struct peeked {
	struct drain *drain;
	uint32_t lane;
	struct brick_record *records;
	size_t count;
	uint64_t first;
};

struct snapshot {
	struct peeked *lanes;
	size_t lane_count;
	uint64_t from_ticks; /* where the records of all lanes are complete */
	int whole;
};

static int peek_lane(struct snapshot *s, struct drain *d, uint32_t lane, size_t capacity)
{
	struct peeked *p = &s->lanes[s->lane_count];
	struct drain_level level = drain_level(d, lane);

	*p = (struct peeked){.drain = d, .lane = lane};
	s->lane_count++;
	if (level.written < capacity)
		capacity = (size_t)level.written;
	if (!level.capacity || !capacity)
		return 0;
	p->records = malloc(capacity * sizeof *p->records);
	if (!p->records)
		return -ENOMEM;
	p->count = drain_peek(d, lane, p->records, capacity, &p->first);
	if (!p->first)
		return 0;
	s->whole = 0;
	if (p->count && p->records[0].begin > s->from_ticks)
		s->from_ticks = p->records[0].begin;
	return 0;
}

static int peek_all(
	struct snapshot *s, const struct snapshot_part *parts, size_t count, size_t capacity)
{
	size_t lanes = 0;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		lanes += drain_lanes(parts[i].drain);
		if (drain_lane_is_missing(parts[i].drain))
			return -ENOMEM;
	}
	s->lanes = calloc(lanes + 1, sizeof *s->lanes);
	if (!s->lanes)
		return -ENOMEM;
	s->whole = 1;
	for (size_t i = 0; i < count; i++) {
		/* lanes that join from now on are the next snapshot's */
		for (uint32_t l = 0; s->lane_count < lanes && !error; l++) {
			if (l >= drain_lanes(parts[i].drain))
				break;
			error = peek_lane(s, parts[i].drain, l, capacity);
		}
	}
	for (size_t i = 0; i < s->lane_count; i++) {
		struct peeked *p = &s->lanes[i];
		p->count = live_window_trim(p->records, p->count, s->from_ticks);
	}
	return error;
}

static void fini(struct snapshot *s)
{
	for (size_t i = 0; i < s->lane_count; i++)
		free(s->lanes[i].records);
	free(s->lanes);
}

static int emit(struct sink *sink, const struct snapshot *s, const struct snapshot_part *parts,
	size_t count)
{
	int error = sink_clock(sink, &drain_header(parts[0].drain)->clock);

	for (size_t i = 0; i < count; i++)
		drain_rewind(parts[i].drain);
	for (size_t i = 0; i < s->lane_count && !error; i++)
		if (s->lanes[i].count)
			error = drain_emit(s->lanes[i].drain, sink, s->lanes[i].lane,
				s->lanes[i].records, s->lanes[i].count);
	for (size_t i = 0; i < count && !error; i++)
		error = drain_finish(parts[i].drain, sink, parts[i].end, parts[i].end_ticks);
	const struct sink_account account = {
		.end_ns = monotonic_ns(), .cpus = drain_cpus_online(), .exit_code = -1};
	return error ? error : sink_account(sink, &account);
}

static int build(
	struct run **out, const struct snapshot *s, const struct snapshot_part *parts, size_t count)
{
	struct drain_title title;
	const struct trace_writer_options options = drain_title(parts[0].drain, &title, "live");
	struct run_builder *b;
	int error = run_builder_create(&b, &options);

	if (error)
		return error;
	error = emit(run_builder_sink(b), s, parts, count);
	if (!error)
		return run_builder_finish(b, out);
	run_builder_abandon(b);
	return error;
}

/* The hooks' calls that go with the samples that are here, as a recording's do with all of them. */
static void scale_hooks(struct run_lane *lane, size_t bricks)
{
	uint64_t executions = 0;

	for (size_t b = 0; lane->stats && b < bricks; b++)
		executions += lane->stats[b].count;
	if (executions > lane->sample_count)
		lane->hook_calls = (uint64_t)((double)lane->hook_calls *
					      (double)lane->sample_count / (double)executions);
}

/* What a recording would call lost, but here is only not at its end yet. */
static void adjust(struct run *run, const struct snapshot_part *parts, size_t count)
{
	run->complete = 0;
	run->open_samples = 0;
	run->bad_records = 0;
	run->lost_processes = 0;
	for (size_t i = 0; i < run->process_count && i < count; i++)
		if (parts[i].end == DRAIN_END_OUTLIVED)
			run->processes[i].closed = 1;
	for (size_t i = 0; i < run->lane_count; i++)
		scale_hooks(&run->lanes[i], run->brick_count);
}

int live_snapshot(struct run **out, const struct snapshot_part *parts, size_t count,
	size_t capacity, int *whole)
{
	struct snapshot s = {0};

	if (!count)
		return BRICK_ENOTRECORDED;
	int error = peek_all(&s, parts, count, capacity);
	if (!error)
		error = build(out, &s, parts, count);
	if (!error) {
		adjust(*out, parts, count);
		*whole = s.whole;
	}
	fini(&s);
	return error;
}
