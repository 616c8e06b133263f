/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact statistics of lanes and histograms of processes, as events of the run's own. Later events
 * replace earlier ones of the same lane and brick. Values in ticks stay in ticks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/scope.h"
#include "lib/writer/writer_state.h"

enum { STATISTICS_PER_EVENT = 64 };

/* One brick's entry; what is 0 is left out. */
static void event_stat(struct trace_writer *w, const struct writer_process *process,
	const struct brick_session_brick *brick, const struct brick_stat *stat)
{
	size_t dict = event_dict(w, NULL);

	event_text(w, "brick", brick->name, sizeof brick->name);
	if (brick->category < process->tables.category_count) {
		const char *category = process->tables.categories[brick->category].name;
		event_text(w, "category", category, sizeof process->tables.categories->name);
	}
#define FORMAT_X(field)  \
	if (stat->field) \
		event_uint(w, #field, stat->field);
	FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

/* The bricks [from, count) that ran, up to a number per event; returns where it stopped. */
static uint32_t statistics_event(struct trace_writer *w, const struct writer_lane *lane,
	const struct brick_lane *state, uint32_t from)
{
	uint32_t left = STATISTICS_PER_EVENT, i = from;

	event_open(w, FORMAT_STATISTICS, w->last_ns);
	event_uint(w, "lane", lane->number);
	event_uint(w, "tid", state->tid);
	event_text(w, "name", state->name, sizeof state->name);
	event_uints(w, state, owners, start_ticks, end_ticks, live_ticks, hook_calls, hook_timed,
		hook_ticks);
	event_ledger(w, &state->ledger);
	size_t list = event_array(w, "bricks");
	for (; i < lane->process->tables.brick_count && left; i++) {
		struct brick_stat stat = state->stats[i];
		if (!stat.count)
			continue;
		event_stat(w, lane->process, &lane->process->tables.bricks[i], &stat);
		left--;
	}
	event_end_nested(w, list);
	event_close(w);
	return i;
}

int writer_sink_lane_stats(struct sink *sink, int number, const struct brick_lane *state)
{
	struct trace_writer *w = writer_of(sink);

	struct writer_lane *lane = w->lanes[number];
	uint32_t next = 0;
	writer_release(w, lane);
	if (lane->started && lane->kind == BRICK_LANE_THREAD && state->tid == lane->track_tid)
		writer_lane_name(lane, state->name);
	do
		next = statistics_event(w, lane, state, next);
	while (!w->packets.error && next < lane->process->tables.brick_count);
	return w->packets.error;
}

/* Buckets that are not empty, as text: "index:count" with blanks between. */
static int histogram_event(
	struct trace_writer *w, int number, uint32_t brick, const uint64_t *buckets)
{
	const struct brick_session_brick *entry = &w->processes[number]->tables.bricks[brick];
	SCOPED char *text = malloc(BRICK_HISTOGRAM_BUCKETS * 28u);
	size_t size = 0;

	if (!text)
		return packets_fail(&w->packets, -ENOMEM);
	text[0] = 0;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		if (buckets[i])
			size += (size_t)sprintf(text + size, "%s%u:%llu", size ? " " : "", i,
				(unsigned long long)buckets[i]);
	event_open(w, FORMAT_HISTOGRAM, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_text(w, "brick", entry->name, sizeof entry->name);
	event_text(w, "buckets", text, size);
	return event_close(w);
}

int writer_sink_histograms(
	struct sink *sink, int number, uint32_t brick_count, const uint64_t *const *histograms)
{
	struct trace_writer *w = writer_of(sink);

	if (brick_count > w->processes[number]->tables.brick_count)
		brick_count = w->processes[number]->tables.brick_count;
	for (uint32_t i = 0; i < brick_count && !w->packets.error; i++)
		if (histograms[i])
			histogram_event(w, number, i, histograms[i]);
	return w->packets.error;
}
