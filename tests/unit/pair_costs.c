/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a begin/end pair: what a session's header says of it, and what a report makes of it,
 * by how far the pairs lie apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <cmocka.h>
#include "analysis/cost/recording_costs.h"
#include "lib/sys/sys.h"
#include "tests/unit/peek.h"
#include "ui/text/trust_text.h"

static void header_says_warm_and_cold(void **state)
{
	struct peek p = {0};
	(void)state;
	peek_start(&p, 1024);
	peek_map(&p);
	const struct brick_session_header *h = peek_header(&p);
	assert_true(h->pair_cost_low > 0);
	assert_true(h->pair_cost >= h->pair_cost_low);
	assert_true(h->pair_cost_high >= h->pair_cost);
	assert_true(h->pair_cost_streamed >= h->pair_cost_high);
	assert_true(h->pair_stream_ticks > 0);
	int value = 5;
	if (!brick__sys_flush(&value, sizeof value))
		assert_true(h->pair_cost_cold >= h->pair_cost_streamed);
	else
		assert_int_equal(h->pair_cost_cold, 0);
	assert_int_equal(value, 5);
	peek_stop(&p);
}

static struct run_process process(void)
{
	return (struct run_process){.pair_cost_ns = 20,
		.pair_cost_low_ns = 18,
		.pair_cost_high_ns = 70,
		.pair_cost_streamed_ns = 100,
		.pair_cost_cold_ns = 4000,
		.pair_stream_ns = 20000};
}

/* 100 pairs that lie so far apart. */
static struct pair_costs costs_of(const struct run_process *p, double between_ns)
{
	struct pair_costs costs = {0};
	pair_costs_add(&costs, p, 60);
	pair_costs_add(&costs, p, 40);
	pair_costs_place(&costs, 100 * between_ns);
	return costs;
}

static void assert_costs(struct pair_costs costs, double low, double likely, double high)
{
	assert_true(fabs(costs.low_ns - 100 * low) < 1e-6);
	assert_true(fabs(costs.ns - 100 * likely) < 1e-6);
	assert_true(fabs(costs.high_ns - 100 * high) < 1e-6);
}

static void colder_as_they_lie_apart(void **state)
{
	struct run_process p = process();
	(void)state;
	assert_costs(costs_of(&p, 100), 18, 20, 40.5);
	assert_costs(costs_of(&p, 19999), 18, 20, 40 + 99.995);
	assert_costs(costs_of(&p, 20000), 18, 100, 140);
	assert_costs(costs_of(&p, 200000), 18, 100, 1040);
	assert_costs(costs_of(&p, 3e6), 18, 100, 4000);
	struct pair_costs costs = costs_of(&p, 200000);
	char *text = pair_costs_text(&costs);
	assert_non_null(strstr(text, "100 begin/end pairs, one in 200.0 us, at 100.0 ns"));
	assert_non_null(strstr(text, "18.0 in warm caches to 1040.0 behind"));
	assert_non_null(strstr(text, "in no cache at all: 4000.0 at most"));
	free(text);
}

/* Two processes, one of which makes most of the pairs: each has room up to its own cold cost. */
static void processes_differ(void **state)
{
	struct run_process a = process(), b = process();
	struct pair_costs costs = {0};
	(void)state;
	b.pair_cost_cold_ns = 140;
	pair_costs_add(&costs, &a, 1);
	pair_costs_add(&costs, &b, 99);
	pair_costs_place(&costs, 1e9);
	assert_costs(costs, 18, 100, 40 + (3960 + 99 * 100) / 100.0);
}

static void without_flushing_by_time_alone(void **state)
{
	struct run_process p = process();
	struct pair_costs costs;
	(void)state;
	p.pair_cost_cold_ns = 0;
	costs = costs_of(&p, 3e6);
	assert_costs(costs, 18, 100, 40 + 15000);
	char *text = pair_costs_text(&costs);
	assert_null(strstr(text, "no cache"));
	free(text);
}

static void older_recordings_read_as_before(void **state)
{
	struct run_process p = {
		.pair_cost_ns = 20, .pair_cost_low_ns = 18, .pair_cost_high_ns = 40};
	struct pair_costs costs = costs_of(&p, 3e6);
	(void)state;
	assert_costs(costs, 18, 20, 40);
	char *text = pair_costs_text(&costs);
	assert_string_equal(text,
		"100 begin/end pairs at 20.0 ns, timed at the start: 18.0 in warm caches "
		"to 40.0 behind 2 MB of other data (the interval is of these; a pair "
		"behind more than all caches hold takes longer)");
	free(text);
	p.pair_cost_low_ns = p.pair_cost_high_ns = 0;
	assert_costs(costs_of(&p, 3e6), 20, 20, 20);
	p.pair_cost_ns = 0;
	assert_true(costs_of(&p, 3e6).unknown);
	assert_true(costs_of(&p, 3e6).count == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_says_warm_and_cold),
		cmocka_unit_test(colder_as_they_lie_apart),
		cmocka_unit_test(processes_differ),
		cmocka_unit_test(without_flushing_by_time_alone),
		cmocka_unit_test(older_recordings_read_as_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
