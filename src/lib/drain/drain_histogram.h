/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drained histograms: the consumer enters the duration of every record that it emits. The
 * record's owner has entered the durations of dropped records into its lane's histograms: both
 * together are exact. Emitting side.
 */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

struct drain_counts {
	uint64_t records, samples, steps; /* emitted */
	uint64_t dropped;		  /* records, by the ledgers */
	uint64_t threads;
	uint64_t refused;      /* records of threads that could have no lane */
	uint64_t off_cpu_lost; /* intervals off a CPU that were lost, of threads that record */
};

/*
 * A step that has ended, told before its length is among those of drain_length(). Nested steps are
 * parts of theirs.
 */
struct drain_step {
	uint32_t brick;
	bool is_plain; /* recorded as one piece: BRICK_PLAIN_NAME */
	uint64_t begin, end;
};
typedef void (*drain_step_fn)(void *context, const struct drain_step *step);

enum { DRAIN_STEP_WATCHERS = 2 };

struct drain_histograms {
	struct drain_step_watcher {
		drain_step_fn on_step;
		void *context;
	} watchers[DRAIN_STEP_WATCHERS];
	uint32_t watcher_count;
	uint32_t plain_brick;		      /* 0: not known yet */
	uint32_t *rows[BRICK_MAX_BRICKS];     /* in the session, or private; NULL: none yet */
	bool is_private[BRICK_MAX_BRICKS];    /* the row is memory of this process: to be freed */
	char *blocks[BRICK_HISTOGRAM_BLOCKS]; /* mapped blocks, from [1] on; NULL: not mapped */
};

/*
 * Enters the durations of a lane's records, and adds the records to *counts. `bricks`: how many ids
 * are known; records of others are left out.
 */
void drain_histograms_enter(struct drain_histograms *histograms, struct drain_map *map,
	struct drain_lane *lane, uint32_t bricks, const struct brick_record *records, size_t count,
	struct drain_counts *counts);

/*
 * The percentile of the lengths of a brick so far, in ticks, by nearest rank; *count: of how many.
 * Only what was emitted counts.
 */
uint64_t drain_histogram_percentile(const struct drain_histograms *histograms, uint32_t brick,
	unsigned percent, uint64_t *count);

/* Emits each brick's histogram: the sum of its drained row and of the lanes' rows. 0, -ENOMEM, or
 * the writer's error. */
int drain_histograms_emit(const struct drain_histograms *histograms, struct drain_map *map,
	uint32_t bricks, struct trace_writer *writer, int process);

void drain_histograms_fini(struct drain_histograms *histograms, struct drain_map *map);
