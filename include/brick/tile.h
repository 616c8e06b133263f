/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles: the pieces that a kernel cuts its work into, timed where they are computed, with their
 * row and column. They have a switch of their own, off by default, because there may be very many.
 * Tiles lie inside of bricks and of each other without taking time from them: the self time of a
 * brick is the same with and without tiles. Any thread, each for itself; not from signal handlers.
 */
#ifndef BRICK_TILE_H
#define BRICK_TILE_H

#include <stdint.h>
#include "brick/export.h"
#include "brick/probe.h"
#include "brick/stats.h"

BRICK_BEGIN_DECLS

/* Sizes of tiles. */
enum brick_tile_level {
	BRICK_TILE_LEVEL_MACRO = 0, /* sized for the last-level cache, or a device's memory */
	BRICK_TILE_LEVEL_MIDI = 1,  /* for the second-level cache, or shared memory */
	BRICK_TILE_LEVEL_MICRO = 2, /* for registers */
	BRICK_TILE_LEVELS,
};

/* Levels to be recorded, or'ed. */
enum brick_tile_levels {
	BRICK_TILES_MACRO = 1 << BRICK_TILE_LEVEL_MACRO,
	BRICK_TILES_MIDI = 1 << BRICK_TILE_LEVEL_MIDI,
	BRICK_TILES_MICRO = 1 << BRICK_TILE_LEVEL_MICRO,
};

/* enum brick_tile_levels that are recorded. Read it through brick_tiles_enabled(). */
BRICK_API extern uint32_t brick__tiles_on;

/* An open tile, which brick_tile_begin() returns. 12 bytes; nothing is allocated. */
struct brick_tile {
	brick_span span; /* 0: nothing was begun */
	uint32_t row, column;
};

/*
 * Sets the levels that are recorded (enum brick_tile_levels); 0 switches all off. `brick record
 * --tiles` asks for macro and midi, and `--tiles=LEVELS` for others.
 */
BRICK_API void brick_tiles_set(uint32_t levels);

/* Returns 1 if tiles of this level are recorded, else 0. */
static inline int brick_tiles_enabled(enum brick_tile_level level)
{
	return (unsigned)level < BRICK_TILE_LEVELS &&
	       (__atomic_load_n(&brick__tiles_on, __ATOMIC_RELAXED) >> level) & 1;
}

BRICK_API struct brick_tile brick__tile_begin(
	enum brick_tile_level level, uint32_t row, uint32_t column);
BRICK_API void brick__tile_end(
	const struct brick_tile *tile, uint64_t elements, uint64_t bytes, uint64_t flops);

/* Begin the tile at `row` and `column` of its level's grid. */
static inline struct brick_tile brick_tile_begin(
	enum brick_tile_level level, uint32_t row, uint32_t column)
{
	if (BRICK_UNLIKELY(brick_tiles_enabled(level)))
		return brick__tile_begin(level, row, column);
	struct brick_tile none = {0, 0, 0};
	return none;
}

/* End a tile, with the elements it produced, the bytes it moved, its FLOPs; 0: not known. */
static inline void brick_tile_end(
	const struct brick_tile *tile, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	if (BRICK_UNLIKELY(tile->span))
		brick__tile_end(tile, elements, bytes, flops);
}

/* Get the statistics of a level in the running session; errors as of brick_stats_get(). */
BRICK_API int brick_tile_stats_get(enum brick_tile_level level, struct brick_stats *out);

BRICK_END_DECLS

#endif
