/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: exact statistics over samples, what they say of losses, recursion, layers, threads, work
 * and rates; and the ledger.
 */
#include "brick/abi/overhead.h"
#include "tests/unit/summary_kit.h"
#include "ui/text/trust_text.h"
#include "tests/unit/breakdown_kit.h"

static const struct summary_row *row_named(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (!strcmp(s->rows[i].name, name))
			return &s->rows[i];
	fail_msg("no row %s", name);
	return NULL;
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
	run.lanes[lane].stats[brick] = (struct run_stat){.count = 10,
		.total_ns = 200,
		.self_ns = 190,
		.min_ns = 5,
		.max_ns = 90,
		.elements = 1000,
		.wait_ns = 7};
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

/* A thread's row adds up what its bricks' rows have, also what the profiler did itself. */
static void threads_add_up_bricks(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t work = builder_brick(&run, "Work", "Other");
	uint32_t own = builder_brick(&run, BRICK_LOOKUP_NAME, "Engine");
	(void)state;
	builder_sample(&run, lane, builder_site(&run, work, 0, NULL, NULL), 0, 10, 0);
	builder_sample(&run, lane, builder_site(&run, own, 0, NULL, NULL), 50, 57, 0);
	give_stats(&run, lane);
	run.lanes[lane].stats[work] = (struct run_stat){.count = 1, .total_ns = 10, .self_ns = 10};
	run.lanes[lane].stats[own] = (struct run_stat){.count = 1, .total_ns = 7, .self_ns = 7};
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 1);
	assert_int_equal(s->rows[0].count, 2);
	assert_int_equal(s->rows[0].self_ns, 17);
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
	run.lanes[lane].stats[brick] = (struct run_stat){
		.count = 2, .total_ns = 201, .self_ns = 201, .min_ns = 100, .max_ns = 101};
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

/* Only what says what it moved makes a rate, over the time with a thread of its team in it. */
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
	assert_true(row->bytes_per_ns > 4000 / 95.1 && row->bytes_per_ns < 4000 / 94.9);
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
	struct ticks_lengths *histograms[] = {NULL};
	run.complete = 0;
	run.histograms = histograms;
	for (uint64_t i = 0; i < 10; i++)
		builder_sample(&run, lane, site, 100 * i, 100 * i + 10, 0);
	for (uint64_t i = 0; i < 90; i++)
		builder_sample(&run, other, site, 1000 * i, 1000 * i + 500, 0);
	assert_true(ticks_lengths_add(histograms, brick_histogram_index(10), 10));
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

	/* it dropped more than the other one has */
	assert_true(ticks_lengths_add(histograms, brick_histogram_index(20), 190));
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
	free(histograms[0]);
	run_fini(&run);
}

static void histogram_in_ticks(void **state)
{
	struct run run;
	struct summary *s;
	uint32_t lane = start(&run);
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t site = builder_site(&run, brick, 0, NULL, NULL);
	struct ticks_lengths *histograms[] = {NULL};
	for (uint64_t i = 0; i < 100; i++) {
		builder_sample(&run, lane, site, 1000 * i, 1000 * i + 1 + i, 0);
		assert_true(ticks_lengths_add(histograms, brick_histogram_index((1 + i) / 2), 1));
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
	free(histograms[0]);
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
	assert_true(losses_complete(&losses));
	run.complete = 0;
	losses_of_run(&losses, &run, 0);
	assert_true(losses_any(&losses));
	assert_false(losses_complete(&losses));
	run = (struct run){.complete = 1, .bad_records = 1};
	losses_of_run(&losses, &run, 0);
	assert_false(losses_complete(&losses));
}

static void check_what_ended(const struct run *run)
{
	for (int by = SUMMARY_BY_BRICK; by <= SUMMARY_BY_THREAD; by++) {
		struct summary *s;
		uint64_t count = 0, total_ns = 0, self_ns = 0;
		assert_int_equal(summary_create(&s, run, by, SUMMARY_ALL_PHASES), 0);
		for (size_t i = 0; i < s->row_count; i++) {
			count += s->rows[i].count;
			total_ns += s->rows[i].total_ns;
			self_ns += s->rows[i].self_ns;
		}
		assert_int_equal(count, 1);
		assert_int_equal(total_ns, 100);
		assert_int_equal(self_ns, 400);
		summary_destroy(s);
	}
}

/*
 * In no form of the report is what never ended in a total whose count leaves it out; but its own
 * time is, also where the thread itself counted what ended.
 */
static void totals_are_of_what_ended(void **state)
{
	struct run run = {.complete = 1};
	uint32_t a = builder_site(&run, builder_brick(&run, "A", "X"), 0, NULL, NULL);
	uint32_t b = builder_site(&run, builder_brick(&run, "B", "X"), 0, NULL, NULL);
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);

	builder_sample(&run, lane, a, 0, 100, 0);
	builder_sample(&run, lane, a, 200, 500, 0)->flags = RUN_SAMPLE_OPEN;
	builder_sample(&run, lane, b, 300, 500, 1)->flags = RUN_SAMPLE_OPEN;
	run.open_samples = 2;
	check_what_ended(&run);
	run.lanes[lane].stats = calloc(run.brick_count, sizeof(*run.lanes[lane].stats));
	assert_non_null(run.lanes[lane].stats);
	run.lanes[lane].stats[run.sites[a].brick] = (struct run_stat){
		.count = 1, .total_ns = 100, .self_ns = 100, .min_ns = 100, .max_ns = 100};
	check_what_ended(&run);
	run_fini(&run);
}

/* A process that did not close its session lacks something only if a brick was open, or it has
 * queues. */
static void ends_of_processes(void **state)
{
	static const struct {
		uint32_t kind;
		uint64_t open;
		const char *end;
		uint64_t unfinished;
	} cases[] = {{BRICK_LANE_THREAD, 0, "dead", 0}, {BRICK_LANE_THREAD, 1, "dead", 1},
		{BRICK_LANE_QUEUE, 0, "dead", 1}, {BRICK_LANE_QUEUE, 1, "outlived", 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run run;
		struct losses losses;
		uint32_t lane = start(&run);
		run.lanes[lane].kind = cases[i].kind;
		run.open_samples = cases[i].open;
		run.processes[0].closed = 0;
		builder_note(&run, "session.end", cases[i].end);
		losses_of_run(&losses, &run, 0);
		assert_int_equal(losses.unfinished_processes, cases[i].unfinished);
		run_fini(&run);
	}
}

static void ledger_adds_up(void **state)
{
	struct run run;
	struct losses losses;
	uint64_t count, total = 0;
	char what[LOSS_BYTES];
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
	for (; losses_describe(&losses, k, &count, what); k++)
		total += count;
	assert_int_equal(k, 12);
	assert_int_equal(total, 17 + 4098 + 4 + 8 + 32 + 64 + 128 + 256 + 512 + 1024 + 2048 + 1);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_statistics_win),
		cmocka_unit_test(threads_add_up_bricks),
		cmocka_unit_test(reported_ones_count),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(rates),
		cmocka_unit_test(histogram_in_ticks),
		cmocka_unit_test(histogram_of_an_ended_process),
		cmocka_unit_test(nothing_recorded),
		cmocka_unit_test(totals_are_of_what_ended),
		cmocka_unit_test(ends_of_processes),
		cmocka_unit_test(ledger_adds_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
