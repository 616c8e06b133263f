/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of a run by hand (F356-F378): grouped by level and by the brick around them, filtered,
 * binned, rated; and a summary that does not see them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/selection.h"
#include "analysis/accounts/summary.h"
#include "analysis/accounts/tiles.h"
#include "analysis/statistics/unknown.h"
#include "brick/error.h"
#include "tests/unit/run_builder.h"

enum { ALL_LEVELS = -1 };

static struct tiles *tiles_of(struct run *run, int level)
{
	struct tiles *t;
	assert_int_equal(tiles_create(&t, run, level), 0);
	return t;
}

static void narrow(struct run *run, struct selection selection)
{
	char *missing;
	assert_int_equal(selection_apply(&selection, run, &missing), 0);
}

static void add_tile(struct run *run, uint32_t lane, uint32_t site, uint64_t begin_ns,
	uint64_t end_ns, unsigned depth, uint32_t row, uint32_t column)
{
	builder_sample(run, lane, site, begin_ns, end_ns, depth);
	BUILDER_GROW(run->tiles, run->tile_count);
	run->tiles[run->tile_count++] = (struct run_tile){.lane = lane,
		.sample = (uint32_t)run->lanes[lane].sample_count - 1,
		.level = (uint32_t)(run->bricks[run->sites[site].brick].well_known -
				    BRICK_TILE_MACRO),
		.row = row,
		.column = column};
}

/*
 * Up [0, 1000] holds macro (0,0) [0, 900], which holds midi (0,0) [0, 400] and (1,2) [400, 800];
 * in layer 3. Then a midi tile (5,5) [2000, 2100] outside of everything.
 */
static uint32_t build(struct run *run)
{
	memset(run, 0, sizeof *run);
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	uint32_t lane = builder_lane(run, builder_process(run, 1), 1);
	uint32_t up = builder_site(run, builder_known(run, BRICK_UP_PROJECTION), 3, NULL, NULL);
	uint32_t macro = builder_site(run, builder_known(run, BRICK_TILE_MACRO), -1, NULL, NULL);
	uint32_t midi = builder_site(run, builder_known(run, BRICK_TILE_MIDI), -1, NULL, NULL);
	run->sites[midi].flags =
		BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	run->sites[midi].elements = 8;
	run->sites[midi].bytes = 100;
	run->sites[midi].flops = 800;
	builder_sample(run, lane, up, 0, 1000, 0);
	add_tile(run, lane, macro, 0, 900, 1, 0, 0);
	add_tile(run, lane, midi, 0, 400, 2, 0, 0);
	add_tile(run, lane, midi, 400, 800, 2, 1, 2);
	add_tile(run, lane, midi, 2000, 2100, 0, 5, 5);
	run->lanes[lane].end_ns = run->end_ns = 3000;
	return run->sites[up].brick;
}

static void groups_are_by_level_and_brick(void **state)
{
	struct run run;
	struct tiles *t;
	uint32_t up = build(&run);

	assert_int_equal(tiles_create(&t, &run, ALL_LEVELS), 0);
	assert_int_equal(t->group_count, 3);
	assert_int_equal(t->without_place, 0);
	assert_int_equal(t->groups[0].level, BRICK_TILE_LEVEL_MACRO);
	assert_int_equal(t->groups[0].brick, up);
	assert_int_equal(t->groups[0].total_ns, 900);
	assert_true(t->groups[0].flops == ANALYSIS_UNKNOWN);
	assert_true(t->groups[0].gflops < 0 && t->groups[0].intensity < 0);
	const struct tiles_group *midi = &t->groups[1];
	assert_int_equal(midi->level, BRICK_TILE_LEVEL_MIDI);
	assert_int_equal(midi->brick, up);
	assert_int_equal(midi->count, 2);
	assert_int_equal(midi->total_ns, 800);
	assert_int_equal(midi->min_ns, 400);
	assert_int_equal(midi->elements, 16);
	assert_int_equal(midi->flops, 1600);
	assert_true(midi->gflops == 2 && midi->intensity == 8);
	assert_int_equal(midi->rows, 2);
	assert_int_equal(midi->columns, 3);
	assert_int_equal(midi->bins[0].count, 1);
	assert_int_equal(midi->bins[1 * 3 + 2].count, 1);
	assert_int_equal(midi->bins[1 * 3 + 2].total_ns, 400);
	assert_int_equal(midi->bins[1].count, 0);
	assert_int_equal(t->groups[2].brick, RUN_NONE);
	assert_int_equal(t->groups[2].total_ns, 100);
	tiles_destroy(t);
	run_fini(&run);
}

static void filters_choose(void **state)
{
	struct selection brick = SELECTION_INIT, layer = SELECTION_INIT, outside = SELECTION_INIT;
	struct run run;
	(void)state;
	build(&run);
	struct tiles *t = tiles_of(&run, BRICK_TILE_LEVEL_MIDI);
	assert_int_equal(t->group_count, 2);
	tiles_destroy(t);
	brick.brick = "UpProjection";
	narrow(&run, brick);
	t = tiles_of(&run, ALL_LEVELS);
	assert_int_equal(t->group_count, 2);
	tiles_destroy(t);
	run_fini(&run);
	build(&run);
	layer.layer = 3;
	narrow(&run, layer);
	t = tiles_of(&run, ALL_LEVELS);
	assert_int_equal(t->group_count, 2);
	tiles_destroy(t);
	run_fini(&run);
	build(&run);
	outside.layer = -1;
	narrow(&run, outside);
	t = tiles_of(&run, ALL_LEVELS);
	assert_int_equal(t->group_count, 1);
	assert_int_equal(t->groups[0].total_ns, 100);
	tiles_destroy(t);
	run_fini(&run);
}

/* A decode step on another thread from 300 to 700: one midi tile began in it. */
static void phases_are_told_apart_by_time(void **state)
{
	struct run run;
	struct tiles *t;
	char *missing;
	struct selection decode = SELECTION_INIT, prefill = SELECTION_INIT;
	decode.phase = STEP_DECODE;
	prefill.phase = STEP_PREFILL;
	build(&run);
	uint32_t lane = builder_lane(&run, 0, 2);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	builder_sample(&run, lane, step, 300, 700, 0);
	builder_step(&run, lane, 1);
	narrow(&run, decode);
	t = tiles_of(&run, ALL_LEVELS);
	assert_int_equal(t->group_count, 1);
	assert_int_equal(t->groups[0].count, 1);
	assert_int_equal(t->groups[0].bins[1 * 3 + 2].count, 1);
	tiles_destroy(t);
	assert_int_equal(selection_apply(&prefill, &run, &missing), BRICK_ENOTRECORDED);
	free(missing);
	run_fini(&run);
}

/* A grid of four billion rows takes no more memory than one of 64; its corners are in the corners.
 */
static void large_grids_are_binned(void **state)
{
	struct run run;
	struct tiles *t;

	build(&run);
	run.tiles[1].row = UINT32_MAX;
	run.tiles[1].column = UINT32_MAX;
	run.tiles[2].row = 0;
	run.tiles[2].column = 0;
	assert_int_equal(tiles_create(&t, &run, ALL_LEVELS), 0);
	const struct tiles_group *midi = &t->groups[1];
	assert_int_equal(midi->bin_rows, TILES_BINS);
	assert_int_equal(midi->bin_columns, TILES_BINS);
	assert_int_equal(midi->bins[0].count, 1);
	assert_int_equal(midi->bins[TILES_BINS * TILES_BINS - 1].count, 1);
	tiles_destroy(t);
	run_fini(&run);
}

static void the_report_gives_their_time_to_the_brick(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t up = build(&run);

	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 1);
	assert_int_equal(s->rows[0].id, up);
	assert_int_equal(s->rows[0].self_ns, 1000);
	summary_destroy(s);
	run_fini(&run);
}

/* A bucket's middle is not beyond the values in it. */
static void percentiles_are_between_min_and_max(void **state)
{
	struct run run;
	struct tiles *t;
	memset(&run, 0, sizeof run);
	run.complete = 1;
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	uint32_t midi = builder_site(&run, builder_known(&run, BRICK_TILE_MIDI), -1, NULL, NULL);
	for (uint64_t i = 0; i < 5; i++)
		add_tile(&run, lane, midi, 20000 * i, 20000 * i + 10075, 0, 0, 0);
	assert_int_equal(tiles_create(&t, &run, ALL_LEVELS), 0);
	assert_int_equal(t->groups[0].min_ns, 10075);
	assert_int_equal(t->groups[0].p50_ns, 10075);
	tiles_destroy(t);
	run_fini(&run);
}

/* A step that goes on is found behind one that began later and has ended. */
static void build_overlap(struct run *run, enum step_phase phase)
{
	struct selection selection = SELECTION_INIT;
	build(run);
	uint32_t a = builder_lane(run, 0, 2), b = builder_lane(run, 0, 3);
	builder_sample(run, a, builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL),
		10, 2500, 0);
	builder_step(run, a, 1);
	builder_sample(run, b, builder_site(run, builder_known(run, BRICK_PREFILL), -1, NULL, NULL),
		300, 700, 0);
	builder_step(run, b, 1);
	selection.phase = (int)phase;
	narrow(run, selection);
}

static void phases_that_overlap(void **state)
{
	struct run run;
	build_overlap(&run, STEP_DECODE);
	struct tiles *t = tiles_of(&run, ALL_LEVELS);
	assert_int_equal(t->group_count, 1);
	assert_int_equal(t->groups[0].brick, RUN_NONE); /* the tile at 2000 */
	tiles_destroy(t);
	run_fini(&run);
	build_overlap(&run, STEP_PREFILL);
	t = tiles_of(&run, ALL_LEVELS);
	assert_int_equal(t->group_count, 1);
	assert_int_equal(t->groups[0].count, 1); /* the tile at 400 */
	tiles_destroy(t);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_by_level_and_brick),
		cmocka_unit_test(filters_choose),
		cmocka_unit_test(phases_are_told_apart_by_time),
		cmocka_unit_test(percentiles_are_between_min_and_max),
		cmocka_unit_test(phases_that_overlap),
		cmocka_unit_test(large_grids_are_binned),
		cmocka_unit_test(the_report_gives_their_time_to_the_brick),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
