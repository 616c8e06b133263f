/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experts of a run made by hand: whose records are a product's, what counts as tokens and as reads,
 * how even a layer is, what the hottest serve, and what is not known.
 */
#include "analysis/experts/experts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "brick/error.h"
#include "tests/unit/run_builder.h"

enum { EXPERTS = 4, BYTES = 100 };

static struct run run;
static uint64_t now;
static uint32_t step_site, gate[2], down[2], lookup;

static uint32_t product(const char *brick, int32_t layer, const char *label)
{
	uint32_t site =
		builder_site(&run, builder_brick(&run, brick, "FFN"), layer, "MUL_MAT_ID", label);

	run.sites[site].flags = BRICK_SITE_HAS_ELEMENTS;
	return site;
}

static int set_up(void **state)
{
	(void)state;
	memset(&run, 0, sizeof run);
	now = 1000;
	builder_lane(&run, builder_process(&run, 7), 7);
	step_site = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	gate[0] = product("GateProjection", 0, "gate-0");
	down[0] = product("DownProjection", 0, "down-0");
	gate[1] = product("GateProjection", 1, "gate-1");
	down[1] = product("DownProjection", 1, "down-1");
	lookup =
		builder_site(&run, builder_brick(&run, "ProfilerLookup", "Engine"), -1, NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	run_fini(&run);
	return 0;
}

static void begin_step(void)
{
	builder_sample(&run, 0, step_site, now, now + 10000, 0);
	builder_step(&run, 0, 1);
	run.steps[run.step_count - 1].model = 3;
}

static void expert(int32_t number, uint32_t tokens)
{
	BUILDER_GROW(run.experts, run.expert_count);
	run.experts[run.expert_count++] = (struct run_expert){.ns = now,
		.step = (uint32_t)run.step_count - 1,
		.expert = number,
		.tokens = tokens,
		.experts = EXPERTS,
		.bytes = BYTES};
}

/* Behind its records comes what it took to read them. */
static void multiply(uint32_t site)
{
	builder_sample(&run, 0, lookup, now, now + 5, 1);
	builder_sample(&run, 0, site, now + 5, now + 55, 1);
	now += 60;
}

/* Both products of a layer. */
static void layer(int number, int32_t first, uint32_t first_tokens, int32_t second)
{
	expert(first, first_tokens);
	expert(second, 1);
	multiply(gate[number]);
	expert(BRICK_EXPERT_SAME, 0);
	multiply(down[number]);
}

static struct experts *experts(void)
{
	struct experts *made;

	assert_int_equal(experts_create(&made, &run), 0);
	return made;
}

static void what_each_got(void **state)
{
	(void)state;
	begin_step();
	layer(0, 1, 3, 2);
	layer(1, 0, 1, 3);
	begin_step();
	layer(0, 1, 3, 0);
	layer(1, 0, 1, 3);
	struct experts *e = experts();
	assert_int_equal(e->models.count, 1);
	const struct expert_model *m = e->models.items;
	assert_int_equal(m->model, 3);
	assert_int_equal(m->layers.count, 2);
	const struct expert_layer *l = m->layers.items;
	const uint64_t tokens[2][EXPERTS] = {{1, 6, 1, 0}, {2, 0, 0, 2}};
	const uint64_t reads[2][EXPERTS] = {{2, 4, 2, 0}, {4, 0, 0, 4}};
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < EXPERTS; k++) {
			assert_int_equal(l[i].expert[k].tokens, tokens[i][k]);
			assert_int_equal(l[i].expert[k].bytes, reads[i][k] * BYTES);
		}
	assert_int_equal(l[0].executions, 4);
	assert_int_equal(l[0].ns, 4 * 50);
	assert_int_equal(l[0].expert_bytes, 2 * BYTES);
	assert_int_equal(l[0].unused, 1);
	assert_int_equal(l[0].most, 1);
	assert_true(fabs(l[1].even_as - 2) < 1e-9);
	assert_int_equal(e->executions, 8);
	assert_int_equal(e->unknown, 0);
	/* kept: 1 and 2 of each layer; of the second one both get the same */
	assert_int_equal(m->kept_count, 2);
	assert_int_equal(m->kept[0].bytes, 2 * 2 * BYTES);
	assert_true(fabs(m->kept[0].tokens - 8. / 12) < 1e-9);
	assert_true(fabs(m->kept[0].reads - 8. / 16) < 1e-9);
	assert_true(fabs(m->kept[1].tokens - 11. / 12) < 1e-9);
	experts_destroy(e);
}

static void what_is_not_known(void **state)
{
	(void)state;
	begin_step();
	expert(BRICK_EXPERT_SAME, 0); /* as none */
	multiply(gate[0]);
	layer(0, 1, 1, 2);
	begin_step();
	expert(BRICK_EXPERT_SAME, 0); /* as those of another step */
	multiply(gate[0]);
	multiply(down[0]);
	expert(1, 1); /* its product is not here */
	struct experts *e = experts();
	assert_int_equal(e->models.items[0].layers.items[0].tokens, 2);
	assert_int_equal(e->executions, 5);
	assert_int_equal(e->unknown, 3);
	experts_destroy(e);
}

static void part_of_the_layers(void **state)
{
	(void)state;
	begin_step();
	layer(0, 1, 1, 2);
	layer(1, 0, 1, 3);
	run.sites[gate[0]].left_out = run.sites[down[0]].left_out = RUN_LEFT_OUT_ALL;
	struct experts *e = experts();
	assert_int_equal(e->models.items[0].layers.count, 1);
	assert_int_equal(e->models.items[0].layers.items[0].layer, 1);
	assert_int_equal(e->executions, 2);
	experts_destroy(e);
}

static void no_mixture(void **state)
{
	struct experts *e;

	(void)state;
	begin_step();
	run.sites[gate[0]].flags = 0; /* another thread's part */
	multiply(gate[0]);
	assert_int_equal(experts_create(&e, &run), BRICK_ENOTRECORDED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_each_got),
		TEST(what_is_not_known),
		TEST(part_of_the_layers),
		TEST(no_mixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
