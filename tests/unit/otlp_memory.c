/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans and metrics of requests with every allocation failing in turn: what is handed on is whole,
 * or there is an error, and nothing leaks. Also what identifiers are made of. Needs an allocator
 * that can be replaced: the former is skipped with sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/failing_memory.h"

#include "analysis/steps/step_times.h"
#include "tests/unit/run_builder.h"
#include "ui/text/otlp_metrics.h"
#include "ui/text/text.h"

enum { REQUESTS = 3, STEPS = 3 };

static struct run run;
static struct step_index step_index;
static struct step_times times;
static struct requests *requests;

static void event(enum brick_sequence_event kind, uint64_t ns, uint32_t step, uint32_t tokens)
{
	BUILDER_GROW(run.sequence_events, run.sequence_event_count);
	run.sequence_events[run.sequence_event_count++] = (struct run_sequence_event){.ns = ns,
		.step = step,
		.event = (uint8_t)kind,
		.tokens = tokens,
		.prompt = tokens > 1 ? tokens : 0,
		.position = -1,
		.end = 1};
}

static int set_up(void **state)
{
	uint64_t now = 1000;

	(void)state;
	memset(&run, 0, sizeof run);
	run.start_ns = now;
	run.start_unix_ns = 1700000000000000000;
	run.host = builder_copy("box");
	builder_lane(&run, builder_process(&run, 7), 7);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t norm = builder_site(&run, builder_known(&run, BRICK_RMS_NORM), 0, NULL, "norm-0");
	for (int i = 0; i < REQUESTS * STEPS; i++) {
		uint32_t tokens = i % STEPS ? 1 : 4;
		builder_sample(&run, 0, decode, now, now + 100, 0);
		uint32_t step = builder_step(&run, 0, tokens);
		builder_sample(&run, 0, norm, now + 10, now + 60, 1);
		event(BRICK_SEQUENCE_TOKENS, now, step, tokens);
		now += 100;
		if (i % STEPS == STEPS - 1)
			event(BRICK_SEQUENCE_END, now, RUN_NONE, 0);
	}
	run.end_ns = run.lanes[0].end_ns = now;
	assert_int_equal(step_index_init(&step_index, &run), 0);
	assert_int_equal(step_times_measure(&times, &run, &step_index), 0);
	assert_int_equal(requests_create(&requests, &run), 0);
	assert_int_equal(requests->count, REQUESTS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	requests_destroy(requests);
	step_times_fini(&times);
	step_index_fini(&step_index);
	run_fini(&run);
	return 0;
}

struct taken {
	uint32_t spans;
	size_t bytes;
};

static int count(const char *bytes, size_t n, void *context)
{
	(void)bytes;
	*(size_t *)context += n;
	return 0;
}

static int take(void *context, const json_t *request, uint32_t spans)
{
	struct taken *taken = context;

	taken->spans += spans;
	return json_dump_callback(request, count, &taken->bytes, JSON_COMPACT) ? -ENOMEM : 0;
}

/* 0: all of it was made. */
static int make_all(struct taken *taken)
{
	struct otlp otlp;
	struct latencies *latencies = NULL;
	json_t *metrics = NULL;
	int rc = otlp_init(&otlp, &run, requests, &step_index);

	*taken = (struct taken){0};
	text_error();
	if (rc == 0)
		rc = otlp_spans(&otlp, NULL, take, taken);
	if (rc == 0)
		rc = latencies_create(&latencies, &run, requests, &step_index, &times, true);
	if (rc == 0 && !(metrics = otlp_metrics(&otlp, latencies, &times, 1)))
		rc = -ENOMEM;
	if (rc == 0)
		rc = take(taken, metrics, 0);
	json_decref(metrics);
	latencies_destroy(latencies);
	otlp_fini(&otlp);
	return rc;
}

static void every_allocation(void **state)
{
	struct taken whole, taken;

	(void)state;
	if (!MEMORY_CAN_FAIL)
		skip();
	assert_int_equal(make_all(&whole), 0);
	assert_int_equal(whole.spans, REQUESTS * (1 + STEPS + 1)); /* and a brick of the prompt */
	for (long n = 0;; n++) {
		memory_fail_at(n);
		int rc = make_all(&taken);
		int failed = memory_stop_failing();
		memory_count_end();
		assert_int_equal(memory_blocks, 0);
		if (rc == 0)
			assert_memory_equal(&taken, &whole, sizeof(whole));
		else
			assert_int_equal(rc, -ENOMEM);
		if (!failed)
			break;
		assert_true(n < 100000);
	}
}

static void traces_are_told_apart(void **state)
{
	char texts[REQUESTS + 3][OTLP_TRACE_TEXT];
	struct otlp otlp;
	int count = 0;

	(void)state;
	assert_int_equal(otlp_init(&otlp, &run, requests, &step_index), 0);
	for (uint32_t i = 0; i < REQUESTS; i++)
		otlp_trace(&otlp, i, texts[count++]);
	run.processes[0].pid++;
	otlp_trace(&otlp, 0, texts[count++]);
	run.start_unix_ns++;
	otlp_trace(&otlp, 0, texts[count++]);
	run.host[0] = 'f';
	otlp_trace(&otlp, 0, texts[count++]);
	for (int i = 0; i < count; i++) {
		assert_int_equal(strspn(texts[i], "0123456789abcdef"), 32);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(texts[i], texts[k]);
	}
	/* times by another reading of the clocks change nothing */
	requests->list[0].begin_ns += 5;
	otlp_trace(&otlp, 0, texts[0]);
	assert_string_equal(texts[0], texts[count - 1]);
	otlp_fini(&otlp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_allocation),
		TEST(traces_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
