/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the run's tiles: the first finds the groups and the size of their grids, the
 * second fills the maps. A tile lies in the brick of the innermost sample around it that is no
 * tile.
 */
#include "analysis/accounts/tiles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "base/order.h"

/* Sums of a group while its tiles are counted. */
struct sums {
	uint64_t flags;			 /* mask of BRICK_SITE_* */
	uint64_t flops_ns;		 /* time of tiles that gave FLOPs */
	uint64_t both_flops, both_bytes; /* of tiles that gave both */
	struct ns_lengths *histogram;
};

struct gathering {
	const struct run *run;
	int level; /* -1: all */
	struct tiles *tiles;
	struct sums *sums;
	uint32_t *slot; /* [BRICK_TILE_LEVELS][brick_count + 1]: group + 1 */
	size_t capacity;
	/* the stack of samples that hold the next one, on the present lane */
	uint32_t open[UINT8_MAX + 1];
	uint32_t lane, next; /* samples of the lane before `next` are on the stack or done */
};

const char *tiles_level_name(uint32_t level)
{
	static const char *const names[BRICK_TILE_LEVELS] = {"macro", "midi", "micro"};

	return level < BRICK_TILE_LEVELS ? names[level] : "unknown";
}

static bool is_tile(const struct run *run, uint32_t site)
{
	int32_t id = run->bricks[run->sites[site].brick].well_known;

	return id >= BRICK_TILE_MACRO && id <= BRICK_TILE_MICRO;
}

/* Site of the innermost brick around the tile's sample, RUN_NONE: there is none. */
static uint32_t holder(struct gathering *g, const struct run_tile *tile)
{
	const struct run_sample *samples = g->run->lanes[tile->lane].samples;

	if (g->lane != tile->lane || tile->sample < g->next) {
		g->lane = tile->lane;
		g->next = 0;
	}
	for (; g->next <= tile->sample; g->next++)
		g->open[samples[g->next].depth] = g->next;
	for (unsigned depth = samples[tile->sample].depth; depth-- > 0;)
		if (!is_tile(g->run, samples[g->open[depth]].site))
			return samples[g->open[depth]].site;
	return RUN_NONE;
}

static bool tiles_is_wanted(const struct gathering *g, const struct run_tile *tile, uint32_t site)
{
	uint32_t own = g->run->lanes[tile->lane].samples[tile->sample].site;

	return tile->level < BRICK_TILE_LEVELS &&
	       (g->level < 0 || (uint32_t)g->level == tile->level) &&
	       !g->run->sites[site == RUN_NONE ? own : site].left_out;
}

static uint32_t *tiles_slot_of(struct gathering *g, uint32_t level, uint32_t site)
{
	size_t bricks = g->run->brick_count + 1;
	size_t brick = site == RUN_NONE ? bricks - 1 : g->run->sites[site].brick;

	return &g->slot[level * bricks + brick];
}

static int add_group(struct gathering *g, uint32_t *slot, uint32_t level, uint32_t site)
{
	struct tiles *t = g->tiles;

	if (t->group_count == g->capacity) {
		size_t capacity = g->capacity ? 2 * g->capacity : 16;
		struct tiles_group *groups = realloc(t->groups, capacity * sizeof(*groups));
		if (groups)
			t->groups = groups;
		struct sums *sums = realloc(g->sums, capacity * sizeof(*sums));
		if (sums)
			g->sums = sums;
		if (!groups || !sums)
			return -ENOMEM;
		g->capacity = capacity;
	}
	t->groups[t->group_count] = (struct tiles_group){
		.level = level,
		.brick = site == RUN_NONE ? RUN_NONE : g->run->sites[site].brick,
		.min_ns = UINT64_MAX,
	};
	g->sums[t->group_count] = (struct sums){0};
	*slot = (uint32_t)++t->group_count;
	return 0;
}

static int find_groups(struct gathering *g)
{
	for (size_t i = 0; i < g->run->tile_count; i++) {
		const struct run_tile *tile = &g->run->tiles[i];
		uint32_t site = holder(g, tile);
		if (!tiles_is_wanted(g, tile, site))
			continue;
		uint32_t *slot = tiles_slot_of(g, tile->level, site);
		if (!*slot && add_group(g, slot, tile->level, site) < 0)
			return -ENOMEM;
		struct tiles_group *group = &g->tiles->groups[*slot - 1];
		if (tile->row >= group->rows)
			group->rows = tile->row < UINT32_MAX ? tile->row + 1 : UINT32_MAX;
		if (tile->column >= group->columns)
			group->columns = tile->column < UINT32_MAX ? tile->column + 1 : UINT32_MAX;
	}
	return 0;
}

static int make_maps(struct gathering *g)
{
	for (size_t i = 0; i < g->tiles->group_count; i++) {
		struct tiles_group *group = &g->tiles->groups[i];
		group->bin_rows = group->rows < TILES_BINS ? group->rows : TILES_BINS;
		group->bin_columns = group->columns < TILES_BINS ? group->columns : TILES_BINS;
		group->bins =
			calloc((size_t)group->bin_rows * group->bin_columns, sizeof(*group->bins));
		if (!group->bins)
			return -ENOMEM;
	}
	return 0;
}

/* The last index of a grid of all 2^32 is in its last bin, too, although its size saturates. */
static uint32_t bin_of(uint32_t index, uint32_t size, uint32_t bins)
{
	uint64_t bin = (uint64_t)index * bins / size;

	return bin < bins ? (uint32_t)bin : bins - 1;
}

static void count_tile(struct tiles_group *group, struct sums *sums, const struct run_tile *tile,
	const struct run_site *site, uint64_t ns)
{
	uint32_t row = bin_of(tile->row, group->rows, group->bin_rows);
	uint32_t column = bin_of(tile->column, group->columns, group->bin_columns);
	struct tiles_bin *bin = &group->bins[row * group->bin_columns + column];

	bin->count++;
	bin->total_ns += ns;
	group->count++;
	group->total_ns += ns;
	if (ns < group->min_ns)
		group->min_ns = ns;
	if (ns > group->max_ns)
		group->max_ns = ns;
	group->elements += site->elements;
	group->bytes += site->bytes;
	group->flops += site->flops;
	sums->flags |= site->flags;
	if (!site->flops)
		return;
	sums->flops_ns += ns;
	if (site->bytes) {
		sums->both_flops += site->flops;
		sums->both_bytes += site->bytes;
	}
}

static int tiles_count_all(struct gathering *g)
{
	const struct run *run = g->run;

	for (size_t i = 0; i < run->tile_count; i++) {
		const struct run_tile *tile = &run->tiles[i];
		const struct run_sample *sample = &run->lanes[tile->lane].samples[tile->sample];
		uint32_t site = holder(g, tile);
		if (!tiles_is_wanted(g, tile, site) || (sample->flags & RUN_SAMPLE_OPEN))
			continue;
		uint32_t group = *tiles_slot_of(g, tile->level, site) - 1;
		uint64_t ns = sample->end_ns - sample->begin_ns;
		if (!ns_lengths_add(&g->sums[group].histogram, brick_histogram_index(ns), 1))
			return -ENOMEM;
		count_tile(&g->tiles->groups[group], &g->sums[group], tile,
			&run->sites[sample->site], ns);
	}
	for (size_t i = 0; i < g->tiles->group_count; i++) {
		struct tiles_group *group = &g->tiles->groups[i];
		const struct sums *sums = &g->sums[i];
		uint64_t *const out[] = {&group->p50_ns, &group->p95_ns, &group->p99_ns};
		static const unsigned percents[] = {50, 95, 99};
		for (size_t k = 0; k < 3; k++)
			*out[k] = percentile_bounded(percentile_of_ns(sums->histogram, percents[k]),
				group->min_ns, group->max_ns);
		group->gflops = group->flops ? known_ratio(group->flops, sums->flops_ns) : -1;
		group->intensity = known_ratio(sums->both_flops, sums->both_bytes);
		if (!group->elements)
			group->elements = ANALYSIS_UNKNOWN;
		if (!group->bytes)
			group->bytes = ANALYSIS_UNKNOWN;
		if (!group->flops)
			group->flops = ANALYSIS_UNKNOWN;
	}
	return 0;
}

/* Tile samples that no place follows: their record was dropped. */
static uint64_t tiles_count_lost(const struct run *run)
{
	uint64_t samples = 0;

	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t i = 0; i < run->lanes[l].sample_count; i++)
			samples += is_tile(run, run->lanes[l].samples[i].site);
	return samples - run->tile_count;
}

COMPARATOR(by_level_and_time, struct tiles_group,
	ORDER(x->level, y->level) ?: ORDER(y->total_ns, x->total_ns) ?: ORDER(x->brick, y->brick))

int tiles_create(struct tiles **out, const struct run *run, int level)
{
	struct gathering g = {.run = run, .level = level, .lane = RUN_NONE};
	int error = -ENOMEM;

	g.tiles = calloc(1, sizeof(*g.tiles));
	g.slot = calloc(BRICK_TILE_LEVELS * (run->brick_count + 1), sizeof(*g.slot));
	if (g.tiles && g.slot)
		error = find_groups(&g);
	if (!error)
		error = make_maps(&g);
	if (!error)
		error = tiles_count_all(&g);
	if (!error)
		g.tiles->without_place = tiles_count_lost(run);
	for (size_t i = 0; g.sums && i < g.tiles->group_count; i++)
		free(g.sums[i].histogram);
	free(g.sums);
	free(g.slot);
	if (error) {
		tiles_destroy(g.tiles);
		return error;
	}
	if (g.tiles->group_count)
		qsort(g.tiles->groups, g.tiles->group_count, sizeof(*g.tiles->groups),
			by_level_and_time);
	*out = g.tiles;
	return 0;
}

void tiles_destroy(struct tiles *tiles)
{
	if (!tiles)
		return;
	for (size_t i = 0; i < tiles->group_count; i++)
		free(tiles->groups[i].bins);
	free(tiles->groups);
	free(tiles);
}
