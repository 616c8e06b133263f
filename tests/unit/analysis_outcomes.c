/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that the engine refused, and one that it did not evaluate to the end: in the counts of
 * their own, with their time in that of the phase; in no rate and no percentile, in no comparison
 * and no history; named where rows are steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/compare/compare_series.h"
#include "analysis/compare/history_parts.h"
#include "analysis/path/path.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary.h"
#include "tests/unit/run_builder.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"

/* Evaluated, refused, evaluated, aborted halfway, evaluated: each 1000 ns, the aborted one 600. */
enum { STEPS = 5 };

struct fixture {
	struct run run;
	struct step_index index;
	uint32_t work;
};

static void open_fixture(struct fixture *f)
{
	static const enum run_outcome outcomes[STEPS] = {
		RUN_EVALUATED, RUN_REFUSED, RUN_EVALUATED, RUN_ABORTED, RUN_EVALUATED};
	struct run *run = &f->run;

	memset(f, 0, sizeof(*f));
	run->complete = 1;
	run->clock = *brick_clock_get();
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	f->work = builder_brick(run, "Work", "Other");
	uint32_t site = builder_site(run, f->work, -1, NULL, NULL);
	uint32_t lane = builder_lane(run, builder_process(run, 1), 1);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint64_t ns = 2000 * i, length_ns = outcomes[i] == RUN_ABORTED ? 600 : 1000;
		builder_sample(run, lane, step, ns, ns + length_ns, 0);
		builder_step(run, lane, outcomes[i] == RUN_EVALUATED ? 2 : 0);
		run->steps[i].outcome = outcomes[i];
		builder_sample(run, lane, site, ns + 100, ns + 500, 1);
	}
	run->end_ns = run->lanes[lane].end_ns = 9000;
	assert_int_equal(step_index_init(&f->index, run), 0);
}

static void close_fixture(struct fixture *f)
{
	step_index_fini(&f->index);
	run_fini(&f->run);
}

static void they_are_in_no_rate(void **state)
{
	struct step_times times;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(step_times_measure(&times, &f.run, &f.index), 0);
	const struct step_phase_times *decode = &times.phases[STEP_DECODE];
	assert_int_equal(decode->count, 3);
	assert_int_equal(decode->refused, 1);
	assert_int_equal(decode->aborted, 1);
	assert_int_equal(decode->tokens, 6);
	assert_int_equal(decode->total_ns, 4600);
	assert_int_equal(decode->unevaluated_ns, 1600);
	assert_int_equal(decode->union_ns, 3000);
	assert_int_equal(decode->min_ns, 1000);
	assert_int_equal(decode->dropped, 0);
	assert_int_equal(
		f.run.steps[step_times_median(&times, &f.run, &f.index, STEP_DECODE)].tokens, 2);
	step_times_fini(&times);
	close_fixture(&f);
}

static void comparisons_leave_them_out(void **state)
{
	struct compare_names names = {0};
	struct compare_series series;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(compare_series_init(&series, &names, &f.run, SUMMARY_BY_BRICK), 0);
	const struct compare_cells *cells = &series.phases[STEP_DECODE];
	uint32_t work = compare_names_column(&names, "Work", COMPARE_PART);
	assert_int_equal(cells->steps, 3);
	assert_int_equal(cells->count, 3);
	for (size_t i = 0; i < cells->count; i++) {
		assert_int_equal(cells->tokens[i], 2);
		assert_int_equal(cells->total_ns[i], 1000);
		assert_int_equal(compare_cell_ns(&series, STEP_DECODE, i, work), 400);
	}
	assert_true(cells->united == 1);
	compare_series_fini(&series);
	compare_names_fini(&names);
	close_fixture(&f);
}

static void histories_leave_them_out(void **state)
{
	struct history_run history;
	struct fixture f;
	size_t found = 0;

	(void)state;
	open_fixture(&f);
	assert_int_equal(history_run_init(&history), 0);
	assert_int_equal(history_parts_of_run(&history, &f.run), 0);
	for (size_t i = 0; i < history.parts.count; i++) {
		const struct history_part *part = &history.parts.items[i];
		bool is_step = !strcmp(part->kind, "step");
		if (!is_step && strcmp(part->name, "Work") != 0)
			continue;
		assert_int_equal(part->count, 3);
		assert_int_equal(part->tokens, 6);
		assert_int_equal(part->total_ns, is_step ? 3000 : 1200);
		found++;
	}
	assert_int_equal(found, 2);
	history_run_fini(&history);
	close_fixture(&f);
}

static void critical_paths_leave_them_out(void **state)
{
	struct path *path;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(path_create(&path, &f.run, &f.index, RUN_NONE), 0);
	assert_int_equal(path->section_count, 1);
	assert_int_equal(path->sections[0].steps, 3);
	assert_int_equal(path->sections[0].tokens, 6);
	path_destroy(path);
	close_fixture(&f);
}

static void rows_by_step_name_them(void **state)
{
	static const char *const outcomes[STEPS] = {NULL, "refused", NULL, "aborted", NULL};
	struct summary *summary;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(summary_create(&summary, &f.run, SUMMARY_BY_STEP, SUMMARY_ALL_PHASES), 0);
	const struct report report = {.run = &f.run, .summary = summary};
	for (size_t i = 0; i < STEPS; i++) {
		const struct summary_row *row = &summary->rows[i];
		struct report_value outcome =
			report_value(report_field_find("outcome"), &report, row);
		char *tokens = report_value_text(report_field_find("step_tokens"), &report, row);
		assert_int_equal(row->id, i);
		if (outcomes[i])
			assert_string_equal(outcome.text, outcomes[i]);
		else
			assert_null(outcome.text);
		assert_string_equal(tokens, i == 1 ? "0" : i == 3 ? "-" : "2");
		free(outcome.text);
		free(tokens);
	}
	summary_destroy(summary);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_in_no_rate),
		cmocka_unit_test(comparisons_leave_them_out),
		cmocka_unit_test(histories_leave_them_out),
		cmocka_unit_test(critical_paths_leave_them_out),
		cmocka_unit_test(rows_by_step_name_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
