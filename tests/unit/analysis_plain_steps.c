/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs by steps that were left whole: a planted cost is found, beside a context
 * that grows, noise and preemption; where there is none the interval begins at 0, also where noise
 * has a long tail; few steps say nothing.
 */
#include <math.h>
#include "tests/unit/distortion_kit.h"
#include "tests/unit/summary_kit.h"

enum { STEPS = 250, EACH = 5 };

struct planted {
	uint64_t cost_ns, growth_ns, noise_ns;
	size_t steps;
	uint64_t tail_ns;	 /* the longest that something else takes now and then */
	uint64_t interrupted_ns; /* what one step in 20 takes longer */
	uint32_t cpus;		 /* for two threads; 0: not known */
	size_t prompts;		 /* steps of prefill, none of which was left whole */
};

static uint64_t noise(uint64_t below)
{
	static uint32_t seed = 1;
	seed = seed * 1664525u + 1013904223u;
	return below ? (seed >> 8) % below : 0;
}

/* Mostly next to nothing. */
static uint64_t tail(uint64_t longest)
{
	return (uint64_t)((double)longest * pow((double)noise(1000) / 1000, 8));
}

/* One step in EACH is left whole; each takes 1 ms, the others cost_ns more. */
static uint32_t build(struct run *run, const struct planted *p)
{
	uint32_t lane = start(run);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t whole =
		builder_site(run, builder_brick(run, BRICK_PLAIN_NAME, "Engine"), -1, NULL, NULL);
	uint32_t node = builder_site(run, builder_brick(run, "Work", "Other"), 0, "ADD", "x");
	uint32_t worker = builder_lane(run, 0, 2);
	uint64_t at = 1000;
	for (size_t i = 0; i < p->steps; i++) {
		bool is_plain = i % EACH == EACH - 1;
		uint64_t ns = 1000000 + i * p->growth_ns + noise(p->noise_ns) + tail(p->tail_ns) +
			      (is_plain ? 0 : p->cost_ns) + (i % 20 == 7 ? p->interrupted_ns : 0);
		builder_sample(run, lane, step, at, at + ns, 0);
		builder_step(run, lane, 1);
		builder_sample(run, lane, is_plain ? whole : node, at + 10, at + ns - 10, 1);
		if (!is_plain)
			builder_sample(run, worker, node, at + 10, at + ns - 10, 0);
		at += ns + 1000;
	}
	uint32_t prefill = builder_site(run, builder_known(run, BRICK_PREFILL), -1, NULL, NULL);
	for (size_t i = 0; i < p->prompts; i++, at += 1001000) {
		builder_sample(run, lane, prefill, at, at + 1000000, 0);
		builder_step(run, lane, 1);
		builder_sample(run, lane, node, at + 10, at + 1000000 - 10, 1);
		builder_sample(run, worker, node, at + 10, at + 1000000 - 10, 0);
	}
	give_stats(run, lane);
	run->cpus = p->cpus;
	run->processes[0].pair_cost_ns = 20;
	for (uint32_t i = lane; i <= worker; i++) {
		run->lanes[i].hook_calls = STEPS;
		run->lanes[i].hook_timed = 1;
		run->lanes[i].hook_ns = 50;
	}
	return lane;
}

static struct distortion measure(const struct planted *p)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	build(&run, p);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	summary_destroy(s);
	run_fini(&run);
	return d;
}

/* 20 us of 1.02 ms, in four steps of five. */
static void test_planted(void **state)
{
	struct distortion d = measure(&(struct planted){
		.cost_ns = 20000, .growth_ns = 1000, .noise_ns = 10000, .steps = STEPS});
	(void)state;
	assert_true(d.is_measured);
	assert_true(d.low < d.share && d.share < d.high);
	assert_true(d.low > 0.009 && d.high < 0.022);
	assert_true(d.low < 0.0158 && d.high > 0.0135);
	assert_true(says(&d, "left whole"));
}

static void test_none(void **state)
{
	struct distortion d =
		measure(&(struct planted){.growth_ns = 1000, .noise_ns = 10000, .steps = STEPS});
	(void)state;
	assert_true(d.is_measured);
	assert_true(d.low == 0 && d.share < 0.002 && d.high < 0.004);
}

static void test_long_tail(void **state)
{
	struct distortion d = measure(&(struct planted){.steps = 10 * STEPS, .tail_ns = 4000000});
	(void)state;
	assert_true(d.is_measured);
	assert_true(d.low == 0 && d.share < 0.02);
}

/* Recorded ones are the shorter by 20 us: noise, but for threads that take turns on a CPU. */
static void test_shorter(void **state)
{
	const uint64_t cost_ns = (uint64_t)-20000;
	struct distortion d = measure(&(struct planted){
		.cost_ns = cost_ns, .noise_ns = 10000, .steps = STEPS, .cpus = 2});
	(void)state;
	assert_true(d.is_measured && d.low == 0 && d.share == 0 && d.high == 0);
	d = measure(&(struct planted){
		.cost_ns = cost_ns, .noise_ns = 10000, .steps = STEPS, .cpus = 1});
	assert_true(d.is_measured && d.low < -0.014 && d.low > -0.022);
	assert_true(d.share == 0 && d.high == 0);
	/* with a phase whose cost is estimated: its interval has the turns' noise, which is said */
	d = measure(&(struct planted){.cost_ns = 20000,
		.noise_ns = 10000,
		.steps = STEPS,
		.cpus = 1,
		.prompts = 3 * EACH});
	assert_true(d.is_measured && d.turns == 2 && d.noise > 0);
	assert_true(says(&d, "took turns"));
}

/* What happens to a few steps, 40 ms once in 20, costs nothing: 20 us stay 20 us, of 3 ms each. */
static void test_interrupted(void **state)
{
	struct distortion d = measure(&(struct planted){
		.cost_ns = 20000, .noise_ns = 10000, .steps = STEPS, .interrupted_ns = 40000000});
	(void)state;
	assert_true(d.is_measured);
	assert_true(d.low > 0.002 && d.high < 0.009);
}

static void test_few(void **state)
{
	struct distortion d = measure(&(struct planted){.cost_ns = 20000, .steps = EACH * 5});
	(void)state;
	assert_false(d.is_measured);
	assert_true(says(&d, "timed in place"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_long_tail),
		cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_few),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
