/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: when `brick serve` reads a recording again, on a clock of the test's own: a page
 * that looks never stands still for longer than twice a reading and a second, and a server that
 * nobody looks at takes a tenth of a CPU at most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ui/serve/serve_source.h"

#define MS 1000000ull
#define LOOKED_AT_MS 200 /* as often as the command asks whether it is time */

struct outcome {
	uint64_t stood_ms,
		reading_ms; /* the longest without a reading's end; all readings together */
};

/* A minute of a recording that always grows, each reading of which costs and takes so long. */
static struct outcome a_minute(uint64_t cost_ms, uint64_t took_ms, bool is_watched)
{
	struct serve_pace pace = {0};
	struct outcome outcome = {0};
	uint64_t fresh_ms = 0, asked = 0;

	for (uint64_t ms = 1; ms < 60000; ms += LOOKED_AT_MS) {
		asked += is_watched && ms % 1000 <= LOOKED_AT_MS;
		if (!serve_pace_is_due(&pace, ms * MS, asked))
			continue;
		ms += took_ms;
		serve_pace_read(&pace, ms * MS, cost_ms * MS);
		outcome.reading_ms += cost_ms;
		if (ms - fresh_ms > outcome.stood_ms)
			outcome.stood_ms = ms - fresh_ms;
		fresh_ms = ms;
	}
	if (fresh_ms + outcome.stood_ms < 60000)
		outcome.stood_ms = 60000 - fresh_ms;
	return outcome;
}

static void test_a_page_keeps_up(void **state)
{
	(void)state;
	for (uint64_t cost_ms = 10; cost_ms <= 3000; cost_ms += 170)
		for (uint64_t share = 1; share <= 8;
			share++) { /* of a CPU: so much of it others take */
			struct outcome seen = a_minute(cost_ms, share * cost_ms, true);
			uint64_t wait_ms = 2 * cost_ms > 1000 ? 2 * cost_ms : 1000;
			assert_in_range(
				seen.stood_ms, 1, wait_ms + share * cost_ms + 2 * LOOKED_AT_MS);
			assert_in_range(seen.reading_ms, 1, 60000 / 3 + 2 * cost_ms);
		}
}

static void test_nobody_looks(void **state)
{
	(void)state;
	for (uint64_t cost_ms = 10; cost_ms <= 3000; cost_ms += 170)
		assert_in_range(
			a_minute(cost_ms, cost_ms, false).reading_ms, 1, 60000 / 11 + 2 * cost_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_page_keeps_up),
		cmocka_unit_test(test_nobody_looks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
