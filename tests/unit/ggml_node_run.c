/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of nodes (src/attach/ggml/nodes/node_run.h) and their plans: what is recorded of nodes that
 * come as expected, of one that does not, of a run that is flushed in its midst, and of one over
 * which the lower half of the clock begins anew.
 */
#include "tests/unit/node_run_kit.h"

enum { NODES = 6, EPOCH_SHIFT = 32 };

struct tensor {
	int64_t ne[4];
	int32_t op, type;
	const void *source[2];
};

static struct engine engine;
static struct tensor tensors[NODES + 1];
static struct known_graph *graph;

/* A graph of all tensors but the last, executed in their order, on this thread alone. */
static int begin_graph(void **state)
{
	struct node_thread *t = &node_thread;
	(void)state;

	engine.layout_known = 1;
	engine.layout.ne = offsetof(struct tensor, ne);
	engine.layout.op = offsetof(struct tensor, op);
	engine.layout.type = offsetof(struct tensor, type);
	engine.layout.source = offsetof(struct tensor, source);
	graph = calloc(1, sizeof *graph + (NODES + 1) * sizeof graph->nodes[0]);
	graph->engine = &engine;
	graph->count = NODES;
	memset(t, 0, sizeof *t);
	t->shape_at = engine_shape_offsets(&engine);
	for (uint32_t i = 0; i <= NODES; i++) {
		tensors[i] = (struct tensor){{i + 1, 1, 1, 1}, 7, 0, {NULL}};
		graph->nodes[i] = (struct known_node){.node = &tensors[i],
			.shape = node_shape(&t->shape_at, &tensors[i], 0),
			.site = {i + 1, i + 1},
			.next = i < NODES ? i + 1 : 0};
	}
	t->run = t->run_from = NODE_RUN_NONE;
	node_run_none[NODE_RUN_BEFORE].mark = NODE_KEY_NONE;
	recorded_count = calls = 0;
	cost = 0;
	t->bytes = 1;
	t->graph = graph;
	t->nodes = graph->nodes;
	t->in_graph = 1;
	t->node_now = NODES;
	node_run_arm(t);
	assert_non_null(t->plan);
	assert_int_equal(t->plan->count, NODES);
	return 0;
}

static int end_graph(void **state)
{
	(void)state;
	node_run_leave(&node_thread);
	assert_int_equal(graph->plan->is_taken, 0);
	node_plans_free(graph->plan);
	free(graph);
	return 0;
}

static int begin_node(uint32_t i)
{
	return node_run_begin(&node_thread, &tensors[i], 0, brick__counter_halves());
}

static void begin_nodes(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		assert_true(begin_node(i));
}

/* Each site once, in order, none before `from` nor behind `to`, and none in another. */
static void assert_recorded(uint32_t count, uint64_t from, uint64_t to)
{
	assert_int_equal(recorded_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(recorded[i].site, i + 1);
		assert_true(recorded[i].begin >= from);
		from = recorded[i].begin + recorded[i].length;
	}
	assert_true(from <= to);
	assert_int_equal(node_thread.started, count);
	assert_int_equal(calls, count);
}

static void all_as_expected(void **state)
{
	uint64_t begin = brick__counter();
	(void)state;

	node_run_flush(&node_thread, begin); /* nothing yet */
	assert_int_equal(recorded_count, 0);
	begin_nodes(0, NODES);
	assert_false(begin_node(0)); /* behind the last one comes none */
	node_run_leave(&node_thread);
	assert_recorded(NODES, begin, brick__counter());
	assert_true(cost < brick__counter() - begin);
	assert_int_equal(graph->plan->is_stale, 0);
}

static void flushed_in_its_midst(void **state)
{
	uint64_t begin = brick__counter();
	(void)state;

	begin_nodes(0, 2);
	node_run_flush(&node_thread, brick__now());
	assert_int_equal(recorded_count, 2);
	begin_nodes(2, NODES);
	node_flush_slow(&node_thread);
	assert_recorded(NODES, begin, brick__counter());
}

static void another_node(void **state)
{
	uint64_t begin = brick__counter();
	(void)state;

	begin_nodes(0, 3);
	assert_false(begin_node(4));
	assert_int_equal(node_run_refused(&node_thread, &tensors[4], 0), 0);
	assert_recorded(3, begin, brick__counter());
	assert_null(node_thread.plan);
	assert_ptr_equal(node_thread.run, NODE_RUN_NONE);
	assert_int_equal(node_thread.run_bytes, 0);
	assert_int_equal(node_thread.node_now, 2); /* and what was expected behind it */
	assert_int_equal(node_thread.node_next, 3);
	assert_int_equal(graph->plan->is_stale, 1);
	assert_false(begin_node(3)); /* nothing is begun where no run goes on */

	/* The next time it is planned anew, by the links that there are then. */
	graph->nodes[2].next = 4;
	node_thread.node_next = graph->nodes[NODES].next;
	node_run_arm(&node_thread);
	assert_ptr_equal(node_thread.plan, graph->plan);
	assert_int_equal(graph->plan->count, NODES - 1);
	assert_int_equal(graph->plan->is_stale, 0);
	assert_non_null(graph->plan->former);
}

/* Another shape at the same address, or a pair, is another node. */
static void another_shape(void **state)
{
	(void)state;
	begin_nodes(0, 1);
	tensors[1].ne[1]++;
	assert_false(begin_node(1));
	tensors[1].ne[1]--;
	assert_false(node_run_begin(&node_thread, &tensors[1], 1, brick__counter_halves()));
	assert_true(begin_node(1));
}

/* All that has begun so far began 2^32 ticks earlier. */
static void make_older(void)
{
	node_thread.run_epoch--;
	node_thread.run_base -= 1ULL << EPOCH_SHIFT;
}

static void over_an_epoch(void **state)
{
	uint64_t begin = brick__counter() - (1ULL << EPOCH_SHIFT);
	(void)state;

	begin_nodes(0, 3);
	make_older();
	assert_false(begin_node(3));
	assert_int_equal(node_run_refused(&node_thread, &tensors[3], 0), 1);
	assert_int_equal(recorded_count, 3);
	assert_true(recorded[2].length >> EPOCH_SHIFT); /* longer than an event tells */
	assert_false(recorded[1].length >> EPOCH_SHIFT);
	begin_nodes(4, NODES);
	node_run_leave(&node_thread);
	assert_recorded(NODES, begin, brick__counter());
}

/* The first node comes an epoch after the graph began. */
static void late_first(void **state)
{
	uint64_t begin = brick__counter();
	(void)state;

	make_older();
	assert_false(begin_node(0));
	assert_int_equal(node_run_refused(&node_thread, &tensors[0], 0), 1);
	begin_nodes(1, NODES);
	node_run_leave(&node_thread);
	assert_recorded(NODES, begin, brick__counter());
}

static void by_one_thread_at_a_time(void **state)
{
	struct node_thread other = node_thread;
	(void)state;

	other.plan = NULL;
	other.run = other.run_from = NODE_RUN_NONE;
	node_run_arm(&other);
	assert_null(other.plan);
}

int main(void)
{
	brick_clock_get();
	if (!brick__counter_used)
		return 77; /* there are no runs by another clock */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_as_expected, begin_graph, end_graph),
		cmocka_unit_test_setup_teardown(flushed_in_its_midst, begin_graph, end_graph),
		cmocka_unit_test_setup_teardown(another_node, begin_graph, end_graph),
		cmocka_unit_test_setup_teardown(another_shape, begin_graph, end_graph),
		cmocka_unit_test_setup_teardown(over_an_epoch, begin_graph, end_graph),
		cmocka_unit_test_setup_teardown(late_first, begin_graph, end_graph),
		cmocka_unit_test_setup_teardown(by_one_thread_at_a_time, begin_graph, end_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
