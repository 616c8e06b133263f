/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: exact statistics over samples, what they say of losses, recursion, layers, threads, work
 * and rates; the ledger; and the estimate of what recording cost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/breakdown.h"
#include "analysis/distortion.h"
#include "brick/abi/overhead.h"
#include "analysis/losses.h"
#include "analysis/summary.h"
#include "analysis/unknown.h"
#include "tests/unit/run_builder.h"

static const struct summary_row *row_named(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (!strcmp(s->rows[i].name, name))
			return &s->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static uint32_t start(struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	return builder_lane(run, builder_process(run, 1), 1);
}

static void give_stats(struct run *run, uint32_t lane)
{
	struct brick_stat *stats = calloc(run->brick_count, sizeof(*stats));
	for (size_t b = 0; b < run->brick_count; b++)
		stats[b].min = UINT64_MAX;
	run->lanes[lane].stats = stats;
}

/* Ten executions of which eight were dropped: the thread's own statistics know better. */
static void exact_statistics_win(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t site = builder_site(&run, brick, 0, NULL, NULL);
	builder_sample(&run, lane, site, 0, 10, 0);
	builder_sample(&run, lane, site, 50, 60, 0);
	give_stats(&run, lane);
	run.lanes[lane].stats[brick] = (struct brick_stat){.count = 10,
		.total = 200,
		.self = 190,
		.min = 5,
		.max = 90,
		.elements = 1000,
		.wait = 7};
	run.lanes[lane].ledger.dropped = 8;
	run.lanes[lane].end_ns = 100;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	const struct summary_row *row = row_named(s, "Work");
	assert_int_equal(row->count, 10);
	assert_int_equal(row->total_ns, 200);
	assert_int_equal(row->self_ns, 190);
	assert_int_equal(row->wait_ns, 7);
	assert_int_equal(row->min_ns, 5);
	assert_int_equal(row->max_ns, 90);
	assert_int_equal(row->avg_ns, 20);
	assert_int_equal(row->elements, 1000);
	assert_true(row->bytes == ANALYSIS_UNKNOWN);
	assert_int_equal(row->wall_ns, 20);
	assert_int_equal(s->samples, 2);
	assert_int_equal(s->executions, 10);
	assert_int_equal(s->mismatched, 0); /* the drops say why */
	summary_destroy(s);

	run.lanes[lane].ledger.dropped = 0;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->mismatched, 8);
	struct losses losses;
	losses_of_run(&losses, &run, s->mismatched);
	assert_int_equal(losses.unmatched, 8);
	assert_true(losses_any(&losses));
	summary_destroy(s);

	run.complete = 0; /* cut off: the last samples may be newer than the statistics */
	run.lanes[lane].stats[brick].count = 1;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(s, "Work")->count, 2);
	assert_int_equal(row_named(s, "Work")->self_ns, 20);
	summary_destroy(s);
	run_fini(&run);
}

/* Those that the program timed itself: lengths without a place, so that nothing is missing. */
static void reported_ones_count(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t brick = builder_brick(&run, "Work", "Other");
	for (uint64_t i = 0; i < 3; i++) {
		BUILDER_GROW(run.points, run.point_count);
		run.points[run.point_count++] = (struct run_point){.ns = 10 + i,
			.lane = lane,
			.kind = i < 2 ? RUN_POINT_REPORTED : RUN_POINT_INSTANT,
			.brick = brick,
			.value = i < 2 ? 100.0 + (double)i : 0};
	}
	give_stats(&run, lane);
	run.lanes[lane].stats[brick] =
		(struct brick_stat){.count = 2, .total = 201, .self = 201, .min = 100, .max = 101};
	run.lanes[lane].end_ns = 100;
	for (int complete = 0; complete < 2; complete++) {
		run.complete = complete;
		run.lanes[lane].stats[brick].count = complete ? 2 : 1;
		assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
		const struct summary_row *row = row_named(s, "Work");
		assert_int_equal(row->count, 2);
		assert_int_equal(row->total_ns, 201);
		assert_int_equal(row->self_ns, 201);
		assert_int_equal(row->wall_ns, 0);
		assert_int_equal(row->p50_ns, 100);
		assert_int_equal(row->sources, 1 << BRICK_SOURCE_REPORTED);
		assert_int_equal(s->samples, 2);
		assert_int_equal(s->mismatched, 0);
		assert_int_equal(s->categories[0].total_ns, 201);
		summary_destroy(s);
	}
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, STEP_DECODE), 0);
	assert_int_equal(s->row_count, 0);
	summary_destroy(s);
	run_fini(&run);
}

static void recursion_counts_once(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t outer = builder_site(&run, builder_brick(&run, "A", "X"), 3, NULL, NULL);
	uint32_t inner = builder_site(&run, builder_brick(&run, "B", "X"), 3, NULL, NULL);
	builder_sample(&run, lane, outer, 0, 100, 0);
	builder_sample(&run, lane, inner, 10, 60, 1);
	builder_sample(&run, lane, outer, 20, 50, 2);
	run.lanes[lane].end_ns = 100;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(s, "A")->total_ns, 100);
	assert_int_equal(row_named(s, "A")->self_ns, 80);
	assert_int_equal(row_named(s, "A")->avg_ns, 65);
	assert_int_equal(row_named(s, "B")->total_ns, 50);
	assert_int_equal(s->category_count, 1);
	assert_int_equal(s->categories[0].total_ns, 100);
	assert_int_equal(s->categories[0].self_ns, 100);
	summary_destroy(s);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_LAYER, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 1);
	assert_int_equal(row_named(s, "layer 3")->total_ns, 100);
	assert_int_equal(row_named(s, "layer 3")->count, 3);
	summary_destroy(s);
	run_fini(&run);
}

/* Only samples that say what they moved make a rate; their waits belong to its time. */
static void rates(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t whole = builder_site(&run, brick, 0, "MUL_MAT", "x");
	uint32_t part = builder_site(&run, brick, 0, "MUL_MAT", "x");
	run.sites[whole].flags = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	run.sites[whole].bytes = 4000;
	run.sites[whole].flops = 0;
	uint32_t other = builder_lane(&run, 0, 2);
	builder_sample(&run, lane, whole, 0, 90, 0)->wait_ns = 10;
	builder_sample(&run, other, part, 0, 95, 0);
	run.lanes[lane].end_ns = run.lanes[other].end_ns = 100;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	const struct summary_row *row = row_named(s, "Work");
	assert_true(row->bytes_per_ns == 40);
	assert_true(row->flops_per_ns < 0);
	assert_int_equal(row->bytes, 4000);
	assert_int_equal(row->flops, 0);
	assert_true(row->elements == ANALYSIS_UNKNOWN);
	assert_int_equal(row->wait_ns, 10);
	assert_int_equal(row_named(s, "BarrierWait")->self_ns, 10);
	summary_destroy(s);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(s, "t (1)")->wall_ns, 100);
	assert_int_equal(row_named(s, "t (1)")->self_ns, 90);
	assert_int_equal(row_named(s, "t (2)")->wall_ns, 95);
	summary_destroy(s);
	run_fini(&run);
}

/* Percentiles come from the run's histogram, whose values are ticks of the run's clock. */
/* One process has ended and written its histogram; another goes on, and has samples only. */
static void histogram_of_an_ended_process(void **state)
{
	struct run run;
	struct summary *s;
	struct breakdown *breakdown;
	struct step_index index;
	uint64_t lengths[BREAKDOWN_BUCKETS], count = 0;
	uint32_t lane = start(&run), other = builder_lane(&run, builder_process(&run, 2), 2);
	uint32_t site = builder_site(&run, builder_brick(&run, "Work", "Other"), 0, NULL, NULL);
	uint64_t *buckets = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(*buckets));
	uint64_t *histograms[] = {buckets};
	run.complete = 0;
	run.histograms = histograms;
	for (uint64_t i = 0; i < 10; i++)
		builder_sample(&run, lane, site, 100 * i, 100 * i + 10, 0);
	for (uint64_t i = 0; i < 90; i++)
		builder_sample(&run, other, site, 1000 * i, 1000 * i + 500, 0);
	buckets[brick_histogram_index(10)] = 10;
	for (int by = SUMMARY_BY_BRICK; by <= SUMMARY_BY_CATEGORY; by++) {
		assert_int_equal(summary_create(&s, &run, by, SUMMARY_ALL_PHASES), 0);
		assert_int_equal(s->rows[0].count, 100);
		assert_in_range(s->rows[0].p50_ns, 495, 505);
		summary_destroy(s);
	}
	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(breakdown_create(&breakdown, &run, &index), 0);
	breakdown_all_durations(breakdown, 0, lengths);
	for (uint32_t i = 0; i < BREAKDOWN_BUCKETS; i++)
		count += lengths[i];
	assert_int_equal(count, 100);

	buckets[brick_histogram_index(20)] = 190; /* it dropped more than the other one has */
	breakdown_all_durations(breakdown, 0, lengths);
	assert_int_equal(lengths[breakdown_bucket(20)], 190);
	breakdown_destroy(breakdown);
	step_index_fini(&index);

	/* what devices did is in the histogram, and not in the row */
	uint32_t queue = builder_queue(&run, 0, 7);
	give_stats(&run, queue);
	run.lanes[queue].stats[0].count = 190;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_in_range(s->rows[0].p50_ns, 495, 505);
	summary_destroy(s);
	run.histograms = NULL;
	free(buckets);
	run_fini(&run);
}

static void histogram_in_ticks(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t site = builder_site(&run, brick, 0, NULL, NULL);
	uint64_t *buckets = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(*buckets));
	uint64_t *histograms[] = {buckets};
	for (uint64_t i = 0; i < 100; i++) {
		builder_sample(&run, lane, site, 1000 * i, 1000 * i + 1 + i, 0);
		buckets[brick_histogram_index((1 + i) / 2)]++;
	}
	run.clock = (struct brick_clock){.mult = 2}; /* a tick is 2 ns */
	run.histograms = histograms;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(s, "Work")->p50_ns, 50);
	assert_in_range(row_named(s, "Work")->p99_ns, 98, 100);
	summary_destroy(s);
	run.histograms = NULL; /* then from the samples */
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(s, "Work")->p50_ns, 50);
	assert_int_equal(row_named(s, "Work")->p95_ns, 95);
	summary_destroy(s);
	free(buckets);
	run_fini(&run);
}

static void nothing_recorded(void **state)
{
	struct run run = {.complete = 1};
	struct losses losses;
	for (int by = 0; by < SUMMARY_BY_COUNT; by++) {
		struct summary *s;
		assert_int_equal(summary_create(&s, &run, by, SUMMARY_ALL_PHASES), 0);
		assert_int_equal(s->row_count, 0);
		assert_true(s->coverage < 0);
		assert_true(s->executions == ANALYSIS_UNKNOWN);
		summary_destroy(s);
	}
	losses_of_run(&losses, &run, 0);
	assert_false(losses_any(&losses));
	run.complete = 0;
	losses_of_run(&losses, &run, 0);
	assert_true(losses_any(&losses));
}

static void ledger_adds_up(void **state)
{
	struct run run;
	struct losses losses;
	uint64_t count, total = 0;
	const char *what;
	uint32_t lane = start(&run);
	run.lanes[lane].ledger =
		(struct brick_ledger){.dropped = 1, .unmatched = 2, .clamped = 4, .too_deep = 8};
	run.processes[0].ledger =
		(struct brick_ledger){.dropped = 16, .unsupported = 32, .table_full = 64};
	run.open_samples = 128;
	run.truncated_bytes = 256;
	run.lost_processes = 512;
	run.bad_packets = 1024;
	run.bad_records = 2048;
	run.processes[0].closed = 0;
	losses_of_run(&losses, &run, 4096);
	assert_int_equal(losses.dropped, 17);
	assert_int_equal(losses.unmatched, 4098);
	size_t k = 0;
	for (; losses_describe(&losses, k, &count, &what); k++)
		total += count;
	assert_int_equal(k, 12);
	assert_int_equal(total, 17 + 4098 + 4 + 8 + 32 + 64 + 128 + 256 + 512 + 1024 + 2048 + 1);
	run_fini(&run);
}

static void distortion_from_costs(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	uint32_t lane = start(&run);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t plain = builder_site(&run, brick, 0, NULL, NULL);
	uint32_t hooked = builder_site(&run, brick, 0, "MUL_MAT", "x");
	builder_sample(&run, lane, step, 0, 10000, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, plain, 0, 100, 1);
	for (uint64_t i = 1; i < 5; i++)
		builder_sample(&run, lane, hooked, 1000 * i, 1000 * i + 500, 1);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->pairs[0].count[STEP_DECODE], 2);
	assert_int_equal(s->hooked[lane].count[STEP_DECODE], 4);

	distortion_estimate(&d, s, SUMMARY_ALL_PHASES); /* nobody measured anything */
	assert_true(d.share < 0 && d.low < 0 && d.high < 0);

	run.processes[0].pair_cost_ns = 20;
	run.processes[0].pair_cost_low_ns = 18;
	run.processes[0].pair_cost_high_ns = 30;
	distortion_estimate(&d, s,
		SUMMARY_ALL_PHASES); /* hooks recorded samples, and nothing says what they cost */
	assert_true(d.share < 0);
	give_stats(&run, lane);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES); /* no hooks: the program's own samples */
	assert_true(d.share > 0.01199 && d.share < 0.01201); /* 6 x 20 */
	run.lanes[lane].hook_calls = 8;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES); /* hooks ran, and none was timed */
	assert_true(d.share < 0);

	run.lanes[lane].hook_timed = 2;
	run.lanes[lane].hook_ns = 100;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share > 0.04399 && d.share < 0.04401); /* 2 x 20 + 8 x 50 of 10000 */
	assert_true(d.low > 0.03559 && d.low < 0.03561);     /* 2 x 18 + 8 x 40 */
	assert_true(d.high > 0.05399 && d.high < 0.05401);   /* 2 x 30 + 8 x 60 */
	assert_true(d.consumer_share < 0 && !d.saturated);
	assert_non_null(strstr(d.method, "timed in place"));

	run.end_ns = 10000;
	run.cpus = 2;
	run.program_cpu_ns = 10000;
	run.consumer_cpu_ns = 200;
	distortion_estimate(
		&d, s, SUMMARY_ALL_PHASES); /* a CPU was idle: the recorder took nothing away */
	assert_false(d.saturated);
	assert_true(d.share < 0.04401 && d.consumer_share == 0.01);
	run.program_cpu_ns = 19000;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.saturated);
	assert_true(d.share > 0.05399 && d.share < 0.05401);
	assert_true(d.high > 0.07399 && d.high < 0.07401);
	summary_destroy(s);
	run_fini(&run);
}

/* What the profiler did itself counts whole; what the callback does to the engine nobody knows. */
static void distortion_of_own_work(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	(void)state;
	uint32_t lane = start(&run);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t own = builder_brick(&run, BRICK_LOOKUP_NAME, "Engine");
	uint32_t lookup = builder_site(&run, own, -1, NULL, NULL);
	uint32_t node = builder_site(&run, builder_brick(&run, "Work", "Other"), 0, "ADD", "x");
	builder_sample(&run, lane, step, 0, 10000, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, lookup, 100, 400, 1);
	builder_sample(&run, lane, lookup, 1000, 1100, 1);
	builder_sample(&run, lane, node, 2000, 3000, 1);
	give_stats(&run, lane);
	run.processes[0].pair_cost_ns = 20;
	run.lanes[lane].hook_calls = 10;
	run.lanes[lane].hook_timed = 1;
	run.lanes[lane].hook_ns = 50;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share > 0.08999 && d.share < 0.09001); /* 400 + 10 x 50 of 10000 */
	assert_true(d.low > 0.05999 && d.low < 0.06001);     /* 2 x 100 + 10 x 40 */
	assert_true(d.high > 0.09999 && d.high < 0.10001);   /* 400 + 10 x 60 */
	assert_non_null(strstr(d.method, "looking up graphs"));
	summary_destroy(s);

	run.lanes[lane].samples[run.lanes[lane].sample_count - 1].source = BRICK_SOURCE_CALLBACK;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share < 0 && d.low < 0 && d.high < 0);
	assert_non_null(strstr(d.method, "splits graphs"));
	summary_destroy(s);
	run_fini(&run);
}

/* Twenty tiles in a brick in a brick of the same category: in no row, but not for nothing. */
static void tiles_cost_but_have_no_row(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	uint32_t lane = start(&run);
	uint32_t step = builder_known(&run, BRICK_DECODE),
		 tile = builder_known(&run, BRICK_TILE_MIDI);
	uint32_t a = builder_brick(&run, "A", "X"), b = builder_brick(&run, "B", "X");
	uint32_t tile_site = builder_site(&run, tile, 0, NULL, NULL);
	builder_sample(&run, lane, builder_site(&run, step, -1, NULL, NULL), 0, 10000, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, builder_site(&run, a, 0, NULL, NULL), 0, 6000, 1);
	builder_sample(&run, lane, builder_site(&run, b, 0, NULL, NULL), 1000, 5000, 2);
	for (uint64_t i = 0; i < 20; i++)
		builder_sample(&run, lane, tile_site, 1000 + 100 * i, 1100 + 100 * i, 3);
	give_stats(&run, lane);
	run.lanes[lane].stats[step] = (struct brick_stat){
		.count = 1, .total = 10000, .self = 4000, .min = 10000, .max = 10000};
	run.lanes[lane].stats[a] = (struct brick_stat){
		.count = 1, .total = 6000, .self = 2000, .min = 6000, .max = 6000};
	run.lanes[lane].stats[b] = (struct brick_stat){
		.count = 1, .total = 4000, .self = 2000, .min = 4000, .max = 4000};
	run.lanes[lane].stats[tile] = (struct brick_stat){
		.count = 20, .total = 2000, .self = 2000, .min = 100, .max = 100};
	run.processes[0].pair_cost_ns = 10;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->mismatched, 0);
	assert_int_equal(s->samples, 3);
	assert_int_equal(s->executions, 3);
	assert_int_equal(s->row_count, 2);
	assert_int_equal(s->categories[0].total_ns, 6000);
	assert_int_equal(s->pairs[0].count[STEP_DECODE], 23);
	distortion_estimate(&d, s, STEP_DECODE);
	assert_true(d.share > 0.0229 && d.share < 0.0231);
	summary_destroy(s);
	run_fini(&run);
}

/* Each of the lane's records stands for the executions whose records there was no room for. */
static void dropped_pairs_cost_the_same(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t step = builder_known(&run, BRICK_DECODE);
	uint32_t work = builder_brick(&run, "Work", "Other");
	uint32_t step_site = builder_site(&run, step, -1, NULL, NULL);
	uint32_t site = builder_site(&run, work, 0, NULL, NULL);
	builder_sample(&run, lane, step_site, 0, 2000000, 0);
	builder_step(&run, lane, 1);
	for (uint64_t i = 0; i < 10; i++)
		builder_sample(&run, lane, site, 1000 * i, 1000 * i + 500, 1);
	give_stats(&run, lane);
	run.lanes[lane].stats[step].count = 1;
	run.lanes[lane].stats[work].count = 1000;
	run.lanes[lane].ledger.dropped = 990;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->pairs[0].count[STEP_DECODE], 1001);
	summary_destroy(s);

	/* Ten steps were made, of which one is there: the wall time is of that one. */
	run.lanes[lane].stats[step].count = 10;
	run.lanes[lane].stats[work].count = 100;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->pairs[0].count[STEP_DECODE], 11);
	summary_destroy(s);
	run_fini(&run);
}

/* Count, lengths and waits of places come from one source, and are the same in all groupings. */
static void places_count_work(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t work = builder_brick(&run, "Work", "Other");
	uint32_t sync = builder_known(&run, BRICK_SYNCHRONIZE);
	uint32_t site = builder_site(&run, work, 0, NULL, NULL);
	for (uint64_t i = 0; i < 10; i++)
		builder_sample(&run, lane, site, 2000 * i, 2000 * i + 1000, 0);
	builder_sample(&run, lane, builder_site(&run, sync, 0, NULL, NULL), 50000, 1050000, 0);
	run.lanes[lane].end_ns = 2000000;
	give_stats(&run, lane);
	run.lanes[lane].stats[sync] = (struct brick_stat){
		.count = 1, .total = 1000000, .self = 1000000, .min = 1000000, .max = 1000000};
	run.lanes[lane].stats[work] = (struct brick_stat){
		.count = 10, .total = 10000, .self = 10000, .min = 1000, .max = 1000};
	for (int by = SUMMARY_BY_LAYER; by <= SUMMARY_BY_THREAD; by++) {
		assert_int_equal(summary_create(&s, &run, by, SUMMARY_ALL_PHASES), 0);
		assert_int_equal(s->row_count, 1);
		assert_int_equal(s->rows[0].count, 10);
		assert_int_equal(s->rows[0].sum_ns, 10000);
		assert_int_equal(s->rows[0].avg_ns, 1000);
		assert_int_equal(s->rows[0].min_ns, 1000);
		assert_int_equal(s->rows[0].p50_ns, 1000);
		assert_int_equal(s->rows[0].max_ns, 1000);
		assert_int_equal(s->rows[0].self_ns, 10000);
		assert_int_equal(s->rows[0].wait_ns, 1000000);
		summary_destroy(s);
	}

	/* 990 were dropped, longer ones */
	run.lanes[lane].stats[work] = (struct brick_stat){
		.count = 1000, .total = 1990000, .self = 1990000, .min = 500, .max = 2000};
	run.lanes[lane].ledger.dropped = 990;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->rows[0].count, 1000);
	assert_int_equal(s->rows[0].avg_ns, 1990);
	assert_int_equal(s->rows[0].min_ns, 500);
	assert_int_equal(s->rows[0].max_ns, 2000);
	summary_destroy(s);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_statistics_win),
		cmocka_unit_test(reported_ones_count),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(rates),
		cmocka_unit_test(histogram_in_ticks),
		cmocka_unit_test(histogram_of_an_ended_process),
		cmocka_unit_test(nothing_recorded),
		cmocka_unit_test(ledger_adds_up),
		cmocka_unit_test(distortion_from_costs),
		cmocka_unit_test(distortion_of_own_work),
		cmocka_unit_test(tiles_cost_but_have_no_row),
		cmocka_unit_test(dropped_pairs_cost_the_same),
		cmocka_unit_test(places_count_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
