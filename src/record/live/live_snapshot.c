/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are read before statistics, so that the run never has more records of a brick than its
 * thread has counted. All lanes are cut at the same moment, so that threads can be compared.
 * Records that belong to a brick before the cut are dropped, so that the rest nests. Nothing in the
 * records is trusted.
 */
#include "record/live/live_snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "brick/error.h"
#include "lib/drain/neighbours.h"
#include "lib/writer/trace_records.h"
#include "lib/writer/writer.h"
#include "trace/load.h"

/* The cut. */

enum { AHEAD = 64 }; /* at most so many BRICK_RECORD_WORK_AHEAD are for the same samples */

/* Records that describe coming samples (BRICK_RECORD_WORK_AHEAD), in order. */
struct ahead {
	struct brick_record records[AHEAD];
	size_t count;
};

/* Account for `samples` samples that were dropped: each bit of a record stands for one sample. */
static void live_snapshot_pass(struct ahead *a, uint32_t samples)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->count; i++) {
		struct brick_record *r = &a->records[i];
		uint64_t of = ((uint64_t)r->wait << 32 | r->ticks) >> samples;
		r->ticks = (uint32_t)of;
		r->wait = (uint32_t)(of >> 32);
		if (of)
			a->records[kept++] = *r;
	}
	a->count = kept;
}

static uint32_t live_snapshot_samples_of(const struct brick_record *r)
{
	struct brick_record out[3];
	struct brick_samples samples;

	if (r->kind != BRICK_RECORD_SAMPLES)
		return 0;
	memcpy(&samples, r, sizeof(samples));
	return brick_samples_read(&samples, out);
}

size_t live_window_trim(struct brick_record *records, size_t count, uint64_t from_ticks)
{
	struct ahead ahead = {.count = 0};
	size_t kept = 0;
	uint32_t depth = 0;
	bool begun = false, skip = true;

	for (size_t i = 0; i < count; i++) {
		const struct brick_record r = records[i];
		if (r.kind == BRICK_RECORD_WORK_AHEAD) {
			if (ahead.count < AHEAD)
				ahead.records[ahead.count++] = r;
			continue;
		}
		if (record_is_arg(&r)) {
			if (!skip)
				records[kept++] = r;
			continue;
		}
		begun = begun || r.begin >= from_ticks;
		skip = !begun || (r.kind == BRICK_RECORD_CLOSE && !depth);
		if (skip) {
			live_snapshot_pass(&ahead, live_snapshot_samples_of(&r));
			continue;
		}
		if (r.kind == BRICK_RECORD_OPEN)
			depth++;
		else if (r.kind == BRICK_RECORD_CLOSE)
			depth--;
		else if (r.kind == BRICK_RECORD_THREAD)
			depth = 0;
		/* in front of a record that is kept */
		memcpy(records + kept, ahead.records, ahead.count * sizeof(ahead.records[0]));
		kept += ahead.count;
		ahead.count = 0;
		records[kept++] = r;
	}
	return kept;
}

/* The snapshot. */

/* The newest records of one lane. */
struct peeked {
	struct drain *drain;
	uint32_t lane;
	struct brick_record *records; /* NULL: the lane has none */
	size_t count;
	uint64_t first; /* number of records[0] in the lane; 0: nothing older is missing */
};

struct snapshot {
	struct peeked *lanes;
	size_t lane_count;
	uint64_t from_ticks; /* from here on the records of all lanes are complete */
	int whole;	     /* see live_snapshot() */
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
	p->records = malloc(capacity * sizeof(*p->records));
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
	s->lanes = calloc(lanes + 1, sizeof(*s->lanes));
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

static int live_snapshot_emit(struct trace_writer *writer, const struct snapshot *s,
	const struct snapshot_part *parts, size_t count)
{
	int error = sink_clock(writer, &drain_header(parts[0].drain)->clock);

	for (size_t i = 0; i < count; i++)
		drain_rewind(parts[i].drain);
	for (size_t i = 0; i < s->lane_count && !error; i++)
		if (s->lanes[i].count)
			error = drain_emit(s->lanes[i].drain, writer, s->lanes[i].lane,
				s->lanes[i].records, s->lanes[i].count);
	for (size_t i = 0; i < count && !error; i++)
		error = drain_finish(parts[i].drain, writer, parts[i].end, parts[i].end_ticks);
	const struct sink_account account = {
		.end_ns = monotonic_ns(), .cpus = drain_cpus_online(), .exit_code = -1};
	return error ? error : sink_account(writer, &account);
}

struct recording {
	ARRAY(uint8_t) bytes;
};

static int live_snapshot_keep(void *context, const void *data, size_t bytes)
{
	struct recording *recording = context;

	return array_append(&recording->bytes, (const uint8_t *)data, bytes);
}

/* Write the snapshot as a recording. */
static int live_snapshot_write_recording(const struct snapshot *s,
	const struct snapshot_part *parts, size_t count, live_output_fn output, void *context)
{
	struct drain_title title;
	struct trace_writer_options options = drain_title(parts[0].drain, &title, NULL);
	struct trace_writer *w;

	options.output = output;
	options.output_context = context;
	int error = trace_writer_create(&w, &options);
	if (error)
		return error;
	error = live_snapshot_emit(w, s, parts, count);
	if (!error)
		return trace_writer_finish(w);
	trace_writer_abandon(w);
	return error;
}

/* Without rings there are only statistics and open bricks: no step has a known begin and end. */
static void tell_statistics_only(struct run *run, const struct snapshot_part *parts, size_t count)
{
	bool has_lanes = false;

	for (size_t i = 0; i < count; i++)
		for (uint32_t l = 0; l < drain_lanes(parts[i].drain); l++) {
			if (drain_level(parts[i].drain, l).capacity)
				return;
			has_lanes = true;
		}
	run->has_statistics_only = has_lanes;
	if (has_lanes)
		run->step_count = 0;
}

/* Undo the losses that a recording would report, but that only mean here that the run goes on. */
static void adjust(struct run *run, const struct snapshot_part *parts, size_t count)
{
	run->is_live = true;
	run->complete = 0;
	run->open_samples = 0;
	run->bad_records = 0;
	run->lost_processes = 0;
	for (size_t i = 0; i < run->process_count && i < count; i++)
		if (parts[i].end == DRAIN_END_OUTLIVED)
			run->processes[i].closed = 1;
	run_hook_calls_scale(run);
	tell_statistics_only(run, parts, count);
}

int live_snapshot(struct run **out, const struct snapshot_part *parts, size_t count,
	size_t capacity, int *whole)
{
	struct recording recording = {0};
	struct snapshot s = {0};
	struct load_error why;

	if (!count)
		return BRICK_ENOTRECORDED;
	int error = peek_all(&s, parts, count, capacity);
	if (!error)
		error = live_snapshot_write_recording(
			&s, parts, count, live_snapshot_keep, &recording);
	if (!error)
		error = run_load_memory(
			out, recording.bytes.items, recording.bytes.count, RUN_LIVE, &why);
	array_fini(&recording.bytes);
	if (!error) {
		adjust(*out, parts, count);
		*whole = s.whole;
	}
	fini(&s);
	return error;
}

int live_snapshot_write(const struct snapshot_part *part, live_output_fn output, void *context)
{
	struct snapshot s = {0};
	int error = peek_all(&s, part, 1, SIZE_MAX);

	if (!error)
		error = live_snapshot_write_recording(&s, part, 1, output, context);
	fini(&s);
	return error;
}

/*
 * ---- less an earlier one ----
 * Lanes are known by their process and their place among its lanes, bricks by their names: both
 * only ever grow.
 */

static uint64_t live_snapshot_less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The lane of `base` that is lane `number` of `run`; NULL: it is new. */
static const struct run_lane *same_lane(
	const struct run *base, const struct run *run, size_t number)
{
	uint32_t process = run->lanes[number].process;
	size_t place = 0;

	for (size_t i = 0; i < number; i++)
		place += run->lanes[i].process == process;
	if (process >= base->process_count ||
		base->processes[process].pid != run->processes[process].pid)
		return NULL;
	for (size_t i = 0; i < base->lane_count; i++)
		if (base->lanes[i].process == process && !place--)
			return &base->lanes[i];
	return NULL;
}

static void live_snapshot_subtract(struct run_stat *stat, const struct run_stat *before)
{
#define LESS(m) stat->m = live_snapshot_less(stat->m, before->m)
	LESS(count);
	LESS(total_ns);
	LESS(self_ns);
	LESS(elements);
	LESS(bytes);
	LESS(bytes_out);
	LESS(flops);
	LESS(wait_ns);
	LESS(nested_ns);
#undef LESS
	stat->min_ns = stat->max_ns = UINT64_MAX; /* not known */
}

static void subtract_histogram(struct run *run, uint32_t to, const struct run *base, uint32_t from)
{
	if (!run->histograms || !run->histograms[to] || !base->histograms ||
		!base->histograms[from])
		return;
	struct lengths_octaves *octaves = &run->histograms[to]->of_ticks;
	LENGTHS_EACH (i, octaves) {
		uint64_t *count = lengths_bucket(&octaves, i);
		*count = live_snapshot_less(*count, ticks_lengths_at(base->histograms[from], i));
	}
}

void live_subtract(struct run *run, const struct run *base)
{
	for (uint32_t b = 0; b < run->brick_count; b++) {
		uint32_t before = run_brick_find(base, run->bricks[b].name);
		if (before == RUN_NONE)
			continue;
		subtract_histogram(run, b, base, before);
		for (size_t l = 0; l < run->lane_count; l++) {
			const struct run_lane *lane = same_lane(base, run, l);
			if (lane && lane->stats && run->lanes[l].stats)
				live_snapshot_subtract(
					&run->lanes[l].stats[b], &lane->stats[before]);
		}
	}
}
