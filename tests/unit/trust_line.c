/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line on how far to trust a report: where no single node was timed, of a program or of its
 * device, the coverage is that of whole graphs, and a limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/run_builder.h"
#include "ui/text/report_trust.h"

/* The line of a run with one step, all of it in a brick, and this note. */
static char *line_of(const char *key, const char *value, bool *is_limited)
{
	struct report_apart apart;
	struct run run = {.complete = 1, .clock = *brick_clock_get()};
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t work = builder_site(&run, builder_brick(&run, "Up", "FFN"), -1, NULL, NULL);

	builder_sample(&run, lane, step, 0, 1000000, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, work, 0, 1000000, 1);
	builder_note(&run, key, value);
	assert_int_equal(
		report_apart_measure(&apart, &run, SUMMARY_BY_BRICK, REPORT_PHASES_APART), 0);
	char *line = report_trust_line(&apart.all, is_limited);
	report_apart_fini(&apart);
	run_fini(&run);
	return line;
}

static void whole_graphs_are_a_limit(void **state)
{
	static const struct {
		const char *key, *value, *says;
	} cases[] = {
		{"attach", "node hooks", NULL},
		{"attach", "graphs only: no node is timed",
			"covered by whole graphs, in which no node"},
		{"ggml.device", "nodes are not timed",
			"covered, on a device by whole graphs, in which no node"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool is_limited;
		char *line = line_of(cases[i].key, cases[i].value, &is_limited);
		assert_int_equal(
			strncmp(line, "limited by coverage", 19) == 0, cases[i].says != NULL);
		assert_non_null(strstr(line, cases[i].says ? cases[i].says : "100.0% covered"));
		free(line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole_graphs_are_a_limit)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
