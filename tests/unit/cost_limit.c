/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many steps keep their bricks so that recording costs no more than a share of the program's
 * time: planted costs of steps are found, and the share that follows holds the limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include "brick/brick.h"
#include "record/cost_limit.h"

/* A program whose steps grow, vary, and take longer with bricks. */
struct program {
	struct cost_limit limit;
	uint32_t seed;
	double base, cost, start_cost, noise; /* ticks; shares of a step */
	bool is_plain;
	uint32_t left;
	double with_ticks, cost_ticks, all_ticks;
};

static double by_chance(struct program *p)
{
	p->seed = p->seed * 1664525u + 1013904223u;
	return (double)(p->seed >> 8) / (1 << 24);
}

/* As the library does it. */
static void steps(struct program *p, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bool is_first = !p->left;
		if (!p->left) {
			uint32_t blocks = p->limit.blocks ? p->limit.blocks : 16 << 16 | 16;
			p->is_plain = !p->is_plain;
			p->left = p->is_plain ? blocks & UINT16_MAX : blocks >> 16;
		}
		p->left--;
		p->base *= 1.0001;
		double length = p->base * (1 + p->noise * (by_chance(p) - 0.5));
		if (by_chance(p) < 0.02)
			length *= 40; /* another program ran */
		double cost =
			p->is_plain ? 0 : p->base * (p->cost + (is_first ? p->start_cost : 0));
		p->cost_ticks += cost;
		p->all_ticks += p->base + cost;
		cost_limit_step(&p->limit, NULL,
			&(struct drain_step){
				BRICK_DECODE, p->is_plain, 1000, 1000 + (uint64_t)(length + cost)});
	}
}

static void begin(struct program *p, double most)
{
	*p = (struct program){.seed = 1, .base = 1e6, .noise = 0.01, .is_plain = true};
	cost_limit_init(&p->limit, most);
}

static double share(struct program *p)
{
	p->cost_ticks = p->all_ticks = 0;
	steps(p, 20000);
	return p->cost_ticks / p->all_ticks;
}

static void costs_are_found_and_held(void **state)
{
	static const double costs[] = {0.01, 0.03, 0.2, 0.6};
	struct program p;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		begin(&p, 0.005);
		p.cost = costs[i];
		steps(&p, 4000);
		double found = p.limit.cost / (1 - p.limit.cost); /* of a step without bricks */
		assert_true(fabs(found - costs[i]) < 0.1 * costs[i] + 0.001);
		assert_true(p.limit.low <= p.limit.cost && p.limit.cost <= p.limit.high);
		double is = share(&p);
		if (is > 0.005 * 1.05 || is < 0.0035)
			fail_msg("a cost of %g is held at %g", costs[i], is);
	}
}

static void a_cheap_recording_loses_little(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.05);
	p.cost = 0.001;
	steps(&p, 4000);
	assert_int_equal(p.limit.blocks >> 16, 240);
	assert_int_equal(p.limit.blocks & UINT16_MAX, 16);
	assert_true(share(&p) < 0.05);
}

/* The first step of a block costs more, for instance to find its graph again. */
static void what_blocks_cost_counts(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.005);
	p.cost = 0.02;
	p.start_cost = 0.16;
	steps(&p, 4000);
	assert_true(share(&p) < 0.005 * 1.05);
}

/* The cost follows what the program does now. */
static void a_change_is_followed(void **state)
{
	struct program p;

	(void)state;
	begin(&p, 0.005);
	p.cost = 0.002;
	steps(&p, 4000);
	p.cost = 0.05;
	steps(&p, 40000);
	assert_true(share(&p) < 0.005 * 1.05);
}

static void steps_of_other_phases_are_no_neighbours(void **state)
{
	struct cost_limit limit;

	(void)state;
	cost_limit_init(&limit, 0.005);
	for (int i = 0; i < 1000; i++)
		assert_false(cost_limit_step(&limit, NULL,
			&(struct drain_step){i / 2 % 2 ? BRICK_DECODE : BRICK_PREFILL, i % 2, 0,
				i / 2 % 2 ? 100 : 9000}));
	assert_int_equal(limit.step_count, 0);
	assert_int_equal(limit.with_bricks, 500);
	assert_int_equal(limit.without, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_found_and_held),
		cmocka_unit_test(a_cheap_recording_loses_little),
		cmocka_unit_test(what_blocks_cost_counts),
		cmocka_unit_test(a_change_is_followed),
		cmocka_unit_test(steps_of_other_phases_are_no_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
