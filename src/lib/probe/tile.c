/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles: bricks of the category Tile whose time stays with the brick that they lie in, followed
 * in the ring by their place in the grid. Instrumented programs call this in their inner loops:
 * nothing here locks, allocates or calls the system.
 */
#include "brick/tile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "brick/session.h"
#include "lib/session/session_lanes.h"
#include "lib/probe/tile_stack.h"
#include "lib/sys/environment.h"

uint32_t brick__tiles_on;
static uint32_t is_noted;

void brick_tiles_set(uint32_t levels)
{
	__atomic_store_n(
		&brick__tiles_on, levels & ((1u << BRICK_TILE_LEVELS) - 1), __ATOMIC_RELAXED);
}

/* BRICK_TILES is set by the recorder: "macro,midi,micro" or some of them. */
void brick__tiles_start(void)
{
	static const char *const names[BRICK_TILE_LEVELS] = {"macro", "midi", "micro"};
	const char *wanted = brick__environment("BRICK_TILES");
	uint32_t levels = 0;

	for (uint32_t i = 0; wanted && i < BRICK_TILE_LEVELS; i++)
		if (strstr(wanted, names[i]))
			levels |= 1u << i;
	if (levels)
		brick_tiles_set(levels);
}

/* Notes once per process that tiles are recorded. */
static __attribute__((noinline, cold)) void tile_note(void)
{
	if (!__atomic_exchange_n(&is_noted, 1, __ATOMIC_RELAXED))
		brick_note("capture.tiles", "on");
}

struct brick_tile brick__tile_begin(enum brick_tile_level level, uint32_t row, uint32_t column)
{
	struct brick_tile tile = {0, row, column};

	if (BRICK_UNLIKELY(!__atomic_load_n(&is_noted, __ATOMIC_RELAXED)))
		tile_note();
	if ((unsigned)level < BRICK_TILE_LEVELS)
		tile.span = brick_begin(BRICK_TILE_MACRO + (uint32_t)level);
	return tile;
}

/* The tile's place in the grid follows the record of its execution. */
static void tile_write_place(struct brick_lane *lane, const struct brick_tile *tile, uint32_t level)
{
	struct brick__thread *self = &brick__thread;
	uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);

	if (lane->head - tail + BRICK_MAX_DEPTH >= lane->capacity || !brick__lane_backs(lane, 1)) {
		lane->ledger.dropped++;
		return;
	}
	self->ring[lane->head & self->mask] = (struct brick_record){
		.begin = (uint64_t)tile->row << 32 | tile->column,
		.kind = BRICK_RECORD_TILE,
		.layer = -1,
		.elements = level,
	};
	__atomic_store_n(&lane->head, lane->head + 1, __ATOMIC_RELEASE);
}

void brick__tile_end(
	const struct brick_tile *tile, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	struct brick_lane *lane = brick__thread.lane;
	uint32_t depth = tile->span & 0xff;

	if (!lane || (brick__thread.tag | brick_lane_open(lane)) != tile->span) {
		brick__end_work(
			tile->span, elements, bytes, flops); /* unbalanced: it counts that */
		return;
	}
	const struct brick_frame *frame = &lane->frames[depth - 1];
	uint32_t level = frame->brick - (uint32_t)BRICK_TILE_MACRO;
	uint64_t nested =
		depth == lane->depth ? frame->child : 0; /* by bricks inside of the tile */
	uint64_t before = depth > 1 ? lane->frames[depth - 2].child : 0;
	uint64_t head = lane->head;

	brick__end_work(tile->span, elements, bytes, flops);
	if (depth > 1)
		lane->frames[depth - 2].child = before + nested;
	if (lane->head != head)
		tile_write_place(lane, tile, level);
}

int brick_tile_stats_get(enum brick_tile_level level, struct brick_stats *out)
{
	if ((unsigned)level >= BRICK_TILE_LEVELS)
		return -EINVAL;
	return brick_stats_get(BRICK_TILE_MACRO + (uint32_t)level, out);
}
