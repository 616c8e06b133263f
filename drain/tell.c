/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling a trace writer what a session holds: that its process and lanes exist, its tables before
 * the records that use them, and when it is over its exact statistics. Telling side.
 */
#include "drain/drain.h"

#include <stdio.h>
#include <string.h>
#include "brick/registry.h"
#include "drain/state.h"

static const char *const end_names[] = {"closed", "dead", "exec", "outlived", "broken"};

int drain_join_process(struct drain *d, struct trace_writer *w)
{
	if (d->process < 0)
		d->process = trace_writer_process(w, &d->header);
	return d->process < 0 ? d->process : 0;
}

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

/* A lane as it stands now into scratch: what precedes the frames, and statistics of known bricks.
 */
static const struct brick_lane *snapshot(
	struct drain *d, const struct drain_lane *lane, int with_stats)
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
	if (!with_stats)
		return to;
	memcpy(to->frames, from->frames, sizeof to->frames);
	copy_stats(to->stats, from->stats, d->tables.brick_count, d->view);
	return to;
}

int drain_join_lane(struct drain *d, struct trace_writer *w, struct drain_lane *lane)
{
	if (lane->number < 0)
		lane->number = trace_writer_lane(w, d->process, snapshot(d, lane, 0));
	return lane->number < 0 ? lane->number : 0;
}

/* The process's notes, and below them what its consumer has to say of it. */
static int tell_notes(struct drain *d, struct trace_writer *w, const char *end)
{
	uint32_t bytes = __atomic_load_n(&d->shared->notes_bytes, __ATOMIC_ACQUIRE);
	const char *trouble = drain_trouble(d);

	if (bytes > BRICK_NOTES_BYTES)
		bytes = BRICK_NOTES_BYTES;
	d->told_notes = bytes;
	memcpy(d->notes, (char *)d->shared + d->header.notes_offset, bytes);
	d->notes[bytes] = '\0';
	/* line by line, so that the newlines stay */
	for (size_t at = 0; d->notes[at];) {
		size_t length = strcspn(d->notes + at, "\n");
		char last = d->notes[at + length];
		drain_clean_text(d->notes + at, length + 1);
		d->notes[at + length] = last;
		at += length + (last != '\0');
	}
	size_t n = strlen(d->notes);
	if (n && d->notes[n - 1] != '\n')
		d->notes[n++] = '\n';
	n += (size_t)snprintf(d->notes + n, sizeof d->notes - n, "session.end=%s\n", end);
	if (trouble)
		n += (size_t)snprintf(
			d->notes + n, sizeof d->notes - n, "session.trouble=%s\n", trouble);
	if (d->bad_entries)
		n += (size_t)snprintf(d->notes + n, sizeof d->notes - n,
			"session.bad_entries=%llu\n", (unsigned long long)d->bad_entries);
	d->notes_bytes = n;
	return trace_writer_notes(w, d->process, d->notes, d->notes_bytes);
}

/* Notes that are new, so that a recording whose recorder is killed has them. */
static int tell_new_notes(struct drain *d, struct trace_writer *w)
{
	uint32_t bytes = __atomic_load_n(&d->shared->notes_bytes, __ATOMIC_RELAXED);

	return bytes == d->told_notes ? 0 : tell_notes(d, w, "running");
}

int drain_tell(struct drain *d, struct trace_writer *w, uint32_t index,
	const struct brick_record *records, size_t count)
{
	struct drain_lane *lane = d->lanes[index];
	int error = drain_join_process(d, w);

	if (!error)
		error = drain_tell_tables(d, w);
	if (!error)
		error = drain_join_lane(d, w, lane);
	if (!error)
		error = tell_new_notes(d, w);
	if (error)
		return error;
	if (!d->view)
		drain_histogram_records(d, lane, records, count);
	d->counts.records += count;
	return trace_writer_records(w, lane->number, records, count);
}

/*
 * Bricks that were open when the process died and had nothing inside of them are in no record yet:
 * only their frames know of them.
 */
static int tell_open_frames(
	struct drain *d, struct trace_writer *w, struct drain_lane *lane, uint64_t end_ticks)
{
	const struct brick_lane *state = &d->scratch;
	struct brick_record open[BRICK_MAX_DEPTH];
	size_t count = 0;

	for (uint32_t i = 0; i < state->depth; i++) {
		const struct brick_frame *f = &state->frames[i];
		if (f->flags & (BRICK_FRAME_OPENED | BRICK_FRAME_DROPPED))
			continue;
		if (f->brick >= d->tables.brick_count || f->begin > end_ticks ||
			f->begin < d->header.start_ticks)
			break;
		open[count++] = (struct brick_record){
			.begin = f->begin,
			.kind = BRICK_RECORD_OPEN,
			.source = f->source,
			.brick = f->brick,
			.layer = f->layer,
			.elements = f->flags & BRICK_FRAME_STEP ? f->tokens : 0,
		};
	}
	return count ? trace_writer_records(w, lane->number, open, count) : 0;
}

static int tell_lane_end(struct drain *d, struct trace_writer *w, struct drain_lane *lane,
	enum drain_end end, uint64_t end_ticks)
{
	int error = drain_join_lane(d, w, lane);

	if (error)
		return error;
	const struct brick_lane *state = snapshot(d, lane, 1);
	d->counts.dropped += state->ledger.dropped;
	d->counts.threads += state->kind == BRICK_LANE_THREAD ? state->owners : 0;
	if (end != DRAIN_END_CLOSED && state->state == BRICK_LANE_LIVE)
		error = tell_open_frames(d, w, lane, end_ticks);
	return error ? error : trace_writer_lane_stats(w, lane->number, state);
}

/* The header's own counts as they are at the end; what it says of the process stays as it was. */
static int tell_header(struct drain *d, struct trace_writer *w)
{
	d->header.ledger = d->shared->ledger;
	d->header.pair_cost = d->shared->pair_cost;
	d->header.pair_cost_low = d->shared->pair_cost_low;
	d->header.pair_cost_high = d->shared->pair_cost_high;
	return trace_writer_process_state(w, d->process, &d->header);
}

int drain_finish(struct drain *d, struct trace_writer *w, enum drain_end end, uint64_t end_ticks)
{
	int error = drain_join_process(d, w);

	if (!error)
		error = drain_tell_tables(d, w);
	if (!error && !d->view)
		error = drain_tell_digests(d, w);
	if (!error)
		error = tell_header(d, w);
	for (uint32_t i = 0; i < d->lane_count && !error; i++)
		if (d->lanes[i]->shared)
			error = tell_lane_end(d, w, d->lanes[i], end, end_ticks);
	if (!error)
		error = drain_histogram_tell(d, w);
	if (drain_trouble(d) && (end == DRAIN_END_CLOSED || end == DRAIN_END_EXEC))
		end = DRAIN_END_BROKEN;
	if (!error)
		error = tell_notes(d, w, end_names[end]);
	if (!error)
		error = trace_writer_process_end(
			w, d->process, end_ticks, end == DRAIN_END_CLOSED || end == DRAIN_END_EXEC);
	return error;
}

struct drain_counts drain_counts(const struct drain *d)
{
	return d->counts;
}

const char *drain_notes(const struct drain *d)
{
	return d->notes;
}
