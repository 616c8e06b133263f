/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of requests and steps of a run made by hand: what is counted where, what is not
 * counted before a request has ended, the examples, models told apart, and that counts only grow
 * while a recording does.
 */
#include "analysis/requests/latencies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/run_builder.h"

enum { MS = 1000000 };

static struct run run;
static struct requests *requests;
static struct step_index step_index;
static struct step_times times;
static struct latencies *made;
static uint64_t now;
static uint32_t site;

static int set_up(void **state)
{
	(void)state;
	memset(&run, 0, sizeof run);
	requests = NULL;
	made = NULL;
	now = 1000;
	builder_lane(&run, builder_process(&run, 7), 7);
	site = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	return 0;
}

static void forget(void)
{
	latencies_destroy(made);
	requests_destroy(requests);
	step_times_fini(&times);
	step_index_fini(&step_index);
	made = NULL;
	requests = NULL;
}

static int tear_down(void **state)
{
	(void)state;
	forget();
	run_fini(&run);
	return 0;
}

static struct run_sequence_event *event(enum brick_sequence_event kind, int32_t sequence)
{
	return builder_sequence_event(&run, now, kind, sequence);
}

static void step(uint64_t ns, int32_t sequence, uint32_t prompt, uint16_t model)
{
	builder_sample(&run, 0, site, now, now + ns, 0);
	uint32_t number = builder_step(&run, 0, prompt ? prompt : 1);
	struct run_step *s = &run.steps[number];
	s->phase = prompt ? BRICK_PHASE_PREFILL : BRICK_PHASE_DECODE;
	s->model = model;
	struct run_sequence_event *e = event(BRICK_SEQUENCE_TOKENS, sequence);
	e->step = (uint32_t)run.step_count - 1;
	e->tokens = prompt ? prompt : 1;
	e->prompt = prompt;
	e->end = 1;
	e->model = model;
	now += ns;
}

static void look(bool is_over)
{
	forget();
	run.end_ns = now;
	run.lanes[0].end_ns = now;
	assert_int_equal(step_index_init(&step_index, &run), 0);
	assert_int_equal(step_times_measure(&times, &run, &step_index), 0);
	assert_int_equal(requests_create(&requests, &run), 0);
	assert_int_equal(latencies_create(&made, &run, requests, &step_index, &times, is_over), 0);
}

static uint64_t counted(enum latency what, size_t series, uint64_t bound_ns)
{
	const struct latency_family *f = &made->of[what];

	assert_true(series < f->count);
	for (unsigned i = 0; i < f->bound_count; i++)
		if (f->bounds_ns[i] == bound_ns)
			return f->series[series].counts[i];
	return f->series[series].counts[f->bound_count];
}

/* A prompt of 30 ms, two tokens of 8 ms, an end. */
static void whole(int32_t sequence, uint16_t model)
{
	event(BRICK_SEQUENCE_ARRIVED, sequence)->number = now - 2 * MS;
	run.sequence_events[run.sequence_event_count - 1].model = model;
	step(30 * MS, sequence, 9, model);
	step(8 * MS, sequence, 0, model);
	step(8 * MS, sequence, 0, model);
	event(BRICK_SEQUENCE_END, sequence)->model = model;
}

static void each_time_is_in_its_bucket(void **state)
{
	(void)state;
	now = 10 * MS;
	whole(0, 0);
	look(false);
	assert_int_equal(counted(LATENCY_QUEUE, 0, 5 * MS), 1);
	assert_int_equal(counted(LATENCY_FIRST_TOKEN, 0, 40 * MS), 1);
	assert_int_equal(counted(LATENCY_TOKEN, 0, 10 * MS), 1);
	assert_int_equal(counted(LATENCY_REQUEST, 0, 80 * MS), 1);
	const struct latency_series *s = made->of[LATENCY_FIRST_TOKEN].series;
	assert_int_equal(s->count, 1);
	assert_int_equal(s->sum_ns, 30 * MS);
	assert_int_equal(s->examples[4].value_ns, 30 * MS);
	assert_int_equal(s->examples[4].ns, 40 * MS);
	assert_int_equal(s->examples[4].step, 0);
	assert_int_equal(s->examples[4].request, 0);
	const struct latency_family *steps = &made->of[LATENCY_STEP];
	assert_int_equal(steps->count, 2);
	assert_int_equal(steps->series[0].phase, STEP_PREFILL);
	assert_int_equal(steps->series[1].phase, STEP_DECODE);
	assert_int_equal(steps->series[1].count, 1); /* the last may yet have sampling behind it */
	look(true);
	steps = &made->of[LATENCY_STEP];
	assert_int_equal(steps->series[1].count, 2);
	assert_int_equal(steps->series[1].sum_ns, 16 * MS);
}

/* A value that is a bound is in the bucket below it, as Prometheus has it. */
static void a_bound_is_inside(void **state)
{
	(void)state;
	step(20 * MS, 0, 9, 0);
	step(20 * MS + 1, 1, 9, 0);
	look(true);
	assert_int_equal(counted(LATENCY_FIRST_TOKEN, 0, 20 * MS), 1);
	assert_int_equal(counted(LATENCY_FIRST_TOKEN, 0, 40 * MS), 1);
}

static void beyond_the_last_bound(void **state)
{
	(void)state;
	step(700000ull * MS, 0, 9, 0);
	look(true);
	assert_int_equal(counted(LATENCY_REQUEST, 0, 0), 1);
}

static void what_is_open_waits(void **state)
{
	(void)state;
	step(30 * MS, 0, 9, 0);
	look(false);
	assert_int_equal(made->of[LATENCY_FIRST_TOKEN].count, 0); /* its token may yet be sampled */
	step(8 * MS, 0, 0, 0);
	look(false);
	assert_int_equal(made->of[LATENCY_FIRST_TOKEN].series[0].count, 1);
	assert_int_equal(made->of[LATENCY_TOKEN].count, 0);
	assert_int_equal(made->of[LATENCY_REQUEST].count, 0);
	assert_int_equal(made->of[LATENCY_QUEUE].count, 0); /* nobody said when it came */
	look(true);
	assert_int_equal(made->of[LATENCY_TOKEN].series[0].count, 1);
	assert_int_equal(made->of[LATENCY_REQUEST].series[0].count, 1);
}

/* An embedding gives no token: it has no time to first token, and no duration of a completion. */
static void without_a_token(void **state)
{
	(void)state;
	step(30 * MS, 0, 9, 0);
	run.sequence_events[run.sequence_event_count - 1].end = 0;
	look(true);
	assert_int_equal(made->of[LATENCY_FIRST_TOKEN].count, 0);
	assert_int_equal(made->of[LATENCY_REQUEST].count, 0);
	assert_int_equal(made->of[LATENCY_STEP].series[0].count, 1);
}

static void name(const char *key, const char *value)
{
	BUILDER_GROW(run.notes, run.note_count);
	run.notes[run.note_count++] =
		(struct run_note){.key = builder_copy(key), .value = builder_copy(value)};
}

/* By name: two contexts of one model are one. */
static void models_are_told_apart(void **state)
{
	(void)state;
	now = 10 * MS;
	name("model.0", "b");
	name("model.1", "a");
	name("model.2", "b");
	for (uint16_t model = 0; model < 3; model++)
		whole(0, model);
	look(false);
	const struct latency_family *f = &made->of[LATENCY_TOKEN];
	assert_int_equal(f->count, 2);
	assert_string_equal(f->series[0].model, "a");
	assert_int_equal(f->series[0].count, 1);
	assert_string_equal(f->series[1].model, "b");
	assert_int_equal(f->series[1].count, 2);
	assert_int_equal(made->of[LATENCY_STEP].count, 4);
}

/* Read after each event, no bucket ever holds less than before. */
static void counts_only_grow(void **state)
{
	uint64_t before[LATENCIES][512] = {{0}};

	(void)state;
	now = 10 * MS;
	for (int i = 0; i < 4; i++)
		whole(i % 2, 0);
	size_t all = run.sequence_event_count;
	for (size_t n = 1; n <= all; n++) {
		run.sequence_event_count = n;
		run.step_count = 0;
		for (size_t i = 0; i < n; i++)
			if (run.sequence_events[i].step != RUN_NONE)
				run.step_count = run.sequence_events[i].step + 1;
		run.lanes[0].sample_count = run.step_count;
		if (!run.step_count)
			continue;
		look(n == all);
		for (int k = 0; k < LATENCIES; k++)
			for (unsigned b = 0; made->of[k].count && b <= made->of[k].bound_count;
				b++) {
				uint64_t count = 0;
				for (size_t s = 0; s < made->of[k].count; s++)
					count += made->of[k].series[s].counts[b];
				assert_true(count >= before[k][b]);
				before[k][b] = count;
			}
	}
	assert_int_equal(made->of[LATENCY_REQUEST].series[0].count, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_time_is_in_its_bucket),
		TEST(a_bound_is_inside),
		TEST(beyond_the_last_bound),
		TEST(what_is_open_waits),
		TEST(without_a_token),
		TEST(models_are_told_apart),
		TEST(counts_only_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
