/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a brick reached of its roof is said of each phase by that phase alone; a rate that no
 * integer holds is the largest one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/roofline/roofline.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"

enum { BRICK = 3 };

static void each_phase_has_its_own(void **state)
{
	struct roofline_row rows[STEP_PHASES] = {{0}};
	struct roofline roofline = {.rows = rows, .row_count = STEP_PHASES};
	struct summary summary = {.by = SUMMARY_BY_BRICK};
	struct summary_row row = {.id = BRICK};
	struct report report = {.summary = &summary, .roofline = &roofline};
	const struct report_field *field = report_field_find("roof");

	(void)state;
	assert_non_null(field);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		rows[phase] = (struct roofline_row){.brick = BRICK,
			.phase = (enum roofline_phase)phase,
			.bound = ROOFLINE_MEMORY,
			.distance = 0.1 * (1 + phase)};
	for (summary.only = 0; summary.only < STEP_PHASES; summary.only++)
		assert_float_equal(report_value(field, &report, &row).ratio,
			1 - rows[summary.only].distance, 1e-9);
	summary.only = SUMMARY_ALL_PHASES;
	assert_true(report_value(field, &report, &row).ratio < 0);
	summary.steps.phases[STEP_PREFILL].count = 1; /* there is no other phase to be told from */
	assert_float_equal(
		report_value(field, &report, &row).ratio, 1 - rows[STEP_PREFILL].distance, 1e-9);
	summary.steps.phases[STEP_DECODE].count = 1;
	assert_true(report_value(field, &report, &row).ratio < 0);
}

static void a_rate_beyond_all(void **state)
{
	struct summary summary = {.by = SUMMARY_BY_BRICK};
	struct report report = {.summary = &summary};
	struct summary_row row = {.id = BRICK, .elements = UINT64_C(1) << 62, .total_ns = 3};
	const struct report_field *field = report_field_find("elements_per_s");

	(void)state;
	assert_non_null(field);
	assert_true(report_value(field, &report, &row).number == UINT64_MAX);
	row.total_ns = UINT64_C(1000000000);
	assert_true(report_value(field, &report, &row).number == UINT64_C(1) << 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_beyond_all),
		cmocka_unit_test(each_phase_has_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
