/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The residual that a device states of its times covers what a poor line placed which a better one
 * has replaced since.
 */
#include "tests/unit/device_kit.h"

static uint64_t stated_ns(struct setup *s)
{
	static const char key[] = "null.clock=of the program's bricks: residual ";
	struct brick_session_header *header = peek_header(&s->peek);
	char notes[4096] = "";

	assert_true(header->notes_bytes < sizeof notes);
	memcpy(notes, (const char *)s->peek.base + header->notes_offset, header->notes_bytes);
	const char *last = NULL;
	for (const char *at = notes; (at = strstr(at, key)); at++)
		last = at;
	assert_non_null(last);
	return strtoull(last + sizeof key - 1, NULL, 10);
}

/* Taken home by the line as it is: brick_device_drain() may read the clock before. */
static void take_home(struct setup *s)
{
	brick_null_advance(s->sim, 50 * US);
	assert_true(brick__device_take_home(s->device) >= 0);
}

/* By one reading that may be off by a ms. */
static struct brick_correlation *begin_by_poor_line(
	struct setup *s, const struct brick_null_config *config)
{
	begin(s, config, 0);
	struct brick_correlation *line = brick__device_correlation(s->device);
	assert_int_equal(line->count, 1);
	line->anchors[0].half_width_ns = line->residual_ns = MS;
	return line;
}

static void a_poor_line_is_stated_when_a_better_one_has_replaced_it(void **state)
{
	struct brick_null_config config = manual();
	struct setup s;

	(void)state;
	struct brick_correlation *line = begin_by_poor_line(&s, &config);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	take_home(&s);
	assert_non_null(nth(queue_lane(&s, 0), BRICK_RECORD_SAMPLE, 0));
	brick__device_correlate(s.device, 4);
	assert_true(line->residual_ns < US);
	brick_device_finish(s.device);
	assert_non_null(queue_lane(&s, 0));
	/* and what a clock of which there is one reading may run apart meanwhile */
	assert_in_range(stated_ns(&s), MS, MS + US);
	end(&s);
}

/* Of a session that has nothing by the poor line it is the better one's. */
static void what_no_line_placed_is_not_stated(void **state)
{
	struct brick_null_config config = manual();
	struct setup s;

	(void)state;
	begin_by_poor_line(&s, &config);
	brick_null_advance(s.sim, 50 * US);
	brick__device_correlate(s.device, 4);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	take_home(&s);
	brick_device_finish(s.device);
	assert_non_null(queue_lane(&s, 0));
	assert_true(stated_ns(&s) < US);
	end(&s);
}

/* What a poor line placed too late and a better one places next is no mistake: it is within what
 * was stated. */
static void a_better_line_clamps_nothing(void **state)
{
	struct brick_null_config config = manual();
	struct setup s;

	(void)state;
	struct brick_correlation *line = begin_by_poor_line(&s, &config);
	line->anchors[0].host_ns += 45 * US;
	run(&s, BRICK_LM_HEAD, 0, 40 * US);
	take_home(&s);
	brick__device_correlate(s.device, 4);
	assert_true(line->residual_ns < US);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	brick_device_finish(s.device);
	struct brick_record *first = nth(queue_lane(&s, 0), BRICK_RECORD_SAMPLE, 0);
	struct brick_record *second = nth(queue_lane(&s, 0), BRICK_RECORD_SAMPLE, 1);
	assert_non_null(second);
	assert_true(second->begin >= first->begin + first->ticks);
	assert_int_equal(queue_lane(&s, 0)->ledger.clamped, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poor_line_is_stated_when_a_better_one_has_replaced_it),
		cmocka_unit_test(what_no_line_placed_is_not_stated),
		cmocka_unit_test(a_better_line_clamps_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
