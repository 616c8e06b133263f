/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sweep may take, by a clock of our own, and figures that contradict each other: which they
 * are, that they are measured again, and that none of them becomes a roof.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/machine/sweep_state.h"

/* A machine whose every figure can be, then with one of them spoiled. */
static void contradictions(void **state)
{
	struct ceilings_level levels[] = {{"L1", 1, 1}, {"memory", 0, 2}};
	struct ceilings_compute compute[] = {{"A", "f64", 1, {50, 50, 50, 1}},
		{"A", "f32", 1, {100, 100, 100, 1}}, {"A", "i8", 1, {200, 200, 200, 1}},
		{"A", "f32", 2, {190, 190, 190, 1}}, {"B", "f32", 1, {400, 400, 400, 1}},
		{"B", "bf16", 1, {700, 700, 700, 1}}};
	struct ceilings_bandwidth bandwidth[] = {{"L1", "read", "A", 1, 1, {300, 300, 300, 1}},
		{"L1", "read", "A", 1, 2, {30, 30, 30, 1}}, /* another size */
		{"memory", "read", "A", 1, 9, {40, 40, 40, 1}},
		{"memory", "read", "A", 2, 9, {60, 60, 60, 1}}};
	struct ceilings c = {.levels = levels,
		.level_count = 2,
		.compute = compute,
		.compute_count = 6,
		.bandwidth = bandwidth,
		.bandwidth_count = 4};
	const struct {
		double *figure, value;
	} spoiled[] = {{&compute[2].rate.best, 1.18}, {&compute[0].rate.best, 20},
		{&compute[1].rate.best, 30}, {&compute[3].rate.best, 0.07},
		{&bandwidth[0].rate.best, 35}, {&bandwidth[3].rate.best, 20},
		{&bandwidth[2].rate.best, 20}, {&compute[4].rate.best, 60},
		{&compute[5].rate.best, 300}};

	(void)state;
	assert_int_equal(ceilings_doubtful(&c), 0);
	assert_ptr_equal(ceilings_peak(&c, "f32", 2), &compute[3]);
	for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
		double was = *spoiled[i].figure;
		*spoiled[i].figure = spoiled[i].value;
		assert_true(ceilings_doubtful(&c) > 0);
		if (i == 3)
			assert_null(ceilings_peak(&c, "f32", 2));
		*spoiled[i].figure = was;
	}
}

/* Time by a clock of our own: each measurement takes 10 ms of it. */
static uint64_t fake_ns;
static unsigned measured;

static uint64_t fake_now(void)
{
	return fake_ns;
}

static void measure_fake(struct sweep *s, struct sweep_slot *slot)
{
	(void)s;
	measured++;
	fake_ns += 10000000;
	slot->values[slot->count++] = slot->work;
}

/* 100 slots of 10 ms: all of them once, then as long as there is time; never more than that. */
static void a_sweep_keeps_its_time(void **state)
{
	const struct sweep_options quick = {.quick = 1, .now_ns = fake_now};
	const struct sweep_options slow = {.now_ns = fake_now};
	static struct sweep_slot slots[100];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sweep s = {.options = i ? &slow : &quick,
			.repetitions = 7,
			.budget_ns = ceilings_budget_ns(!i)};
		memset(slots, 0, sizeof slots);
		s.slots.items = slots;
		s.slots.count = 100;
		fake_ns = s.begin_ns = 1000000000;
		measured = 0;
		sweep_measure_all(&s, measure_fake);
		assert_int_equal(measured, i ? 700 : 270);
		assert_true(fake_ns - s.begin_ns <= (i ? 12000000000u : 3000000000u));
	}
	/* A machine that is too slow for that still gives every figure once. */
	struct sweep s = {.options = &quick, .repetitions = 7, .budget_ns = 3000000000};
	memset(slots, 0, sizeof slots);
	s.slots.items = slots;
	s.slots.count = 100;
	fake_ns = 1000000000000; /* the time is over before it begins */
	measured = 0;
	sweep_measure_all(&s, measure_fake);
	assert_int_equal(measured, 100);
}

/* What others contradict is measured again, and the greatest stays. */
static void doubtful_slots_are_measured_again(void **state)
{
	const struct sweep_options options = {.now_ns = fake_now};
	const struct machine_compute f32 = {.isa = "A", .type = "f32"};
	struct ceilings_compute rows[] = {
		{"A", "f32", 1, {100, 100, 100, 1}}, {"A", "i8", 1, {1.18, 1.18, 1.18, 1}}};
	struct ceilings c = {.compute = rows, .compute_count = 2};
	struct sweep_slot slots[] = {{.compute = &f32, .work = 100, .count = 1, .values = {100}},
		{.compute = &f32, .work = 200, .count = 1, .values = {1.18}, .row = 1}};
	struct sweep s = {.options = &options, .ceilings = &c, .end_ns = UINT64_MAX / 2};

	(void)state;
	s.slots.items = slots;
	s.slots.count = 2;
	measured = 0;
	sweep_measure_again(&s, measure_fake);
	assert_int_equal(measured, 1);
	assert_true(rows[1].rate.best == 200 && rows[1].rate.count == 2);
	assert_true(rows[1].rate.worst == 1.18 && ceilings_spread(&rows[1].rate) > 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contradictions),
		cmocka_unit_test(a_sweep_keeps_its_time),
		cmocka_unit_test(doubtful_slots_are_measured_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
