/* SPDX-License-Identifier: Apache-2.0 */
/* What a program says of sequences and requests is in its recording, at the steps that it is of. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "brick/request.h"
#include "tests/unit/drain_fixture.h"

static struct brick_step_sequence part_of(uint32_t sequence, uint32_t prompt, uint32_t output)
{
	struct brick_step_sequence part = BRICK_STEP_SEQUENCE_INIT;

	part.model = 3;
	part.sequence = sequence;
	part.prompt_tokens = prompt;
	part.output_tokens = output;
	part.results = output;
	part.position = -1;
	return part;
}

static struct run *recorded(struct fixture *f, void (*work)(void))
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	struct load_error error;
	struct run *run;

	o.output = f->trace;
	assert_int_equal(brick_session_start(&o), 0);
	work();
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(run_load(&run, f->trace, &error), 0);
	assert_int_equal(run->bad_packets, 0);
	return run;
}

static void two_sequences(void)
{
	struct brick_request request = BRICK_REQUEST_INIT;
	struct brick_step_sequence first = part_of(7, 0, 1), second = part_of(9, 5, 1);

	request.model = 3;
	request.sequence = 9;
	request.number = UINT64_MAX;
	request.arrived = brick_ticks();
	second.position = 12;
	brick_span plain = brick_step_begin(BRICK_PHASE_DECODE, 1);
	brick_end(plain);
	assert_int_equal(brick_request_begin(&request), 0);
	brick_span step = brick_step_begin_mixed(5, 2);
	assert_int_equal(brick_step_sequence(&first), 0);
	assert_int_equal(brick_step_sequence(&second), 0);
	brick_end(step);
	assert_int_equal(brick_request_end(3, 9), 0);
}

static void each_is_at_its_step(void **state)
{
	struct run *run = recorded(*state, two_sequences);
	const struct run_sequence_event *e = run->sequence_events;

	assert_int_equal(run->step_count, 2);
	assert_int_equal(run->steps[0].model, RUN_NONE);
	assert_int_equal(run->steps[1].model, 3);
	assert_int_equal(run->sequence_event_count, 5);
	assert_int_equal(e[0].event, BRICK_SEQUENCE_BEGIN);
	assert_true(e[0].number == UINT64_MAX && e[0].step == RUN_NONE);
	assert_int_equal(e[1].event, BRICK_SEQUENCE_ARRIVED);
	assert_true(e[1].number >= run->start_ns && e[1].number <= e[0].ns);
	for (int i = 2; i < 4; i++) {
		assert_int_equal(e[i].event, BRICK_SEQUENCE_TOKENS);
		assert_int_equal(e[i].step, 1);
		assert_int_equal(e[i].model, 3);
	}
	assert_int_equal(e[2].sequence, 7);
	assert_int_equal(e[2].tokens, 1);
	assert_int_equal(e[2].prompt, 0);
	assert_int_equal(e[2].position, -1);
	assert_int_equal(e[3].sequence, 9);
	assert_int_equal(e[3].tokens, 6);
	assert_int_equal(e[3].prompt, 5);
	assert_int_equal(e[3].position, 12);
	assert_int_equal(e[3].end, 1);
	assert_int_equal(e[4].event, BRICK_SEQUENCE_END);
	assert_int_equal(e[4].step, RUN_NONE);
	run_destroy(run);
}

static void nonsense_is_refused(void **state)
{
	struct brick_step_sequence part = part_of(0, 1, 0);
	struct brick_request request = BRICK_REQUEST_INIT;

	(void)state;
	assert_int_equal(brick_step_sequence(&part), -ENOENT);
	part.size = 0;
	assert_int_equal(brick_step_sequence(&part), -EINVAL);
	part = part_of(0, 0, 0);
	assert_int_equal(brick_step_sequence(&part), -EINVAL);
	part = part_of(0, UINT32_MAX, 1);
	assert_int_equal(brick_step_sequence(&part), -EINVAL);
	part = part_of(UINT32_MAX, 1, 0);
	assert_int_equal(brick_step_sequence(&part), -EINVAL);
	request.model = BRICK_SEQUENCE_NO_MODEL;
	assert_int_equal(brick_request_begin(&request), -EINVAL);
	assert_int_equal(brick_request_end(BRICK_SEQUENCE_NO_MODEL, 0), -EINVAL);
	assert_int_equal(brick_request_end(0, 0), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_is_at_its_step),
		TEST(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
