/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slopes over the context in a run made by hand: what was planted is found, also under outliers;
 * what is flat has none; contexts that span too little, and steps without a context, say nothing.
 */
#include "analysis/scaling/scaling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "brick/error.h"
#include "tests/unit/run_builder.h"

enum { SLOPE = 150, AT_ZERO = 20000, FFN_NS = 90000, NORM_NS = 7000 };

static struct run run;
static struct step_index step_index;
static struct scaling *made;
static uint64_t now, seed;
static uint32_t decode_site, prefill_site, attention_site, up_site, norm_site;

static int set_up(void **state)
{
	(void)state;
	memset(&run, 0, sizeof run);
	now = 1000;
	seed = 1;
	builder_lane(&run, builder_process(&run, 7), 7);
	decode_site = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	prefill_site = builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL);
	attention_site =
		builder_site(&run, builder_known(&run, BRICK_FLASH_ATTENTION), 0, NULL, NULL);
	up_site = builder_site(&run, builder_known(&run, BRICK_UP_PROJECTION), 0, NULL, NULL);
	norm_site = builder_site(&run, builder_known(&run, BRICK_RMS_NORM), 0, NULL, NULL);
	made = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scaling_destroy(made);
	run_fini(&run);
	return 0;
}

/* Between -ns and ns. */
static int64_t noise(int64_t ns)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ns ? (int64_t)(seed >> 33) % (2 * ns + 1) - ns : 0;
}

static void tokens(int32_t sequence, uint32_t count, uint32_t prompt, int32_t position)
{
	BUILDER_GROW(run.sequence_events, run.sequence_event_count);
	run.sequence_events[run.sequence_event_count++] = (struct run_sequence_event){.ns = now,
		.step = (uint32_t)run.step_count - 1,
		.event = BRICK_SEQUENCE_TOKENS,
		.sequence = sequence,
		.tokens = count,
		.prompt = prompt,
		.position = position};
}

static void step(uint32_t site, uint64_t count, uint64_t attention_ns, int64_t spread)
{
	uint64_t attention = attention_ns + (uint64_t)noise(spread),
		 ffn = FFN_NS + (uint64_t)noise(spread), norm = NORM_NS + (uint64_t)noise(spread);
	uint64_t at = now;

	builder_sample(&run, 0, site, now, now + attention + ffn + norm, 0);
	builder_step(&run, 0, count);
	builder_sample(&run, 0, attention_site, at, at + attention, 1);
	at += attention;
	builder_sample(&run, 0, up_site, at, at + ffn, 1);
	at += ffn;
	builder_sample(&run, 0, norm_site, at, at + norm, 1);
	now = at + norm;
}

static uint64_t planted(uint64_t context)
{
	return AT_ZERO + SLOPE * context;
}

/* Steps of one token; the first attends to `from` tokens. */
static void decode(uint64_t from, unsigned count, int64_t spread, bool with_sequences)
{
	for (unsigned i = 0; i < count; i++) {
		bool is_outlier = spread && i % 16 == 15;
		step(decode_site, 1, planted(from + i) * (is_outlier ? 9 : 1), spread);
		if (with_sequences)
			tokens(0, 1, 0, (int32_t)(from + i - 1));
	}
}

static void look(size_t series)
{
	run.end_ns = now;
	run.lanes[0].end_ns = now;
	assert_int_equal(step_index_init(&step_index, &run), 0);
	int rc = scaling_create(&made, &run, &step_index);
	step_index_fini(&step_index);
	assert_int_equal(rc, 0);
	assert_int_equal(made->count, series);
}

static const struct scaling_line *line_of(const struct scaling_series *s, int brick)
{
	for (size_t i = 0; i < s->brick_count; i++)
		if (run.bricks[s->bricks[i].brick].well_known == brick)
			return &s->bricks[i].line;
	fail();
	return NULL;
}

static void assert_near(double found, double wanted)
{
	if (!(fabs(found - wanted) <= 0.01 * fabs(wanted)))
		fail_msg("%g, not %g", found, wanted);
}

static void assert_inside(const struct scaling_value *v, double wanted)
{
	if (!(v->low <= wanted && wanted <= v->high && v->low <= v->value && v->value <= v->high))
		fail_msg("%g (%g to %g), not %g", v->value, v->low, v->high, wanted);
}

static void a_planted_slope_is_found(void **state)
{
	(void)state;
	decode(64, 400, 500, true);
	look(1);
	const struct scaling_series *s = made->series;
	const struct scaling_line *attention = line_of(s, BRICK_FLASH_ATTENTION);
	assert_int_equal(s->steps, 400);
	assert_int_equal(s->batch, 1);
	assert_false(s->is_counted);
	assert_near(s->shortest, 64);
	assert_near(s->longest, 463);
	assert_near(attention->slope.value, SLOPE);
	assert_inside(&attention->slope, SLOPE);
	assert_true(scaling_grows(attention));
	assert_false(attention->bends);
	assert_near(s->step.slope.value, SLOPE);
	assert_int_equal(attention->point_count, SCALING_POINTS);
	for (int i = 0; i < SCALING_POINTS; i++)
		assert_near(attention->points[i].ns,
			(double)planted(0) + SLOPE * attention->points[i].context);
	for (int end = 0; end < 2; end++) {
		double context = end ? s->longest : s->shortest;
		struct scaling_value fitted = scaling_at(&s->step, context);
		double wanted = (double)planted(0) + SLOPE * context + FFN_NS + NORM_NS;
		assert_near(fitted.value, wanted);
		assert_inside(&fitted, wanted);
	}
}

static void what_is_flat_has_none(void **state)
{
	(void)state;
	decode(64, 400, 500, true);
	look(1);
	assert_true(line_of(made->series, BRICK_UP_PROJECTION)->is_known);
	assert_false(scaling_grows(line_of(made->series, BRICK_UP_PROJECTION)));
	assert_false(scaling_grows(line_of(made->series, BRICK_RMS_NORM)));
	assert_inside(&line_of(made->series, BRICK_UP_PROJECTION)->slope, 0);
	assert_inside(&made->series->ffn.slope, 0);
	assert_near(made->series->ffn.median_ns, FFN_NS);
	assert_true(made->series->drift == 0);
	assert_false(scaling_is_noisy(made->series, line_of(made->series, BRICK_UP_PROJECTION)));
}

/* Nothing can be said of a slope between noise of the same size; where it surely grows, it can. */
static void noise_says_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		step(decode_site, 1, planted(64 + 4 * (uint64_t)i), 0);
		tokens(0, 1, 0, 63 + 4 * i);
		struct run_sample *up = &run.lanes[0].samples[4 * i + 2];
		up->end_ns = up->begin_ns + FFN_NS + (uint64_t)noise(80000);
	}
	look(1);
	const struct scaling_series *s = made->series;
	assert_true(scaling_is_level(line_of(s, BRICK_UP_PROJECTION)));
	assert_true(scaling_is_noisy(s, line_of(s, BRICK_UP_PROJECTION)));
	struct scaling_line grows = *line_of(s, BRICK_UP_PROJECTION);
	grows.slope.low = 1;
	assert_false(scaling_is_noisy(s, &grows));
	grows.is_known = false;
	assert_false(scaling_is_noisy(s, &grows));
}

static void too_little_span_is_refused(void **state)
{
	(void)state;
	decode(300, 250, 500, true); /* 549 is less than twice 300 */
	look(1);
	const struct scaling_series *s = made->series;
	assert_false(s->step.is_known);
	assert_false(line_of(s, BRICK_FLASH_ATTENTION)->is_known);
	assert_false(scaling_grows(line_of(s, BRICK_FLASH_ATTENTION)));
	assert_true(s->step.median_ns > 0); /* what was measured is there */
}

static void too_few_steps_are_refused(void **state)
{
	(void)state;
	for (int enough = 0; enough < 2; enough++) {
		if (enough) {
			tear_down(NULL);
			set_up(NULL);
		}
		for (int i = 0; i < SCALING_MIN_STEPS - 1 + enough; i++) {
			step(decode_site, 1, planted(64 + 64 * (uint64_t)i), 0);
			tokens(0, 1, 0, 63 + 64 * i);
		}
		look(1);
		assert_int_equal(made->series->step.is_known, enough);
	}
}

/* Noise that lasts makes an interval wider: steps in a row say less than as many by themselves. */
static void noise_that_lasts_widens(void **state)
{
	(void)state;
	double width[2];

	for (int lasts = 0; lasts < 2; lasts++) {
		if (lasts) {
			tear_down(NULL);
			set_up(NULL);
		}
		for (unsigned i = 0; i < 400; i++) {
			bool slow = (lasts ? i / 25 : i) % 2;
			step(decode_site, 1, planted(64 + i) + (slow ? 8000 : 0), 500);
			tokens(0, 1, 0, (int32_t)(63 + i));
		}
		look(1);
		const struct scaling_line *a = line_of(made->series, BRICK_FLASH_ATTENTION);
		width[lasts] = a->slope.high - a->slope.low;
		assert_inside(&a->slope, SLOPE);
	}
	assert_true(width[1] > 1.5 * width[0]);
}

static void batches_are_told_apart(void **state)
{
	(void)state;
	for (int i = 0; i < 64; i++) {
		step(decode_site, 1, planted(64 + 2 * (uint64_t)i), 0);
		tokens(0, 1, 0, 63 + 2 * i);
		step(decode_site, 2, 2 * planted(64 + 2 * (uint64_t)i), 0);
		tokens(0, 1, 0, 63 + 2 * i - 10);
		tokens(1, 1, 0, 63 + 2 * i + 10);
		step(prefill_site, 3, 5000, 0); /* prompts, alone and beside, are in no series */
		tokens(2, 3, 3, 0);
		step(decode_site, 2, 5000, 0);
		tokens(0, 1, 0, 63);
		tokens(2, 1, 1, 3);
	}
	look(2);
	assert_int_equal(made->series[0].batch, 1);
	assert_int_equal(made->series[1].batch, 2);
	assert_int_equal(made->series[1].steps, 64);
	assert_near(line_of(&made->series[0], BRICK_FLASH_ATTENTION)->slope.value, SLOPE);
	assert_near(line_of(&made->series[1], BRICK_FLASH_ATTENTION)->slope.value, 2 * SLOPE);
	assert_near(made->series[1].shortest, 64);
	assert_int_equal(made->unknown_steps, 64);
}

static void tokens_are_counted_without_sequences(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) { /* the second prompt begins anew */
		step(prefill_site, 63, 5000, 0);
		decode(64, 200, 500, false);
	}
	look(1);
	assert_true(made->series->is_counted);
	assert_near(made->series->shortest, 64);
	assert_near(made->series->longest, 263);
	assert_near(line_of(made->series, BRICK_FLASH_ATTENTION)->slope.value, SLOPE);
}

/* An FFN that seems to grow by chance is level. */
static void noise_of_the_ffn_is_no_growth(void **state)
{
	(void)state;
	decode(64, 80, 0, true);
	for (size_t i = 0; i < run.step_count; i++) {
		struct run_sample *up = &run.lanes[0].samples[4 * i + 2];
		up->end_ns =
			up->begin_ns + FFN_NS - 50000 + (uint64_t)(noise(40000) + (int64_t)i * 300);
	}
	look(1);
	assert_true(scaling_is_level(&made->series->ffn));
	assert_true(made->series->ffn.slope.value > SLOPE);
	assert_true(made->series->drift == 0);
}

/* The FFN falls from 70 to 30 us: the machine became faster, so slopes say nothing. */
static void a_machine_that_changes_is_told(void **state)
{
	(void)state;
	decode(64, 80, 500, true);
	for (size_t i = 0; i < run.step_count; i++) {
		struct run_sample *up = &run.lanes[0].samples[4 * i + 2];
		up->end_ns = up->begin_ns + 70000 - i * 500 + (uint64_t)(500 + noise(500));
	}
	look(1);
	assert_true(scaling_drifted(made->series));
	assert_true(made->series->drift < -0.6 && made->series->drift > -0.95);
}

static void a_bend_is_told(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		uint64_t beyond = i > 100 ? (uint64_t)(i - 100) : 0;
		step(decode_site, 1, planted(64 + (uint64_t)i) + 3 * SLOPE * beyond, 500);
		tokens(0, 1, 0, 63 + i);
	}
	look(1);
	assert_true(line_of(made->series, BRICK_FLASH_ATTENTION)->bends);
	assert_true(made->series->step.bends);
	assert_false(line_of(made->series, BRICK_UP_PROJECTION)->bends);
}

static void on_queue(uint32_t queue, uint32_t kernel, uint32_t site, uint64_t ns, unsigned back)
{
	uint32_t call = (uint32_t)run.lanes[0].sample_count - back;
	uint64_t from = run.lanes[0].samples[call].begin_ns;

	builder_sample(&run, queue, site, from, from + ns, 0);
	builder_command(&run, queue, kernel, 0, call, RUN_NONE);
}

/* Threads only launch there: the FFN's time is that of devices, as FlashAttention's is. */
static void devices_have_times_of_their_own(void **state)
{
	(void)state;
	uint32_t queue = builder_queue(&run, 0, 1),
		 kernel = builder_kernel(&run, "k", BRICK_KERNEL_COMPUTE, 1);

	for (unsigned i = 0; i < 100; i++) {
		step(decode_site, 1, AT_ZERO, 0);
		tokens(0, 1, 0, 63 + (int32_t)i);
		on_queue(queue, kernel, attention_site, 2 * planted(64 + i), 3);
		on_queue(queue, kernel, up_site, 3 * FFN_NS, 2);
		now += 1000000;
	}
	run.lanes[queue].end_ns = now;
	look(1);
	const struct scaling_series *s = made->series;
	assert_true(s->bricks[s->attention].on_device && s->ffn_on_device);
	assert_near(s->bricks[s->attention].line.slope.value, 2 * SLOPE);
	assert_near(s->ffn.median_ns, 3 * FFN_NS);
}

/* A step that checked drafts made fewer tokens than it evaluated. */
static void steps_of_drafts_are_left_out(void **state)
{
	(void)state;
	decode(64, 100, 500, true);
	decode(64, 100, 0, true);
	for (size_t i = 100; i < run.step_count; i++)
		*(i % 2 ? &run.steps[i].checked : &run.steps[i].is_draft) = 1;
	look(1);
	assert_int_equal(made->series->steps, 100);
	assert_int_equal(made->unknown_steps, 0);
}

static void without_a_context_nothing_is_said(void **state)
{
	(void)state;
	decode(64, 20, 0, false);
	for (size_t i = 0; i < run.step_count; i++)
		run.steps[i].tokens = 4; /* of how many sequences is not known */
	assert_int_equal(step_index_init(&step_index, &run), 0);
	assert_int_equal(scaling_create(&made, &run, &step_index), BRICK_ENOTRECORDED);
	assert_null(made);
	step_index_fini(&step_index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_planted_slope_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_flat_has_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(noise_says_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_little_span_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_few_steps_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(noise_that_lasts_widens, set_up, tear_down),
		cmocka_unit_test_setup_teardown(batches_are_told_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			tokens_are_counted_without_sequences, set_up, tear_down),
		cmocka_unit_test_setup_teardown(noise_of_the_ffn_is_no_growth, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_machine_that_changes_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bend_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(devices_have_times_of_their_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(steps_of_drafts_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_a_context_nothing_is_said, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
