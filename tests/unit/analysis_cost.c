/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost: the estimate, its parts, and what has no row of its own.
 */
#include <math.h>
#include "analysis/cost/recording_costs.h"
#include "tests/unit/distortion_kit.h"
#include "tests/unit/summary_kit.h"

/* A thread of ours in the program took 300 ns: the upper end has them. */
static void with_a_helper(struct run *run, const struct summary *s)
{
	struct run_note note = {0, "helper.cpu", "brick-opencl 300 ns"};
	struct distortion d;

	run->notes = &note;
	run->note_count = 1;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.helpers_ns == 300 && d.high > 0.17599 && d.high < 0.17601);
	run->notes = NULL;
	run->note_count = 0;
}

/*
 * CUPTI told of a command that the step launched. What that took is not known, or as a calibration
 * says; the command outside of the step is no part of it.
 */
static void with_a_traced_device(struct run *run, uint32_t work)
{
	static char text[] = "callbacks 100 (50 to 200), record 200 (100 to 400), "
			     "node 7 (7 to 7), device 0 (0 to 0) ns; 16 blocks";
	static char none[] = "none: cuModuleLoadData failed (218)";
	struct run_note notes[] = {{0, "cuda.calibration", none}, {0, "cuda.flush", "500 ns"}};
	struct distortion d, before;
	struct summary *s;

	assert_int_equal(summary_create(&s, run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&before, s, SUMMARY_ALL_PHASES);
	assert_true(before.share > 0);
	summary_destroy(s);
	uint32_t queue = builder_queue(run, 0, 2);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t launch_ns = i ? 20000 : 500;
		builder_sample(run, queue, work, launch_ns + 100, launch_ns + 200, 0);
		run->lanes[queue].samples[i].source = BRICK_SOURCE_DEVICE_ACTIVITY;
		builder_command(run, queue, RUN_NONE, 0, (uint32_t)i, RUN_NONE);
		run->commands[i].launch_ns = launch_ns;
	}
	for (uint32_t count = 0; count < 2; count++) {
		run->notes = notes;
		run->note_count = count;
		assert_int_equal(summary_create(&s, run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
		distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
		assert_true(d.traced.commands == 1 && d.share < 0 && isnan(d.high));
		assert_true(says(&d, "tracing took for 1 commands is not known"));
		assert_true(says(&d, count ? "cuModuleLoadData" : "nothing measured it"));
		summary_destroy(s);
	}
	notes[0].value = text;
	run->note_count = 2;
	assert_int_equal(summary_create(&s, run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(fabs(d.share - before.share - 0.03) < 1e-9);
	assert_true(fabs(d.low - before.low - 0.015) < 1e-9);
	assert_true(fabs(d.high - before.high - 0.06 - 0.05) < 1e-9); /* 500 ns of a flush */
	assert_true(says(&d, "of 1 commands took 0.000 ms"));
	assert_true(says(&d, "a launch took 0.30 us more with it"));
	distortion_estimate(&d, s, STEP_PREFILL);
	assert_true(d.traced.commands == 0);
	distortion_estimate(&d, s, STEP_DECODE);
	assert_true(d.traced.commands == 1);
	summary_destroy(s);
	run->notes = NULL;
	run->note_count = 0;
}

/* It takes from the program what nobody left, the program itself or others. */
static void with_a_recorder(struct run *run, const struct summary *s)
{
	const struct machine_use full = {.busy_ns = 19500, .idle_ns = 500};
	struct distortion d;
	run->end_ns = 10000;
	run->cpus = 2;
	run->consumer_cpu_ns = 200;
	for (int i = 0; i < 3; i++) {
		run->program_cpu_ns = i < 2 ? 10000 : 19000;
		run->machine = i == 1 ? full : (struct machine_use){0};
		distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
		assert_true(d.saturated == (i > 0) && d.consumer_share == 0.01);
		assert_true((int)(10000 * d.share + 0.5) == (i ? 540 : 440));
	}
	assert_true(d.high > 0.14599 && d.high < 0.14601);
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
	assert_true(d.share < 0 && isnan(d.low) && isnan(d.high));

	run.processes[0].pair_cost_ns = 20;
	run.processes[0].pair_cost_low_ns = 18;
	run.processes[0].pair_cost_high_ns = 30;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES); /* nothing says what hooks cost */
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
	assert_true(d.high > 0.12599 && d.high < 0.12601);   /* 2 x 30 + 8 x (60 + 3 x 30) */
	assert_true(says(&d, "may cost up to 90.0 ns more each"));
	assert_true(d.consumer_share < 0 && !d.saturated);
	assert_true(says(&d, "timed in place"));
	assert_true(says(&d, "18.0 in warm caches to 30.0 behind 2 MB"));
	with_a_recorder(&run, s);
	with_a_helper(&run, s);
	with_a_traced_device(&run, plain);
	summary_destroy(s);
	run_fini(&run);
}

/* Our own threads in the program: the newest note of each, at most while all CPUs can be busy. */
static void helper_threads(void **state)
{
	char *told[] = {"brick-opencl 100 ns", "brick-opencl 300 ns", "CUPTI's threads 200 ns",
		"brick-opencl 2 ns", "brick-opencl"};
	struct run_note notes[5];
	struct run run = {.notes = notes, .note_count = 3, .cpus = 2};

	for (uint32_t i = 0; i < 5; i++)
		notes[i] = (struct run_note){i > 2, i == 4 ? "attach" : "helper.cpu", told[i]};
	assert_true(helper_cost_of(&run).ns == 500 && helper_cost_of(&run).most_ns == 500);
	run.program_cpu_ns = 700; /* two CPUs were busy together for 400 at most */
	run.consumer_cpu_ns = 100;
	run.note_count = 5; /* the fourth is of another process */
	assert_true(helper_cost_of(&run).ns == 502 && helper_cost_of(&run).most_ns == 400);
	run.machine.busy_ns = 10000; /* others were */
	assert_true(helper_cost_of(&run).most_ns == 502);
}

/* What the profiler did itself counts whole. */
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
	uint32_t worker = builder_lane(&run, 0, 2);
	builder_sample(&run, worker, node, 2000, 3000, 0);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.low > 0.02999 && d.low < 0.03001); /* 2 x 100 + 10 x 10: one of the team */
	summary_destroy(s);
	run.lanes[worker].sample_count = 0;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share > 0.08999 && d.share < 0.09001); /* 400 + 10 x 50 of 10000 */
	assert_true(d.low > 0.05999 && d.low < 0.06001);     /* 2 x 100 + 10 x 40 */
	assert_true(d.high > 0.18999 && d.high < 0.19001);   /* 400 + 10 x (60 + 3 x 30) */
	assert_true(says(&d, "looking up rebuilt graphs"));
	run.processes[0].pair_cost_ns =
		50; /* as long as a call: caches are warm, nothing is brought */
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.high > 0.11499 && d.high < 0.11501); /* 400 + 10 x (50 + 25) */
	summary_destroy(s);
	run_fini(&run);
}

static void by_callback(struct run *run, uint32_t lane, uint32_t brick, uint64_t begin, uint64_t ns)
{
	builder_sample(run, lane, builder_site(run, brick, -1, "ADD", "x"), begin, begin + ns, 2);
	run->lanes[lane].samples[run->lanes[lane].sample_count - 1].source = BRICK_SOURCE_CALLBACK;
}

/*
 * Graphs of one node by the callback: each takes as long as one without work at least, and all of
 * them no longer than the graph. Where none was without work nobody knows.
 */
static void distortion_by_callback(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	(void)state;
	uint32_t lane = start(&run);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t graph =
		builder_site(&run, builder_known(&run, BRICK_GRAPH_COMPUTE), -1, NULL, NULL);
	uint32_t node = builder_brick(&run, "Work", "Other");
	uint32_t split = builder_brick(&run, BRICK_SPLIT_NAME, "Engine");
	builder_sample(&run, lane, step, 0, 100000, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, graph, 1000, 81000, 1);
	for (uint64_t i = 0; i < 11; i++)
		by_callback(&run, lane, node, 2000 + 5000 * i, 4000);
	give_stats(&run, lane);
	run.processes[0].pair_cost_ns = 20;
	run.lanes[lane].hook_calls = 10;
	run.lanes[lane].hook_timed = 1;
	run.lanes[lane].hook_ns = 50;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share < 0 && isnan(d.low) && isnan(d.high));
	assert_true(says(&d, "no node without work"));
	summary_destroy(s);

	by_callback(&run, lane, split, 62000, 2000);
	by_callback(&run, lane, split, 65000, 3000);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share > 0.30499 && d.share < 0.30501); /* 10 x 2500 + 5000 + 10 x 50 */
	assert_true(d.low > 0.24399 && d.low < 0.24401);     /* 10 x 2000 + 2 x 2000 + 10 x 40 */
	assert_true(d.high > 0.86499 && d.high < 0.86501);   /* 80000 + 5000 + 10 x (60 + 3 x 30) */
	assert_true(says(&d, "at least 2.0 us each, 2.5 in the mean, by 2 without"));
	summary_destroy(s);

	run.lanes[lane].samples[1].end_ns = 181000; /* the graph; so that it is no limit */
	run.lanes[lane].samples[0].end_ns = run.steps[0].end_ns = 200000;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share > 0.15249 && d.share < 0.15251);
	assert_true(d.high > 0.53249 && d.high < 0.53251); /* 10 x 4 x 2500 + 5000 + 10 x 150 */
	assert_true(says(&d, "up to three times as much again"));
	run.digest_count = 1; /* which are within the graphs, too */
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.high > 0.93249 && d.high < 0.93251); /* 180000 + 5000 + 10 x 150 */
	assert_true(says(&d, "at most all that the graphs took"));
	run.digest_count = 0;
	summary_destroy(s);

	builder_note(&run, "callback.threads", "2"); /* which nodes without work do not show */
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share < 0 && isnan(d.low) && isnan(d.high));
	assert_true(says(&d, "several threads are started"));
	summary_destroy(s);
	run_fini(&run);
}

static void off_cpu(struct run *run, uint32_t lane, uint64_t begin)
{
	struct run_lane *l = &run->lanes[lane];
	BUILDER_GROW(l->off_cpu, l->off_cpu_count);
	l->off_cpu[l->off_cpu_count++] =
		(struct run_off_cpu){.begin_ns = begin, .end_ns = begin + 10};
}

/* A step; its own thread is off its CPU twice, another of its team four times, one behind it. */
static void team_that_sleeps(struct run *run)
{
	uint32_t lane = start(run), worker = builder_lane(run, 0, 2),
		 other = builder_lane(run, 0, 3);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t node = builder_site(run, builder_brick(run, "Work", "Other"), 0, "ADD", "x");
	builder_sample(run, lane, step, 0, 1000000, 0);
	builder_step(run, lane, 1);
	builder_sample(run, lane, node, 2000, 3000, 1);
	builder_sample(run, worker, node, 2000, 3000, 0);
	for (uint64_t i = 0; i < 4; i++) {
		off_cpu(run, worker, 1000 + 100 * i);
		off_cpu(run, other, 1000 + 100 * i); /* it does no work for the step */
		if (i < 2)
			off_cpu(run, lane, 1050 + 100 * i);
	}
	off_cpu(run, worker, 2000000);
	run->processes[0].pair_cost_ns = 20;
	give_stats(run, lane);
	for (uint32_t i = lane; i <= worker; i++) {
		run->lanes[i].hook_calls = run->lanes[i].hook_timed = 1;
		run->lanes[i].hook_ns = 20;
	}
}

/* That the kernel records when threads are off their CPUs is no hook's, and costs the step. */
static void distortion_of_switches(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion without, d;
	(void)state;
	team_that_sleeps(&run);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&without, s, SUMMARY_ALL_PHASES);
	assert_true(says(&without, "the records of 6 switches off the CPU took was not measured"));
	run.off_cpu.cost_low_ns = 1000;
	run.off_cpu.cost_ns = 2000;
	run.off_cpu.cost_high_ns = 3000;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(says(&d, "the records of 6 switches off the CPU took 2000 ns each"));
	assert_float_equal(d.low - without.low, 2 * 1000 / 2 / 1e6, 1e-9);
	assert_float_equal(
		d.share - without.share, 6 * 2000 / 2 / 1e6, 1e-9); /* on two CPUs at once */
	assert_float_equal(d.high - without.high, 6 * 3000 / 1e6, 1e-9);
	distortion_estimate(&d, s, STEP_PREFILL);
	assert_true(d.share < 0);
	run.off_cpu.lost = 2 * 11; /* as many again, on all threads */
	distortion_estimate(&d, s, STEP_DECODE);
	assert_float_equal(d.high - without.high, 12 * 3000 / 1e6, 1e-9);
	run.cpus = 1;
	assert_float_equal(switch_cost_of(s, STEP_DECODE).ns, 12 * 2000, 1e-9);
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
	run.lanes[lane].stats[step] = (struct run_stat){
		.count = 1, .total_ns = 10000, .self_ns = 4000, .min_ns = 10000, .max_ns = 10000};
	run.lanes[lane].stats[a] = (struct run_stat){
		.count = 1, .total_ns = 6000, .self_ns = 2000, .min_ns = 6000, .max_ns = 6000};
	run.lanes[lane].stats[b] = (struct run_stat){
		.count = 1, .total_ns = 4000, .self_ns = 2000, .min_ns = 4000, .max_ns = 4000};
	run.lanes[lane].stats[tile] = (struct run_stat){
		.count = 20, .total_ns = 2000, .self_ns = 2000, .min_ns = 100, .max_ns = 100};
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
	run.lanes[lane].stats[sync] = (struct run_stat){.count = 1,
		.total_ns = 1000000,
		.self_ns = 1000000,
		.min_ns = 1000000,
		.max_ns = 1000000};
	run.lanes[lane].stats[work] = (struct run_stat){
		.count = 10, .total_ns = 10000, .self_ns = 10000, .min_ns = 1000, .max_ns = 1000};
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
	run.lanes[lane].stats[work] = (struct run_stat){.count = 1000,
		.total_ns = 1990000,
		.self_ns = 1990000,
		.min_ns = 500,
		.max_ns = 2000};
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
		cmocka_unit_test(distortion_from_costs),
		cmocka_unit_test(helper_threads),
		cmocka_unit_test(distortion_of_own_work),
		cmocka_unit_test(distortion_by_callback),
		cmocka_unit_test(distortion_of_switches),
		cmocka_unit_test(tiles_cost_but_have_no_row),
		cmocka_unit_test(dropped_pairs_cost_the_same),
		cmocka_unit_test(places_count_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
