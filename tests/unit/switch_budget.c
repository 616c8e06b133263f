/* SPDX-License-Identifier: Apache-2.0 */
/* Description: what recording times off the CPU may cost: how many are too many, how soon, and for
 * how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/switch_records.h"

enum { LOOK_MS = 100, EACH_NS = 1700 };

/* Looked at every 100 ms for so long. Returns after how many ms it was too much; 0: never. */
static unsigned runs(struct switch_budget *b, unsigned per_s, unsigned cpus, unsigned seconds)
{
	for (unsigned ms = LOOK_MS; ms <= seconds * 1000; ms += LOOK_MS)
		if (!switch_budget_spend(
			    b, per_s * LOOK_MS / 1000, cpus, b->at_ns + LOOK_MS * 1000000ull))
			return ms;
	return 0;
}

static void few_go_on(void **state)
{
	struct switch_budget b = {.at_ns = 1, .each_ns = EACH_NS};

	(void)state;
	assert_int_equal(runs(&b, 500, 1, 3600), 0);
	assert_int_equal(runs(&b, 2 * 500, 2, 3600), 0);
	/* a few thousand at once, as when a program starts, are paid off */
	assert_int_not_equal(switch_budget_spend(&b, 1000, 1, b.at_ns + 1000000), 0);
	assert_int_equal(runs(&b, 500, 1, 60), 0);
	assert_int_not_equal(switch_budget_spend(&b, 1000, 1, b.at_ns + 1000000), 0);
}

static void many_are_too_many(void **state)
{
	static const unsigned per_s[] = {10000, 20000, 200000};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct switch_budget b = {.at_ns = 1, .each_ns = EACH_NS};
		unsigned ms = runs(&b, per_s[i], 2, 10);
		assert_in_range(ms, 1, 400);
	}
	struct switch_budget b = {.at_ns = 1, .each_ns = EACH_NS};
	assert_in_range(runs(&b, 1500, 1, 60), 1000, 10000); /* a little too many */
}

static void it_is_looked_at_in_time(void **state)
{
	struct switch_budget b = {.at_ns = 1, .each_ns = EACH_NS};
	uint32_t ms = switch_budget_spend(&b, 100, 1, b.at_ns + 1000000);

	(void)state;
	/* 170 us in 1 ms: 2 ms will be spent after eleven more */
	assert_in_range(ms, 9, 12);
	assert_int_equal(b.per_s, 100000);
	assert_int_equal(switch_budget_spend(&b, 0, 1, b.at_ns + 1000000), 1000);
	assert_int_equal(b.per_s, 100000); /* what is told if they are stopped now */
	assert_int_equal(switch_budget_spend(&b, 1, 1, b.at_ns + 3000000000), 1000);
	assert_int_equal(b.per_s, 100000);
}

/* A recorder that was stopped takes several turns at once, of which one may be from before. */
static void a_moment_tells_no_rate(void **state)
{
	struct switch_budget b = {.at_ns = 1, .each_ns = EACH_NS};
	uint64_t at_ns = 1 + 100000000;

	(void)state;
	switch_budget_spend(&b, 2000, 1, at_ns);
	assert_int_equal(b.per_s, 20000);
	switch_budget_spend(&b, 4650, 1, at_ns - 5000000);
	switch_budget_spend(&b, 350, 1, at_ns + 1000);
	assert_int_equal(b.per_s, 20000);
	switch_budget_spend(&b, 0, 1, at_ns + 1000);
	switch_budget_spend(&b, 5000, 1, at_ns + 100000000);
	assert_int_equal(b.per_s, 100000);
	struct switch_budget first = {.at_ns = 1, .each_ns = EACH_NS};
	assert_int_equal(switch_budget_spend(&first, 5000, 1, 1), 0);
	switch_budget_stop(&first, 1);
	assert_int_equal(first.per_s, 5000000);
}

static void what_one_costs_is_measured(void **state)
{
	struct switch_budget b = {.at_ns = 1};

	(void)state;
	assert_int_equal(switch_budget_spend(&b, 600, 1, b.at_ns + 1000000), 0);
	assert_false(switch_budget_measured(&b, EACH_NS, 1));
	assert_int_not_equal(switch_budget_spend(&b, 100, 1, b.at_ns + 1000000), 0);
	assert_int_equal(switch_budget_spend(&b, 1000, 1, b.at_ns + 1000000), 0);
}

static void pauses_grow(void **state)
{
	struct switch_budget b = {.at_ns = 1, .each_ns = EACH_NS};
	uint64_t last_ns = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		assert_int_not_equal(runs(&b, 100000, 1, 1), 0);
		uint64_t pause_ns = switch_budget_stop(&b, b.at_ns) - b.at_ns;
		assert_int_equal(pause_ns, !i			   ? 1000000000
					   : last_ns < 64000000000 ? 2 * last_ns
								   : last_ns);
		last_ns = pause_ns;
		switch_budget_resume(&b, b.at_ns + pause_ns);
	}
	/* it lasts: the next time it is short again */
	assert_int_equal(runs(&b, 100, 1, 5), 0);
	assert_int_not_equal(runs(&b, 100000, 1, 1), 0);
	assert_int_equal(switch_budget_stop(&b, b.at_ns) - b.at_ns, 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_go_on),
		cmocka_unit_test(many_are_too_many),
		cmocka_unit_test(it_is_looked_at_in_time),
		cmocka_unit_test(a_moment_tells_no_rate),
		cmocka_unit_test(what_one_costs_is_measured),
		cmocka_unit_test(pauses_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
