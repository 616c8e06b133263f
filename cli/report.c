/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick report`: options, numbers, and the choice of the form. The forms themselves are in
 * report_text.c, report_json.c and report_csv.c.
 */
#include "cli/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/report_sort.h"
#include "cli/suggest.h"

static const char help[] =
	"Usage: brick report [OPTIONS] FILE\n"
	"\n"
	"Say where the time of a recording went: steps, bricks, categories, and what is in none "
	"of\n"
	"them; what recording cost, and what was lost.\n"
	"\n"
	"  --by WHAT     rows by brick (default), category, layer, phase or thread\n"
	"  --phase WHAT  only what ran in steps of this phase: prefill or decode\n"
	"  --sort COL    order by share (default), name, count, self, total, wait, avg, min,\n"
	"                p50, p95, p99, max, elements, bytes, flops, GB/s or GFLOP/s\n"
	"  --top N       show the first N rows only\n"
	"  --json        all of it as JSON (schema brick/report/1)\n"
	"  --csv         the rows as CSV\n"
	"  -h, --help    show this and exit\n";

struct options {
	enum summary_by by;
	const struct report_sort *sort;
	unsigned long top; /* 0: all */
	int phase;
	bool json, csv;
};

static enum summary_by parse_by(const char *text)
{
	const char *names[SUMMARY_BY_COUNT];
	for (int i = 0; i < SUMMARY_BY_COUNT; i++) {
		names[i] = summary_by_name(i);
		if (!strcmp(text, names[i]))
			return i;
	}
	const char *near = suggest(text, names, SUMMARY_BY_COUNT);
	if (near)
		die_usage("report", "--by %s: unknown; did you mean '%s'?", text, near);
	die_usage("report", "--by %s: must be brick, category, layer, phase or thread", text);
}

static int parse_phase(const char *text)
{
	if (!strcmp(text, "prefill"))
		return STEP_PREFILL;
	if (!strcmp(text, "decode"))
		return STEP_DECODE;
	die_usage("report", "--phase %s: must be prefill or decode", text);
}

static const struct report_sort *parse_sort(const char *text)
{
	const struct report_sort *sort = report_sort_find(text);
	if (!sort)
		die_usage("report", "--sort %s: must be one of %s", text, report_sort_names());
	return sort;
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"by", required_argument, NULL, 'b'},
		{"phase", required_argument, NULL, 'p'},
		{"sort", required_argument, NULL, 's'},
		{"top", required_argument, NULL, 't'},
		{"json", no_argument, NULL, 'j'},
		{"csv", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	while ((c = options_next(argc, argv, "", longs, help)) != -1) {
		switch (c) {
		case 'b':
			options->by = parse_by(optarg);
			break;
		case 'p':
			options->phase = parse_phase(optarg);
			break;
		case 's':
			options->sort = parse_sort(optarg);
			break;
		case 't':
			options->top = options_number("report", "--top", optarg, 1, UINT32_MAX);
			break;
		case 'j':
			options->json = true;
			break;
		case 'c':
			options->csv = true;
			break;
		}
	}
	if (options->json && options->csv)
		die_usage("report", "--json and --csv: one form at a time, please");
}

char *report_sources(const struct report *report, uint32_t sources)
{
	static const char *const names[] = {
		[BRICK_SOURCE_UNKNOWN] = "unknown",
		[BRICK_SOURCE_SYNC_WALL] = "sync-wall",
		[BRICK_SOURCE_DEVICE_EVENT] = "device-event",
		[BRICK_SOURCE_DEVICE_ACTIVITY] = "device-activity",
		[BRICK_SOURCE_TIMESTAMP_QUERY] = "timestamp-query",
		[BRICK_SOURCE_REPORTED] = "reported",
		[BRICK_SOURCE_CALLBACK] = "callback",
	};
	char *text = NULL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(sources >> i & 1))
			continue;
		/* The host's clock is whichever the process found sound. */
		const char *name = i == BRICK_SOURCE_TSC
					   ? brick_clock_source_name(report->run->clock.source)
					   : names[i];
		char *longer = text ? xasprintf("%s+%s", text, name) : xstrdup(name);
		free(text);
		text = longer;
	}
	return text;
}

const char *report_backend(const struct report *report, const struct summary_row *row)
{
	return row->on_device ? run_note_find(report->run, "backend") : "cpu";
}

const char *report_phase_name(int phase)
{
	return phase == STEP_PREFILL ? "prefill" : phase == STEP_DECODE ? "decode" : NULL;
}

double report_tokens_per_s(const struct step_phase_times *times)
{
	if (!times->tokens || !times->total_ns)
		return -1;
	return (double)times->tokens * 1e9 / (double)times->total_ns;
}

static void compute(struct report *report, const struct options *options)
{
	int rc = summary_create(&report->summary, report->run, options->by, options->phase);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", report->run->path);
	struct summary *summary = report->summary;
	if (options->phase != SUMMARY_ALL_PHASES && !summary->wall_ns)
		die(CLI_INPUT, "%s: has no %s step that ended", report->run->path,
			report_phase_name(options->phase));
	losses_of_run(&report->losses, report->run, summary->mismatched);
	distortion_estimate(&report->distortion, summary, options->phase);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		distortion_estimate(&report->phases[phase], summary, phase);
	if (options->sort)
		report_sort_rows(options->sort, summary->rows, summary->row_count);
	report->shown = summary->row_count;
	if (options->top && options->top < report->shown)
		report->shown = options->top;
}

static int run_report(int argc, char **argv)
{
	struct options options = {.by = SUMMARY_BY_BRICK, .phase = SUMMARY_ALL_PHASES};
	parse(&options, argc, argv);
	struct run *run = input_load(input_operand(argc, argv));
	struct report report = {.run = run};
	compute(&report, &options);
	if (options.json)
		report_json(&report, stdout);
	else if (options.csv)
		report_csv(&report, stdout);
	else
		report_text(&report, stdout);
	summary_destroy(report.summary);
	run_destroy(run);
	return CLI_DONE;
}

const struct cli_command command_report = {
	.name = "report",
	.summary = "say where the time of a recording went",
	.run = run_report,
	.flags = CLI_ANSWERS,
};
