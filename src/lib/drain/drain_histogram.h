/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drained histograms: the consumer enters the duration of every record that it emits, its
 * producer those of records that it dropped, so that both together are exact. Emitting side.
 */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

struct drain_counts {
	uint64_t records, samples, steps, dropped, threads;
	uint64_t refused;      /* records of threads that could have no lane */
	uint64_t off_cpu_lost; /* times off a CPU of threads that record */
};

struct drain_histograms {
	uint32_t *rows[BRICK_MAX_BRICKS]; /* of the session, or private; NULL: none yet */
	bool is_private[BRICK_MAX_BRICKS];
	char *blocks[BRICK_HISTOGRAM_BLOCKS]; /* mapped for them, behind the first one */
};

/* Enter all that records of a lane say, and count them; `bricks` are known. */
void drain_histograms_enter(struct drain_histograms *histograms, struct drain_map *map,
	struct drain_lane *lane, uint32_t bricks, const struct brick_record *records, size_t count,
	struct drain_counts *counts);

/* Emit those of the whole process: drained ones and those that the lanes kept. */
int drain_histograms_emit(const struct drain_histograms *histograms, struct drain_map *map,
	uint32_t bricks, struct trace_writer *writer, int process);

void drain_histograms_fini(struct drain_histograms *histograms, struct drain_map *map);
