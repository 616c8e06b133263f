/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: every kind of line, every fault with its line number, and verdicts on a run by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/budget.h"
#include "brick/error.h"
#include "tests/unit/run_builder.h"

static struct budget *parse(const char *text)
{
	struct budget *budget = NULL;
	struct budget_error error;
	int rc = budget_parse(&budget, text, strlen(text), &error);

	if (rc)
		fail_msg("%s (line %u)", error.text, error.line);
	return budget;
}

static void every_kind_of_line_is_read(void **state)
{
	struct budget *b = parse("# mine\n\nbrick-budget 1\r\n  decode   RmsNorm\t12.5 \n"
				 "decode @FFN 4e2\nprefill ttft 300000\nprefill total 1\n"
				 "decode p50 1\ndecode p95 2\ndecode p99 .5\n"
				 "decode unattributed 3\ndecode brick:total 7\n"
				 "prefill two words 9");
	static const struct {
		enum step_phase phase;
		enum budget_what what;
		const char *name;
		double limit_us;
		uint32_t line;
	} want[] = {
		{STEP_DECODE, BUDGET_BRICK, "RmsNorm", 12.5, 4},
		{STEP_DECODE, BUDGET_CATEGORY, "FFN", 400, 5},
		{STEP_PREFILL, BUDGET_TTFT, "ttft", 300000, 6},
		{STEP_PREFILL, BUDGET_TOTAL, "total", 1, 7},
		{STEP_DECODE, BUDGET_P50, "p50", 1, 8},
		{STEP_DECODE, BUDGET_P95, "p95", 2, 9},
		{STEP_DECODE, BUDGET_P99, "p99", 0.5, 10},
		{STEP_DECODE, BUDGET_UNATTRIBUTED, "unattributed", 3, 11},
		{STEP_DECODE, BUDGET_BRICK, "total", 7, 12},
		{STEP_PREFILL, BUDGET_BRICK, "two words", 9, 13},
	};

	assert_int_equal(b->count, sizeof want / sizeof *want);
	for (size_t i = 0; i < b->count; i++) {
		assert_int_equal(b->lines[i].phase, want[i].phase);
		assert_int_equal(b->lines[i].what, want[i].what);
		assert_string_equal(b->lines[i].name, want[i].name);
		assert_true(b->lines[i].limit_us == want[i].limit_us);
		assert_int_equal(b->lines[i].line, want[i].line);
	}
	budget_destroy(b);
}

static void faults_name_their_line(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *says;
	} cases[] = {
		{"", 1, "no limits"},
		{"brick-budget 1\n", 1, "no limits"},
		{"decode RmsNorm 1\n", 1, "brick-budget 1"},
		{"brick-budget 2\ndecode RmsNorm 1\n", 1, "brick-budget 1"},
		{"brick-budget 1\nidle RmsNorm 1\n", 2, "prefill or decode"},
		{"brick-budget 1\ndecode RmsNorm\n", 2, "number"},
		{"brick-budget 1\ndecode RmsNorm 1x\n", 2, "number"},
		{"brick-budget 1\ndecode RmsNorm 0\n", 2, "above 0"},
		{"brick-budget 1\ndecode RmsNorm -3\n", 2, "above 0"},
		{"brick-budget 1\ndecode RmsNorm nan\n", 2, "number"},
		{"brick-budget 1\ndecode RmsNorm inf\n", 2, "number"},
		{"brick-budget 1\ndecode RmsNorm 1e999\n", 2, "number"},
		{"brick-budget 1\ndecode RmsNorm 5e21\n", 2, "up to 1e15"},
		{"brick-budget 1\ndecode 5\n", 2, "needs a phase"},
		{"brick-budget 1\ndecode @ 5\n", 2, "needs a phase"},
		{"brick-budget 1\ndecode ttft 5\n", 2, "prefill"},
		{"brick-budget 1\ndecode A 5\n#\n decode A 6\n", 4, "line 2"},
		{"brick-budget 1\ndecode "
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 5\n",
			2, "bytes"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct budget *budget = NULL;
		struct budget_error error;
		int rc = budget_parse(&budget, cases[i].text, strlen(cases[i].text), &error);
		if (rc != BRICK_EFORMAT || error.line != cases[i].line ||
			!strstr(error.text, cases[i].says))
			fail_msg("case %zu: %d, line %u, %s", i, rc, error.line, error.text);
		assert_null(budget);
	}
	struct budget *budget = NULL;
	struct budget_error error;
	assert_true(budget_load(&budget, "/nowhere/at/all", &error) < 0);
	assert_int_equal(error.line, 0);
	assert_true(error.text[0] != '\0');
}

/* Two decode steps of one token: 100 us and 300 us; in each RmsNorm 30 us and 50 us. */
static void build(struct run *run)
{
	memset(run, 0, sizeof *run);
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	uint32_t lane = builder_lane(run, builder_process(run, 1), 1);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t norm = builder_site(run, builder_known(run, BRICK_RMS_NORM), 0, NULL, NULL);
	builder_sample(run, lane, step, 0, 100000, 0);
	builder_step(run, lane, 1);
	builder_sample(run, lane, norm, 10000, 40000, 1);
	builder_sample(run, lane, step, 200000, 500000, 0);
	builder_step(run, lane, 1);
	builder_sample(run, lane, norm, 210000, 260000, 1);
	run->lanes[lane].end_ns = run->end_ns = 600000;
}

static void runs_are_held_against_it(void **state)
{
	static const struct {
		double actual_us;
		int passed;
		char grade;
	} want[] = {
		{40, 1, 'A'},  /* RmsNorm: 80 us of 2 tokens */
		{40, 1, 'B'},  /* Norm, 42 */
		{200, 0, 'C'}, /* total, 190 */
		{160, 0, 'F'}, /* unattributed, 100 */
		{100, 1, 'A'}, /* p50: the lower median */
		{-1, 0, 'F'},  /* p99 needs a hundred steps */
		{-1, 0, 'F'},  /* never ran */
		{-1, 0, 'F'},  /* no prefill */
	};
	struct budget *b = parse("brick-budget 1\ndecode RmsNorm 50\ndecode @Norm 42\n"
				 "decode total 190\ndecode unattributed 100\ndecode p50 500\n"
				 "decode p99 1e9\ndecode LmHead 1e9\nprefill total 1e9\n");
	struct run run;
	struct summary *summaries[STEP_PHASES];

	build(&run);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		assert_int_equal(
			summary_create(&summaries[phase], &run, SUMMARY_BY_BRICK, phase), 0);
	assert_int_equal(b->count, sizeof want / sizeof *want);
	for (size_t i = 0; i < b->count; i++) {
		struct budget_verdict v;
		budget_judge(&v, &b->lines[i], summaries);
		if (v.actual_us != want[i].actual_us || v.passed != want[i].passed ||
			v.grade != want[i].grade)
			fail_msg("line %zu: %g us, passed %d, grade %c", i, v.actual_us, v.passed,
				v.grade);
		if (v.actual_us >= 0)
			assert_true(v.utilisation == v.actual_us / b->lines[i].limit_us);
	}
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(summaries[phase]);
	run_fini(&run);
	budget_destroy(b);
}

/* Per token: on the driver RmsNorm, 2 us; on a helper Score, 70 us; on a queue Qkv, 80 us. */
static void build_beside(struct run *run)
{
	memset(run, 0, sizeof *run);
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	uint32_t process = builder_process(run, 1);
	uint32_t driver = builder_lane(run, process, 1), helper = builder_lane(run, process, 2);
	uint32_t queue = builder_queue(run, process, 7);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t norm = builder_site(run, builder_known(run, BRICK_RMS_NORM), 0, NULL, NULL);
	uint32_t score =
		builder_site(run, builder_known(run, BRICK_ATTENTION_SCORE), 0, NULL, NULL);
	uint32_t wait = builder_site(run, builder_known(run, BRICK_BARRIER_WAIT), -1, NULL, NULL);
	uint32_t qkv = builder_site(run, builder_known(run, BRICK_QKV_PROJECTION), 0, NULL, NULL);
	for (uint64_t at = 1000; at < 200000; at += 100000) {
		builder_sample(run, driver, step, at, at + 90000, 0);
		builder_step(run, driver, 1);
		builder_sample(run, driver, norm, at + 1000, at + 3000, 1);
		builder_sample(run, helper, score, at + 1000, at + 71000, 0);
		builder_sample(run, helper, wait, at + 71000, at + 89000, 0);
		builder_sample(run, queue, qkv, at + 4000, at + 84000, 0);
	}
	for (uint32_t lane = 0; lane < run->lane_count; lane++)
		run->lanes[lane].end_ns = run->end_ns = 300000;
}

/* What took no time on the thread that runs the steps was not free. */
static void devices_and_helpers_count(void **state)
{
	static const struct {
		double actual_us;
		int passed;
	} want[] = {
		{2, 1},	 /* RmsNorm */
		{70, 0}, /* AttentionScore, 10: on a helper */
		{80, 0}, /* QkvProjection, 10: on a queue */
		{80, 0}, /* Attention, 10: both */
		{0, 1},	 /* BarrierWait: the thread that runs the steps never waited */
		{-1, 0}, /* never ran */
	};
	struct budget *b = parse("brick-budget 1\ndecode RmsNorm 2.5\ndecode AttentionScore 10\n"
				 "decode QkvProjection 10\ndecode @Attention 10\n"
				 "decode BarrierWait 1\ndecode LmHead 1e9\n");
	struct run run;
	struct summary *summaries[STEP_PHASES];

	build_beside(&run);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		assert_int_equal(
			summary_create(&summaries[phase], &run, SUMMARY_BY_BRICK, phase), 0);
	for (size_t i = 0; i < b->count; i++) {
		struct budget_verdict v;
		budget_judge(&v, &b->lines[i], summaries);
		if (v.actual_us != want[i].actual_us || v.passed != want[i].passed)
			fail_msg("line %zu: %g us, passed %d", i, v.actual_us, v.passed);
	}
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(summaries[phase]);
	run_fini(&run);
	budget_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_line_is_read),
		cmocka_unit_test(faults_name_their_line),
		cmocka_unit_test(runs_are_held_against_it),
		cmocka_unit_test(devices_and_helpers_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
