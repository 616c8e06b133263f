/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions beside bricks: which brick a thread was in when its stack was taken, what a selection
 * of bricks, threads and times leaves of the stacks, how often functions were found, and limits of
 * their shares.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/accounts/function_accounts.h"
#include "analysis/accounts/selection.h"
#include "analysis/accounts/stack_bricks.h"
#include "analysis/steps/step_times.h"
#include "brick/error.h"
#include "tests/unit/run_builder.h"

static uint32_t add_function(struct run *run, const char *name)
{
	BUILDER_GROW(run->functions, run->function_count);
	run->functions[run->function_count] =
		(struct run_function){builder_copy(name), builder_copy("/lib/x.so")};
	return (uint32_t)run->function_count++;
}

static uint32_t add_call(struct run *run, uint32_t caller, uint32_t function)
{
	BUILDER_GROW(run->calls, run->call_count);
	run->calls[run->call_count] = (struct run_call){caller, function};
	return (uint32_t)run->call_count++;
}

static uint32_t add_thread(struct run *run, uint32_t tid, const char *name)
{
	BUILDER_GROW(run->stack_threads, run->stack_thread_count);
	run->stack_threads[run->stack_thread_count] =
		(struct run_stack_thread){1, tid, builder_copy(name)};
	return (uint32_t)run->stack_thread_count++;
}

static void add_stack(struct run *run, uint64_t ns, uint32_t call, uint32_t thread, uint32_t lane)
{
	BUILDER_GROW(run->stacks, run->stack_count);
	run->stacks[run->stack_count++] =
		(struct run_stack){.ns = ns, .call = call, .thread = thread, .lane = lane};
}

/*
 * One thread: decode 100..900 { compute 200..700 { qkv 250..400, waits to 450; a tile in it
 * 300..350; up 500..600 } }, and another that records nothing.
 */
struct scene {
	struct run run;
	uint32_t compute, qkv, up, wait;
	uint32_t main_call, work_call, deep_call;
};

static void set_up(struct scene *s)
{
	struct run *run = &s->run;
	uint32_t decode = builder_known(run, BRICK_DECODE);
	*s = (struct scene){.run = *run};
	s->compute = builder_known(run, BRICK_GRAPH_COMPUTE);
	s->qkv = builder_known(run, BRICK_QKV_PROJECTION);
	s->up = builder_known(run, BRICK_UP_PROJECTION);
	s->wait = builder_known(run, BRICK_BARRIER_WAIT);
	uint32_t tile = builder_brick(run, "dot", "Tile");
	builder_process(run, 1);
	uint32_t lane = builder_lane(run, 0, 1);
	builder_sample(run, lane, builder_site(run, decode, -1, NULL, NULL), 100, 900, 0);
	builder_step(run, lane, 1);
	builder_sample(run, lane, builder_site(run, s->compute, -1, NULL, NULL), 200, 700, 1);
	builder_sample(run, lane, builder_site(run, s->qkv, 0, NULL, NULL), 250, 400, 2)->wait_ns =
		50;
	builder_sample(run, lane, builder_site(run, tile, 0, NULL, NULL), 300, 350, 3);
	builder_sample(run, lane, builder_site(run, s->up, 1, NULL, NULL), 500, 600, 2);
	run->lanes[lane].start_ns = run->start_ns = 0;
	run->lanes[lane].end_ns = run->end_ns = 1000;

	uint32_t work = add_function(run, "work"), main = add_function(run, "main");
	s->main_call = add_call(run, RUN_NONE, main);
	s->work_call = add_call(run, s->main_call, work);
	uint32_t again = add_call(run, s->work_call, main);
	s->deep_call = add_call(run, again, work);
	uint32_t engine = add_thread(run, 1, "engine"), other = add_thread(run, 2, "other");
	static const uint64_t times[] = {
		50, 150, 210, 260, 320, 360, 399, 400, 449, 450, 550, 650, 899, 900};
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		add_stack(run, times[i], s->work_call, engine, lane);
	add_stack(run, 910, s->deep_call, other, RUN_NONE);
	run->stack_account.hz = 100;
}

static void bricks_around(void **state)
{
	struct scene s = {0};
	struct stack_place places[15];
	(void)state;

	set_up(&s);
	uint32_t decode = run_brick_find(&s.run, "Decode");
	const uint32_t expected[15] = {RUN_NONE, decode, s.compute, s.qkv, s.qkv, s.qkv, s.qkv,
		s.wait, s.wait, s.compute, s.up, s.compute, decode, RUN_NONE, RUN_NONE};
	assert_int_equal(s.run.stack_count, 15);
	assert_int_equal(stack_places_find(places, &s.run, false), 0);
	for (size_t i = 0; i < 15; i++)
		assert_int_equal(places[i].brick, expected[i]);
	run_fini(&s.run);
}

static size_t stacks_of(struct selection selection)
{
	struct scene s = {0};
	char *missing;

	set_up(&s);
	int rc = selection_apply(&selection, &s.run, &missing);
	size_t count = s.run.stack_count;
	assert_int_equal(rc, 0);
	run_fini(&s.run);
	return count;
}

#define SELECT(count, member, value)                             \
	do {                                                     \
		struct selection selection = SELECTION_INIT;     \
		selection.member = (value);                      \
		assert_int_equal(stacks_of(selection), (count)); \
	} while (0)

static void selections(void **state)
{
	(void)state;
	SELECT(4, brick, "QkvProjection");
	SELECT(1, brick, "UpProjection");
	/* what is nested in it, with the waits there, is in it, too */
	SELECT(10, brick, "GraphCompute");
	SELECT(2, brick, "BarrierWait");
	SELECT(6, layer, 0);
	SELECT(14, thread, "engine");
	SELECT(1, thread, "2");
	SELECT(12, phase, STEP_DECODE);
	SELECT(14, since_ns, 60);
}

static void counts(void **state)
{
	struct scene s = {0};
	struct functions f;
	(void)state;

	set_up(&s);
	assert_int_equal(functions_measure(&f, &s.run), 0);
	assert_int_equal(f.stacks, 15);
	assert_int_equal(f.outside, 3);
	assert_true(f.each_ns == 1e7);
	assert_int_equal(f.count, 2);
	assert_string_equal(s.run.functions[f.rows[0].function].name, "work");
	assert_int_equal(f.rows[0].stacks, 15);
	assert_int_equal(f.rows[0].total, 15); /* once a stack, however often it is in there */
	assert_int_equal(f.rows[1].stacks, 0);
	assert_int_equal(f.rows[1].total, 15);
	assert_int_equal(f.rows[0].place_count, 6);
	assert_int_equal(f.places[f.rows[0].place].brick, s.qkv);
	assert_int_equal(f.places[f.rows[0].place].stacks, 4);
	functions_fini(&f);
	run_fini(&s.run);
}

static void tree(void **state)
{
	struct scene s = {0};
	struct call_tree *tree;
	(void)state;

	set_up(&s);
	assert_int_equal(functions_tree(&tree, &s.run), 0);
	assert_int_equal(tree->nodes[0].time_ns, 150000000);
	const struct call_node *engine = &tree->nodes[tree->nodes[0].first];
	assert_int_equal(engine->kind, CALL_THREAD);
	assert_int_equal(engine->time_ns, 140000000);
	const struct call_node *main = &tree->nodes[engine->first];
	assert_int_equal(main->kind, CALL_FUNCTION);
	assert_int_equal(main->self_ns, 0);
	const struct call_node *work = &tree->nodes[main->first];
	assert_int_equal(work->self_ns, 140000000);
	assert_int_equal(work->count, 14);
	const struct call_node *other = &tree->nodes[engine->next];
	assert_int_equal(other->time_ns, 10000000);
	call_tree_destroy(tree);
	run_fini(&s.run);
}

/* Wilson (1927); values from the literature's worked cases: 0 of 10, 1 of 10, 81 of 263. */
static void limits(void **state)
{
	static const struct {
		uint64_t part, all;
		double low, high;
	} known[] = {{0, 10, 0, 0.2775}, {1, 10, 0.0179, 0.4042}, {81, 263, 0.2553, 0.3662},
		{10, 10, 0.7225, 1}};
	double low, high;
	(void)state;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		share_limits(known[i].part, known[i].all, &low, &high);
		assert_true(low > known[i].low - 1e-4 && low < known[i].low + 1e-4);
		assert_true(high > known[i].high - 1e-4 && high < known[i].high + 1e-4);
	}
	share_limits(0, 0, &low, &high);
	assert_true(low == 0 && high == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bricks_around),
		cmocka_unit_test(selections),
		cmocka_unit_test(counts),
		cmocka_unit_test(tree),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
