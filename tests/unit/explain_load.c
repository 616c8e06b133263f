/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of loading, of pages that are touched first, of NUMA nodes and of kinds of cores: each on a
 * run where it must find something, and on the nearest run where it must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/placed.h"
#include "ui/text/explain_view.h"
#include "ui/text/fault_view.h"
#include "ui/text/placed_view.h"
#include "ui/text/words.h"
#include "tests/unit/explain_engine.h"
#include "tests/unit/explain_machine.h"

static struct explain_engine engine;
static struct explain_facts facts;
static struct finding_words words;

/* What the rule says costs; -1: it finds nothing. Other rules of this file find nothing. */
static int64_t cost_of(struct run *run, const char *rule)
{
	static const char *const of_loading[] = {"first-touch", "load-by-reads", "load-by-faults",
		"far-memory", "threads-over-nodes", "slow-cores"};
	struct findings findings;
	int64_t cost_ns = -1;

	assert_int_equal(explain_facts_init(&facts, run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.list[i];
		const char *id = finding_rule_id(f->rule);
		bool is_ours = false;
		for (size_t k = 0; k < sizeof(of_loading) / sizeof(*of_loading); k++)
			is_ours |= !strcmp(id, of_loading[k]);
		if (!is_ours)
			continue;
		finding_words(&words, &facts, f);
		if (strcmp(id, rule))
			fail_msg("%s found: %s", id, words.what);
		assert_int_equal(cost_ns, -1); /* in one phase only */
		assert_true(words.what[0] && words.evidence[0] && words.advice[0] && words.show[0]);
		cost_ns = (int64_t)f->cost_ns;
	}
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(run);
	return cost_ns;
}

static struct run *usual(void)
{
	make_engine(&engine, &(struct wrong){0});
	return &engine.run;
}

/* A fault of so many us in each step from one to another; of `off` us of it without a CPU. */
static struct run *touches(uint32_t first, uint32_t end, uint64_t us, uint64_t off)
{
	struct run *run = usual();

	for (uint32_t i = first; i < end; i++) {
		uint64_t at = run->steps[i].begin_ns + 5 * US;
		BUILDER_GROW(run->faults, run->fault_count);
		run->faults[run->fault_count++] = (struct run_fault){
			.begin_ns = at, .end_ns = at + us * US, .pid = 1, .tid = 1};
		if (off)
			off_cpu(&engine, at + US, off, 1);
	}
	run->fault_account.is_known = 1;
	run->fault_account.until_ns = UINT64_MAX;
	return run;
}

/* The recorder stopped after so many steps, all of which had faults. */
static struct run *touches_until(uint32_t end)
{
	struct run *run = touches(0, end, 950, 0);

	run->fault_account.until_ns = run->steps[end].begin_ns;
	return run;
}

static void test_first_touch(void **state)
{
	(void)state;
	assert_int_equal(cost_of(touches(0, 11, 950, 0), "first-touch"), 11 * 950 * US);
	assert_int_equal(cost_of(touches(0, 11, 950, 0), "first-touch"), 11 * 950 * US);
	assert_int_equal(cost_of(touches(0, EXPLAIN_STEPS, 900, 0), ""), -1); /* they come back */
	assert_int_equal(cost_of(touches_until(11), ""), -1);	     /* nobody knows later ones */
	assert_int_equal(cost_of(touches(0, 5, 950, 0), ""), -1);    /* too little */
	assert_int_equal(cost_of(touches(0, 11, 950, 900), ""), -1); /* they wait */
}

/* Loading of 3 s before a prompt: reading, mapping or another phase, faults, in ms; and how long
 * the run is. */
static struct run *loading_by(
	const char *phase, uint64_t read, uint64_t map, uint64_t faults, uint64_t run_ms)
{
	static struct run run;
	const uint64_t ms = 1000000, begin = 1000 * ms, step_ns = begin + 3000 * ms;

	run = (struct run){.complete = 1, .start_ns = begin, .cpus = 2};
	run.path = builder_copy("run.pftrace");
	run.clock = (struct brick_clock){.mult = 1};
	run.command = calloc(2, sizeof(*run.command));
	run.command[0] = builder_copy("program");
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	uint32_t reads =
		builder_site(&run, builder_brick(&run, "ModelRead", "Engine"), -1, NULL, NULL);
	uint32_t maps = builder_site(&run, builder_brick(&run, phase, "Engine"), -1, NULL, NULL);
	uint32_t prefill = builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t work =
		builder_site(&run, builder_known(&run, BRICK_DOWN_PROJECTION), -1, NULL, NULL);
	uint64_t at = begin + ms;
	if (map)
		builder_sample(&run, lane, maps, at, at + map * ms, 0);
	at += map * ms;
	if (read)
		builder_sample(&run, lane, reads, at, at + read * ms, 0);
	at += read * ms;
	BUILDER_GROW(run.faults, run.fault_count);
	run.faults[run.fault_count++] =
		(struct run_fault){.begin_ns = at, .end_ns = at + faults * ms, .pid = 1, .tid = 1};
	builder_sample(&run, lane, prefill, step_ns, step_ns + 20 * ms, 0);
	builder_step(&run, lane, 32);
	builder_sample(&run, lane, work, step_ns, step_ns + 20 * ms, 1);
	run.end_ns = run.lanes[lane].end_ns = run.processes[0].end_ns = begin + run_ms * ms;
	return &run;
}

static struct run *loading(uint64_t read, uint64_t map, uint64_t faults, uint64_t run_ms)
{
	return loading_by("ModelMap", read, map, faults, run_ms);
}

/* The same faults on a thread beside, or in another process, all the time. */
static struct run *loading_beside(uint32_t pid)
{
	struct run *run = loading(100, 10, 1000, 4000);
	uint32_t process = pid == 1 ? 0 : builder_process(run, pid);
	struct run_fault fault = {.begin_ns = run->start_ns, .pid = pid, .tid = 2};

	fault.lane = builder_lane(run, process, 2);
	fault.end_ns = fault.begin_ns + 1200000000;
	for (int i = 0; i < 2; i++, fault.end_ns += 1200000000) {
		BUILDER_GROW(run->faults, run->fault_count);
		run->faults[run->fault_count++] = fault;
		if (pid == 1)
			break;
		fault.begin_ns = fault.end_ns;
	}
	return run;
}

static void test_loading(void **state)
{
	(void)state;
	assert_int_equal(cost_of(loading(1600, 0, 10, 4000), "load-by-reads"), 0);
	assert_non_null(strstr(words.evidence, "1.60s of the 3.00s"));
	assert_int_equal(cost_of(loading(1600, 0, 10, 70000), ""), -1); /* of a long run */
	assert_int_equal(cost_of(loading(1400, 0, 10, 4000), ""), -1);
	assert_int_equal(cost_of(loading(100, 900, 700, 4000), "load-by-faults"), 0);
	assert_non_null(strstr(words.what, "page faults for the model"));
	assert_int_equal(
		cost_of(loading_by("ModelLock", 100, 1300, 300, 4000), "load-by-faults"), 0);
	assert_non_null(strstr(words.what, "locking the model in memory (mlock)"));
	assert_non_null(strstr(words.advice, "without mlock"));
	assert_int_equal(cost_of(loading(100, 10, 1600, 4000), "load-by-faults"), 0);
	assert_int_equal(cost_of(loading(100, 10, 1400, 4000), ""), -1);
	assert_int_equal(cost_of(loading(0, 0, 1600, 4000), ""), -1); /* nobody saw it load */
	assert_int_equal(cost_of(loading_beside(1), ""), -1);	      /* 1.2 s and 1 s, not 2.2 s */
	assert_int_equal(cost_of(loading_beside(2), ""), -1);
}

/*
 * Two nodes of two CPUs each. GiB on each of them, and how often the engine's thread was seen on
 * each CPU; slow: the capacity of CPU 3.
 */
static struct run *places(const uint64_t gib[2], const uint64_t times[4], uint32_t slow)
{
	struct run *run = usual();

	for (uint32_t i = 0; i < 4; i++) {
		BUILDER_GROW(run->placed_cpus, run->placed_cpu_count);
		run->placed_cpus[run->placed_cpu_count++] =
			(struct run_cpu){i, i / 2, i == 3 ? slow : 1024};
		BUILDER_GROW(run->placed_threads, run->placed_thread_count);
		run->placed_threads[run->placed_thread_count++] =
			(struct run_thread_cpu){1, 1, i, times[i]};
		BUILDER_GROW(run->placed_threads, run->placed_thread_count);
		run->placed_threads[run->placed_thread_count++] =
			(struct run_thread_cpu){1, 99, i, 1000}; /* records nothing */
	}
	for (uint32_t i = 0; i < 2 && gib; i++) {
		BUILDER_GROW(run->placed_nodes, run->placed_node_count);
		run->placed_nodes[run->placed_node_count++] =
			(struct run_node){i, 1, gib[i] << 30, 0};
	}
	return run;
}

static void test_nodes(void **state)
{
	(void)state;
	const uint64_t on_1[] = {1, 9}, half[] = {5, 5}, none[] = {0, 0};
	const uint64_t by_0[] = {5, 5, 0, 0}, by_1[] = {0, 1, 5, 4}, by_both[] = {3, 2, 2, 3};

	assert_int_equal(cost_of(places(on_1, by_0, 1024), "far-memory"), 0);
	assert_non_null(strstr(words.what, "run on NUMA node 0, and most memory is on node 1"));
	assert_non_null(strstr(words.evidence, "90.0% of the reads go to another node"));
	assert_int_equal(cost_of(places(on_1, by_both, 1024), "threads-over-nodes"), 0);
	assert_int_equal(cost_of(places(on_1, by_1, 1024), ""), -1);
	assert_int_equal(cost_of(places(half, by_both, 1024), ""), -1);
	assert_int_equal(cost_of(places(half, by_0, 1024), ""), -1);
	assert_int_equal(cost_of(places(none, by_0, 1024), ""), -1);
}

static void test_cores(void **state)
{
	(void)state;
	const uint64_t often[] = {4, 4, 0, 2}, seldom[] = {10, 10, 0, 1};

	assert_int_equal(cost_of(places(NULL, often, 600), "slow-cores"), 0);
	assert_non_null(strstr(words.what, "20.0% of their time"));
	assert_non_null(strstr(words.evidence, "59% of the fastest cores' speed"));
	assert_int_equal(cost_of(places(NULL, seldom, 600), ""), -1);
	assert_int_equal(cost_of(places(NULL, often, 1000), ""), -1); /* binned alike */
}

/* Many nodes are told as well as two; more than are counted are not told at all. */
static void test_many_nodes(void **state)
{
	(void)state;
	for (uint32_t count = 40; count <= 80; count += 40) {
		struct run *run = usual();
		struct placed p;
		BUILDER_GROW(run->placed_cpus, run->placed_cpu_count);
		run->placed_cpus[run->placed_cpu_count++] = (struct run_cpu){0, 0, 1024};
		BUILDER_GROW(run->placed_threads, run->placed_thread_count);
		run->placed_threads[run->placed_thread_count++] =
			(struct run_thread_cpu){1, 1, 0, 1};
		for (uint32_t i = 0; i < count; i++) {
			BUILDER_GROW(run->placed_nodes, run->placed_node_count);
			run->placed_nodes[run->placed_node_count++] =
				(struct run_node){i, 1, 0, i == 39 ? 3 : i == 0};
		}
		assert_int_equal(placed_of_run(&p, run), count == 40);
		if (count == 40)
			assert_true(fabs(p.far - 0.75) < 1e-9);
		run_fini(run);
	}
}

/* What the system counts is told when the program has ended. */
static void test_not_counted(void **state)
{
	SCOPED_BY(fault_rows_fini) struct fault_rows rows = {0};
	struct run *run = touches(0, 1, 950, 0);
	const struct fault_view view = {&rows, run, 20};

	(void)state;
	assert_int_equal(fault_rows_measure(&rows, run), 0);
	json_t *answer = fault_to_json(&view), *program = json_object_get(answer, "program");
	assert_true(json_is_null(json_object_get(program, "minor")));
	assert_true(json_is_null(json_object_get(program, "major")));
	json_decref(answer);
	run->machine.minor_faults = 7;
	answer = fault_to_json(&view);
	program = json_object_get(answer, "program");
	assert_int_equal(json_integer_value(json_object_get(program, "minor")), 7);
	assert_int_equal(json_integer_value(json_object_get(program, "major")), 0);
	json_decref(answer);
	run_fini(run);
}

static void test_numbers(void **state)
{
	struct placed p;
	const uint64_t gib[] = {2, 6}, times[] = {1, 1, 1, 1};
	struct run *run = places(gib, times, 600);

	(void)state;
	assert_true(placed_of_run(&p, run));
	assert_true(fabs(p.far - 0.5) < 1e-9 && fabs(p.least_far - 0.25) < 1e-9);
	assert_int_equal(p.kinds[0].cpus, 3);
	assert_true(fabs(p.kinds[1].time - 0.25) < 1e-9);
	char *text = placed_text(run);
	assert_string_equal(text,
		"memory 2.15GB on node 0, 6.44GB on node 1; 50.0% of the threads' time on node 0, "
		"50.0% of the threads' time on node 1; cores of 2 kinds, 75.0% of the threads' "
		"time on the 3 fastest");
	free(text);
	run_fini(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_loading), cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_cores), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_many_nodes), cmocka_unit_test(test_not_counted)};

	return cmocka_run_group_tests_name("explain_load", tests, NULL, NULL);
}
