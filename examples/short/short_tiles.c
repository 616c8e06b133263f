/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of a product, with their places, and how fast they were. */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	brick_session_start(NULL);
	/* begin */
	struct brick_stats stats = BRICK_STATS_INIT;

	brick_tiles_set(BRICK_TILES_MIDI);
	for (uint32_t row = 0; row < 4; row++) {
		struct brick_tile tile = brick_tile_begin(BRICK_TILE_LEVEL_MIDI, row, 0);
		brick_tile_end(&tile, 256, 4096, 8192);
	}
	brick_tile_stats_get(BRICK_TILE_LEVEL_MIDI, &stats);
	printf("%llu tiles, %llu FLOPs\n", (unsigned long long)stats.count,
		(unsigned long long)stats.flops);
	/* end */
	return brick_session_stop();
}
