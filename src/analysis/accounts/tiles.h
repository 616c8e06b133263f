/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers a run's tiles by level and by the brick around them: statistics, and a map of the time in
 * their grid. Larger grids than TILES_BINS a side are binned, so that memory is bounded whatever a
 * recording says. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "brick/tile.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

enum { TILES_BINS = 64 }; /* most rows, and most columns, of a map */

/* Tiles of one cell of the map. */
struct tiles_bin {
	uint64_t count, total_ns;
};

struct tiles_group {
	uint32_t level; /* enum brick_tile_level */
	uint32_t brick; /* the innermost around them that is no tile; RUN_NONE: none */
	uint64_t count, total_ns, min_ns, max_ns;
	uint64_t p50_ns, p95_ns, p99_ns; /* ANALYSIS_UNKNOWN: too few */
	/* computed by the program from shapes; ANALYSIS_UNKNOWN where no tile said */
	uint64_t elements, bytes, flops;
	double gflops;		/* GFLOP/s of tiles that gave FLOPs; negative: unknown */
	double intensity;	/* FLOP per byte of tiles that gave both; negative: unknown */
	uint32_t rows, columns; /* of the grid: greatest index + 1 */
	uint32_t bin_rows, bin_columns;
	struct tiles_bin *bins; /* [bin_rows][bin_columns] */
};

struct tiles {
	struct tiles_group *groups; /* by level, then by total time, largest first */
	size_t group_count;
	uint64_t without_place; /* tiles in the file whose row and column were dropped */
};

/* level: an enum brick_tile_level; -1: all. -ENOMEM. A run without tiles gives no groups. */
int tiles_create(struct tiles **out, const struct run *run, int level);

/* NULL is legal. */
void tiles_destroy(struct tiles *tiles);

/* "macro", "midi", "micro". */
const char *tiles_level_name(uint32_t level);
