/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates of replays (cuda_replays.h): nothing until a sample is complete, then its shares of the
 * replay, within the replay; another shape has none of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "attach/cuda/cuda_replays.h"
#include "attach/cuda/cupti.h"

static uint32_t switch_count;

static int fake_switch(uint32_t kind)
{
	switch_count++;
	return kind == CUPTI_GRAPH_TRACE ? CUPTI_FINE : CUPTI_BAD_KIND;
}

static struct brick_queue *queue_of(uintptr_t number)
{
	return (struct brick_queue *)number;
}

/* Nodes of 10 and 20, a gap of 10 between them, and the second one's branch of 5 beside it. */
static void add_sample(replay_shape shape, uint32_t correlation, uint64_t at, uint32_t nodes)
{
	const struct replay_node all[] = {
		{queue_of(1), at + 20, at + 40, 64, 8, 2},
		{queue_of(1), at, at + 10, 0, 7, 1},
		{queue_of(2), at + 22, at + 27, 0, 9, 3},
	};

	for (uint32_t i = 0; i < nodes; i++)
		replays_node(shape, 3, correlation, &all[i]);
}

static void shares(void **state)
{
	const struct replay_node *nodes;

	replay_shape shape = replays_new_shape(), other = replays_new_shape();
	assert_true(shape && other != shape);
	add_sample(shape, 5, 1000, 2);
	assert_int_equal(replays_estimate(shape, 9, queue_of(3), 0, 80, &nodes), -ENOENT);
	add_sample(shape, 6, 2000, 3); /* the one before stays without its third */
	assert_int_equal(replays_estimate(other, 9, queue_of(3), 0, 80, &nodes), -ENOENT);
	assert_int_equal(replays_estimate(0, 9, queue_of(3), 0, 80, &nodes), -ENOENT);
	assert_int_equal(replays_estimate(shape, 9, queue_of(3), 100, 140, &nodes), 3);
	assert_true(nodes[0].begin == 100 && nodes[0].end == 110 && nodes[0].graph_node == 7);
	assert_true(nodes[1].begin == 120 && nodes[1].end == 140 && nodes[1].bytes == 64);
	assert_true(nodes[2].begin == 122 && nodes[2].end == 127 && nodes[2].kernel == 3);
	assert_true(nodes[0].queue == queue_of(3) && nodes[2].queue == queue_of(2));
	/* twice as long as the mean of whole replays that is, of 60 then: so are its kernels */
	assert_int_equal(replays_estimate(shape, 9, queue_of(3), 0, 80, &nodes), 3);
	assert_int_equal(nodes[0].end - nodes[0].begin, 13); /* 10 * 80 / 60 */
	assert_in_range(nodes[1].end, 79, 80);
	assert_int_equal(replays_estimate(shape, 9, queue_of(3), 7, 7, &nodes), 3); /* no time */
	assert_true(nodes[0].begin == 7 && nodes[1].end == 7);
	assert_int_equal(replays_estimate(shape, 9, queue_of(3), 7, 6, &nodes), -ENOENT);
	/* each replay has the sample before it, whichever records came first */
	add_sample(shape, 30, 9000, 3);
	replays_node(shape, 3, 20, &(struct replay_node){queue_of(1), 10, 30, 0, 7, 1});
	replays_node(shape, 3, 20, &(struct replay_node){queue_of(1), 30, 40, 0, 8, 2});
	replays_node(shape, 3, 20, &(struct replay_node){queue_of(1), 40, 50, 0, 9, 3});
	assert_int_equal(replays_estimate(shape, 25, queue_of(3), 0, 1, &nodes), 3);
	assert_int_equal(nodes[2].kernel, 3);
	assert_true(nodes[2].queue == queue_of(3)); /* unlike in the others */
	assert_int_equal(replays_estimate(shape, 31, queue_of(3), 0, 1, &nodes), 3);
	assert_true(nodes[2].queue == queue_of(2));
}

/* Copies have records of their own beside that of the whole replay: they are no estimates, too. */
static void both_kinds(void **state)
{
	const struct replay_node *nodes;
	const struct replay_node copy = {queue_of(1), 520, 540, 64, 8, 2};
	replay_shape shape = replays_new_shape();

	add_sample(shape, 1, 1000, 3);
	for (uint32_t i = 10; i < 2000; i++) { /* each is forgotten, and is in no sample's way */
		replays_node(shape, 3, i, &copy);
		assert_int_equal(replays_estimate(shape, i, queue_of(1), 500, 540, &nodes), 2);
		assert_true(nodes[0].graph_node == 7 && nodes[1].graph_node == 9);
	}
	add_sample(shape, 2000, 9000, 3);
	assert_int_equal(replays_estimate(shape, 2001, queue_of(3), 0, 80, &nodes), 3);
	add_sample(shape, 2002, 9500, 3); /* all have records */
	assert_int_equal(replays_estimate(shape, 2002, queue_of(3), 0, 80, &nodes), 0);
}

/* Switches stand between samples only; one of other threads keeps the kind off. */
static void switches(void **state)
{
	cupti.enable = cupti.disable = fake_switch;
	replays_want(REPLAYS_LIGHT);
	replay_shape shape = replays_new_shape();
	assert_false(replays_enter(shape)); /* not decided */
	replays_decide(NULL, &(struct replay_costs){16, 1, 1, 1});
	uint32_t samples = 0;
	for (int i = 0; i < 6 * REPLAY_PERIOD; i++)
		if (replays_enter(shape)) {
			samples++;
			replays_leave();
		}
	assert_int_equal(switch_count, 2);	      /* on, and off for all of them */
	assert_int_equal(samples, 6 * REPLAY_PERIOD); /* no sample has been seen complete */
	add_sample(shape, 6, 2000, 3);
	samples = 0;
	uint32_t places = 0; /* a bit for each: work that repeats itself meets samples anywhere */
	for (int i = 0; i < 10 * REPLAY_PERIOD; i++)
		if (replays_enter(shape)) {
			samples++;
			places |= 1u << i % REPLAY_PERIOD;
			replays_leave();
		}
	assert_int_equal(samples, 10);
	assert_true(__builtin_popcount(places) >= 4);
	assert_true(replays_enter(0)); /* not known node by node */
	replays_leave();
}

/* Switches that cost more than records of nodes are not worth it. */
static void by_cost(void **state)
{
	replays_want(REPLAYS_AS_COST);
	replay_shape shape = replays_new_shape();
	replays_decide(NULL, &(struct replay_costs){16, 1, 1, 1000});
	assert_false(replays_enter(shape));
	replays_decide(NULL, &(struct replay_costs){16, 0.2, 1, 1});
	assert_false(replays_enter(shape));
	replays_decide(NULL, &(struct replay_costs){16, 1, 1, 100});
	assert_true(replays_enter(shape));
	replays_leave();
}

/* Replays come as a whole, of a graph of which no sample ever came. */
static void not_heeded(void **state)
{
	const struct replay_node *nodes;

	replays_want(REPLAYS_LIGHT);
	replays_decide(NULL, &(struct replay_costs){16, 1, 1, 1});
	replay_shape shape = replays_new_shape(), other = replays_new_shape();
	add_sample(other, 6, 2000, 3);
	assert_true(replays_estimate(other, 9, queue_of(3), 0, 80, &nodes) > 0);
	for (int i = 0; i < 100; i++)
		replays_unknown(other);
	assert_true(replays_enter(shape));
	replays_leave();
	for (int i = 0; i < 100; i++)
		replays_unknown(shape);
	switch_count = 0;
	for (int i = 0; i < 10 * REPLAY_PERIOD; i++)
		assert_false(replays_enter(other));
	assert_int_equal(switch_count, 0); /* it was off */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(switches), cmocka_unit_test(shares),
		cmocka_unit_test(both_kinds), cmocka_unit_test(by_cost),
		cmocka_unit_test(not_heeded)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
