/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what is said of a recording's clock is measured: a clock that is slewed shows up in
 * the residual, in long runs and in short ones, by no less and no more than twice what times were
 * off, also where they were off furthest between two readings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "lib/drain/clock_line.h"

enum { MS = 1000000, TICKS_PER_NS = 2, SLEW_PPM = 500 };

/* The clock that is read: 2 ticks a ns, and CLOCK_MONOTONIC slewed for a while. */
static struct {
	uint64_t ns; /* that have really passed */
	uint64_t slew_from, slew_to;
} now;

static uint64_t monotonic_at(uint64_t ns)
{
	uint64_t end = ns < now.slew_to ? ns : now.slew_to;
	uint64_t slewed = end > now.slew_from ? end - now.slew_from : 0;

	return 5000000000 + ns + slewed * SLEW_PPM / 1000000;
}

static struct clock_pair read_double(void)
{
	now.ns += 100; /* a reading takes time */
	return (struct clock_pair){
		.ticks = 777 + now.ns * TICKS_PER_NS, .ns = monotonic_at(now.ns), .width = 40};
}

static void start(struct drain_clock *c, uint64_t slew_from, uint64_t slew_to)
{
	now.ns = 1000;
	now.slew_from = slew_from;
	now.slew_to = slew_to;
	*c = (struct drain_clock){.read = read_double,
		.clock = {.source = BRICK_CLOCK_TSC,
			.shift = 1,
			.mult = 1,
			.base_ns = 5000000000 - 388},
		.first = read_double()};
}

/* How far the line is off at most over the time from `from` to now. */
static uint64_t error_since(const struct drain_clock *c, uint64_t from)
{
	uint64_t most = 0;

	for (uint64_t ns = from; ns <= now.ns; ns += MS / 4) {
		struct clock_pair truth = {777 + ns * TICKS_PER_NS, monotonic_at(ns), 0};
		uint64_t off = brick__clock_residual(&c->clock, &truth);
		most = off > most ? off : most;
	}
	return most;
}

static void check_stated(const struct drain_clock *c, uint32_t stated)
{
	uint64_t error = error_since(c, 1000);

	assert_true(error > 1000); /* or there is nothing to be shown */
	assert_true(stated >= error);
	assert_true(stated <= error * 2);
}

/* Looked at as a consumer does: until the baseline is long enough, then once a second. */
static void slewed_after_the_fit(void **state)
{
	(void)state;
	struct drain_clock c;

	start(&c, 500ull * MS, 2500ull * MS);
	while (drain_clock_baseline_ns(&c) < DRAIN_CLOCK_BASELINE_NS)
		now.ns += 2 * MS;
	drain_clock_fit(&c);
	assert_in_range(c.clock.residual_ns, 0, 2);
	for (int i = 0; i < 4; i++) {
		now.ns += 1000ull * MS;
		drain_clock_check(&c);
	}
	assert_in_range(drain_clock_check(&c), 999000, 1251000);
	check_stated(&c, drain_clock_check(&c));
}

/* A run that ends before the line is checked a second time: what it went through says nothing. */
static void slewed_in_a_short_run(void **state)
{
	(void)state;
	struct drain_clock c;

	start(&c, 0, 20ull * MS);
	while (drain_clock_baseline_ns(&c) < 40ull * MS)
		now.ns += 2 * MS;
	drain_clock_fit(&c);
	check_stated(&c, drain_clock_check(&c));
	assert_true(c.clock.residual_ns == drain_clock_check(&c));
}

/* Looked at twice only: between them, where the slewing ends, it is further off than at either. */
static void slewed_between_two_looks(void **state)
{
	(void)state;
	struct drain_clock c;

	for (int end_ms = 4; end_ms < 36; end_ms += 2) {
		start(&c, 0, (uint64_t)end_ms * MS);
		for (int i = 0; i < 3; i++) {
			now.ns += 10ull * MS;
			drain_clock_baseline_ns(&c);
		}
		now.ns += 10ull * MS;
		drain_clock_fit(&c);
		check_stated(&c, c.clock.residual_ns);
	}
}

/* Nobody looked before the end: the line has to foretell a reading. */
static void slewed_at_the_end(void **state)
{
	(void)state;
	struct drain_clock c;

	start(&c, 0, 20ull * MS);
	now.ns += 20ull * MS;
	drain_clock_fit(&c);
	assert_true(drain_clock_check(&c) >= 450);
}

static void steady(void **state)
{
	(void)state;
	struct drain_clock c;

	start(&c, 0, 0);
	now.ns += 30ull * MS;
	drain_clock_baseline_ns(&c);
	now.ns += 30ull * MS;
	drain_clock_fit(&c);
	now.ns += 3000ull * MS;
	assert_in_range(drain_clock_check(&c), 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slewed_after_the_fit),
		cmocka_unit_test(slewed_in_a_short_run),
		cmocka_unit_test(slewed_between_two_looks),
		cmocka_unit_test(slewed_at_the_end),
		cmocka_unit_test(steady),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
