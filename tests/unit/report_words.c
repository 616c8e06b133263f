/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of how far to trust a report: a distortion that hides in what steps move by
 * themselves is no figure, in text and JSON alike, and one that is known has its interval; whole
 * graphs are not praised as coverage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run_builder.h"
#include "ui/text/provenance.h"
#include "ui/text/report_json.h"
#include "ui/text/report_text.h"
#include "ui/text/report_trust.h"

enum { COUNT = 80, STEP_NS = 1000000 };

/* Of a team of two, whose stretches of ten steps differ by so much. */
static void make_run(struct run *run, uint64_t differ_ns)
{
	*run = (struct run){.complete = 1, .clock = {.mult = 1}, .cpus = 1};
	uint32_t lane = builder_lane(run, builder_process(run, 1), 1);
	uint32_t worker = builder_lane(run, 0, 2);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t node = builder_site(run, builder_brick(run, "Work", "Other"), 0, "ADD", "x");
	uint64_t at = 1000;

	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t ns = STEP_NS + i / 10 % 2 * differ_ns;
		builder_sample(run, lane, step, at, at + ns, 0);
		builder_step(run, lane, 1);
		builder_sample(run, lane, node, at + 2000, at + 900000, 1);
		builder_sample(run, worker, node, at + 2000, at + 900000, 0);
		at += ns;
	}
	run->start_ns = 0;
	run->end_ns = at;
	run->processes[0].pair_cost_ns = 20;
	for (uint32_t i = lane; i <= worker; i++) {
		run->lanes[i].hook_calls = run->lanes[i].hook_timed = COUNT;
		run->lanes[i].hook_ns = 2000 * COUNT;
	}
}

/* Without line ends, which may be anywhere; the caller frees. */
static char *said(const struct report *report, void (*print)(const struct report *, FILE *))
{
	char *text = NULL;
	size_t bytes = 0, kept = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	print(report, out);
	assert_int_equal(fclose(out), 0);
	for (size_t i = 0; i < bytes; i++) {
		char c = text[i] == '\n' ? ' ' : text[i];
		if (c != ' ' || !kept || text[kept - 1] != ' ')
			text[kept++] = c;
	}
	text[kept] = '\0';
	return text;
}

enum { BRICKS = 24, PREFILL_NS = 6000, DECODE_NS = 94000 };

/* A step with as many bricks of one letter; the first eight take `more` each, the others less. */
static void add_step(struct run *run, uint32_t lane, int known, char letter, uint64_t at,
	uint64_t ns, uint64_t more)
{
	uint32_t step = builder_site(run, builder_known(run, known), -1, NULL, NULL);
	char name[4];

	builder_sample(run, lane, step, at, at + ns, 0);
	builder_step(run, lane, 1);
	for (int i = 0; i < BRICKS; i++) {
		uint64_t each = i < 8 ? more : (ns - 8 * more) / (BRICKS - 8);
		snprintf(name, sizeof(name), "%c%02d", letter, i);
		builder_sample(run, lane,
			builder_site(run, builder_brick(run, name, "Other"), -1, NULL, NULL), at,
			at + each, 1);
		at += each;
	}
}

/* The lines of the first screen go to the phase that took the time; the other has one at least. */
static void lines_follow_the_time(void **state)
{
	struct run run = {.complete = 1, .clock = {.mult = 1}, .cpus = 1};
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	struct report_apart apart;
	int rows[2] = {0};
	char *text = NULL;
	size_t bytes = 0;

	(void)state;
	add_step(&run, lane, BRICK_PREFILL, 'P', 1000, PREFILL_NS, PREFILL_NS / BRICKS);
	add_step(&run, lane, BRICK_DECODE, 'D', 10000, DECODE_NS, 8000);
	run.end_ns = 200000;
	assert_int_equal(
		report_apart_measure(&apart, &run, SUMMARY_BY_BRICK, REPORT_PHASES_APART), 0);
	FILE *out = open_memstream(&text, &bytes);
	report_text(&apart.all, out);
	assert_int_equal(fclose(out), 0);
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		rows[0] += line[0] == 'P' && line[1] >= '0' && line[1] <= '9';
		rows[1] += line[0] == 'D' && line[1] >= '0' && line[1] <= '9';
	}
	if (rows[0] < 1 || rows[1] < 5 * rows[0])
		fail_msg("%d rows of prefill, %d of decode:\n%s", rows[0], rows[1], text);
	free(text);
	report_apart_fini(&apart);
	run_fini(&run);
}

static void check(const struct run *run, const char *trust, const char *line, bool is_measurable)
{
	struct report_apart apart;

	assert_int_equal(
		report_apart_measure(&apart, run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	char *whole = said(&apart.all, report_whole_trust_text),
	     *brief = said(&apart.all, report_text);
	json_t *json = report_to_json(&apart.all);
	json_t *distortion = json_object_get(json, "distortion");

	if (!strstr(whole, trust))
		fail_msg("%s", whole);
	if (!strstr(brief, line))
		fail_msg("%s", brief);
	assert_int_equal(json_is_true(json_object_get(distortion, "measurable")), is_measurable);
	assert_int_equal(
		json_is_true(json_object_get(json_object_get(distortion, "decode"), "measurable")),
		is_measurable);
	json_decref(json);
	free(whole);
	free(brief);
	report_apart_fini(&apart);
}

static void distortion(void **state)
{
	struct run run;
	(void)state;
	make_run(&run, 0);
	check(&run, "Distortion 0.20% (0.00% to ", "0.2% distortion (0.0 to ", true);
	run_fini(&run);
	make_run(&run, STEP_NS);
	check(&run, "Distortion not measurable on this busy machine: between -",
		"distortion not measurable on this busy machine", false);
	run_fini(&run);
}

static void whole_graphs(void **state)
{
	struct run run;
	(void)state;
	make_run(&run, 0);
	builder_note(&run, "attach", "graphs only: no node is timed");
	check(&run, "Coverage", "by whole graphs", true);
	run_fini(&run);
}

/* What an engine's threads spin for each other beside a competitor is in no estimate. */
static void spinning(void **state)
{
	static const char said[] = "without CPU time that 2 threads may spin for each other";
	struct run run;

	(void)state;
	for (int others = 0; others < 2; others++) {
		make_run(&run, 0);
		run.cpus = 2;
		run.program_cpu_ns = COUNT * STEP_NS;
		run.machine = (struct machine_use){
			.busy_ns = COUNT * STEP_NS * (uint64_t)(10 + 5 * others) / 10,
			.idle_ns = COUNT * STEP_NS * (uint64_t)(10 - 5 * others) / 10};
		builder_note(&run, "attach", "node hooks");
		check(&run, "Distortion", others ? said : "distortion", true);
		if (!others) {
			struct report_apart apart;
			assert_int_equal(report_apart_measure(&apart, &run, SUMMARY_BY_BRICK,
						 SUMMARY_ALL_PHASES),
				0);
			bool is_limited;
			char *line = report_trust_line(&apart.all, &is_limited);
			assert_null(strstr(line, "spin"));
			free(line);
			report_apart_fini(&apart);
		}
		run_fini(&run);
	}
}

/* The engine's name, by the notes of what was attached. */
static void engines_have_names(void **state)
{
	static const struct {
		struct run_note notes[2];
		const char *engine, *provider;
	} cases[] = {
		{{{0, "ggml.version", "0.9.4 (abc)"}, {0, "llama.library", "/x"}},
			"llama.cpp (ggml 0.9.4)", "llama.cpp"},
		{{{0, "ggml.version", "0.9.4 (abc)"}, {0, "whisper.library", "/x"}},
			"whisper.cpp (ggml 0.9.4)", "whisper.cpp"},
		{{{0, "onnxruntime.version", "1.17.3"}, {0, "attach", "kernels"}},
			"ONNX Runtime 1.17.3", "ONNX Runtime"},
		/* it was left alone */
		{{{0, "onnxruntime.version", "1.14.0"}, {0, "onnxruntime.refused", "too old"}},
			"nothing attached", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run_note notes[2] = {cases[i].notes[0], cases[i].notes[1]};
		struct run run = {.notes = notes, .note_count = 2};
		char *engine = provenance_engine(&run), *provider = provenance_provider(&run);
		assert_string_equal(engine, cases[i].engine);
		assert_string_equal(provider ? provider : "", cases[i].provider ?: "");
		free(engine);
		free(provider);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinning),
		cmocka_unit_test(engines_have_names),
		cmocka_unit_test(lines_follow_the_time),
		cmocka_unit_test(distortion),
		cmocka_unit_test(whole_graphs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
