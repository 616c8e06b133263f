/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sweep may take, by a clock of our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/machine/sweep.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sweep_keeps_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
