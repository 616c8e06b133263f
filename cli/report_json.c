/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as JSON, schema brick/report/1: fields are added, never renamed or given another
 * meaning. Times in ns, rates per second, null where unknown. Called by `brick report --json`.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/provenance.h"
#include "cli/report.h"

static json_t *notes_json(const struct run *run)
{
	json_t *array = json_array();
	for (size_t i = 0; i < run->note_count; i++) {
		json_t *note = json_object();
		json_put(note, "process", json_number(run->notes[i].process));
		json_put(note, "key", json_text(run->notes[i].key));
		json_put(note, "value", json_text(run->notes[i].value));
		json_add(array, note);
	}
	return array;
}

static bool has_thread_samples(const struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i].kind == BRICK_LANE_THREAD && run->lanes[i].sample_count)
			return true;
	return false;
}

static json_t *run_json(const struct run *run)
{
	json_t *object = json_object(), *clock = json_object(), *backends = json_array();
	char *start = provenance_start(run);
	const char **names = provenance_notes(run, "backend");
	for (size_t i = 0; names[i]; i++)
		json_add(backends, json_text(names[i]));
	if (!names[0] && has_thread_samples(run))
		json_add(backends, json_text("cpu"));
	json_put(clock, "source", json_text(brick_clock_source_name(run->clock.source)));
	json_put(clock, "residual_ns", json_number(run->clock.residual_ns));
	json_put(object, "command", json_command(run->command));
	json_put(object, "start", json_text(start));
	json_put(object, "wall_ns",
		json_number(run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0));
	json_put(object, "host", json_text(run->host));
	json_put(object, "cpu", json_text(run->cpu));
	json_put(object, "cpus", run->cpus ? json_number(run->cpus) : json_null());
	json_put(object, "backends", backends);
	json_put(object, "clock", clock);
	json_put(object, "exit_code",
		run->exit_code >= 0 ? json_number((uint64_t)run->exit_code) : json_null());
	json_put(object, "processes", json_number(run->process_count));
	json_put(object, "threads", json_number(run->lane_count));
	json_put(object, "file", json_text(run->path));
	json_put(object, "notes", notes_json(run));
	free(names);
	free(start);
	return object;
}

static json_t *phase_json(const struct report *report, enum step_phase phase)
{
	const struct step_phase_times *times = &report->summary->steps.phases[phase];
	json_t *object = json_object();
	json_put(object, "count", json_number(times->count));
	json_put(object, "tokens", json_number(times->tokens));
	json_put(object, "total_ns", json_number(times->total_ns));
	json_put(object, "tokens_per_s", json_rate(report_tokens_per_s(times)));
	json_put(object, "min_ns", json_number(times->min_ns));
	json_put(object, "p50_ns", json_number(times->p50_ns));
	json_put(object, "p95_ns", json_number(times->p95_ns));
	json_put(object, "p99_ns", json_number(times->p99_ns));
	json_put(object, "max_ns", json_number(times->max_ns));
	json_put(object, "after_ns", json_number(times->after_ns));
	json_put(object, "unattributed_ns", json_number(times->unattributed_ns));
	json_put(object, "coverage", json_rate(summary_phase_coverage(report->summary, phase)));
	return object;
}

static json_t *steps_json(const struct report *report)
{
	json_t *object = json_object();
	json_put(object, "prefill", phase_json(report, STEP_PREFILL));
	json_put(object, "decode", phase_json(report, STEP_DECODE));
	json_put(object, "ttft_ns", json_number(report->summary->steps.ttft_ns));
	return object;
}

static json_t *coverage_json(const struct report *report)
{
	const struct summary *summary = report->summary;
	json_t *object = json_object();
	json_put(object, "share", json_rate(summary->coverage));
	json_put(object, "unattributed_ns", json_number(summary->unattributed_ns));
	json_put(object, "wall_ns", json_number(summary->wall_ns));
	json_put(object, "of", json_text(report->run->step_count ? "steps" : "threads"));
	json_put(object, "samples", json_number(summary->samples));
	json_put(object, "executions", json_number(summary->executions));
	json_put(object, "unknown_operations", json_number(summary->unknown_operations));
	return object;
}

static json_t *interval_json(const struct distortion *distortion)
{
	json_t *object = json_object();
	json_put(object, "share", json_rate(distortion->share));
	json_put(object, "low", json_rate(distortion->low));
	json_put(object, "high", json_rate(distortion->high));
	return object;
}

static json_t *distortion_json(const struct report *report)
{
	const struct distortion *distortion = &report->distortion;
	json_t *object = interval_json(distortion);
	json_put(object, "method", json_text(distortion->method[0] ? distortion->method : NULL));
	json_put(object, "pairs", json_rate(distortion->pairs_share));
	json_put(object, "hooks", json_rate(distortion->hooks_share));
	json_put(object, "recorder", json_rate(distortion->consumer_share));
	json_put(object, "prefill", interval_json(&report->phases[STEP_PREFILL]));
	json_put(object, "decode", interval_json(&report->phases[STEP_DECODE]));
	return object;
}

static json_t *losses_json(const struct losses *losses)
{
	json_t *object = json_object();
	json_put(object, "dropped", json_number(losses->dropped));
	json_put(object, "open", json_number(losses->open));
	json_put(object, "unmatched", json_number(losses->unmatched));
	json_put(object, "clamped", json_number(losses->clamped));
	json_put(object, "unsupported", json_number(losses->unsupported));
	json_put(object, "truncated", json_number(losses->truncated_bytes));
	json_put(object, "too_deep", json_number(losses->too_deep));
	json_put(object, "table_full", json_number(losses->table_full));
	json_put(object, "bad_packets", json_number(losses->bad_packets));
	json_put(object, "lost_processes", json_number(losses->lost_processes));
	json_put(object, "unfinished_processes", json_number(losses->unfinished_processes));
	json_put(object, "complete", json_boolean(!losses->incomplete));
	return object;
}

/* What rows of each kind say about which thing they are. */
static void put_identity(json_t *object, const struct report *report, const struct summary_row *row)
{
	const struct run *run = report->run;
	switch (report->summary->by) {
	case SUMMARY_BY_LAYER:
		json_put(object, "layer", json_integer((json_int_t)row->id - 1));
		break;
	case SUMMARY_BY_THREAD: {
		const struct run_lane *lane = &run->lanes[row->id];
		json_put(object, "pid", json_number(run->processes[lane->process].pid));
		json_put(object, "tid", json_number(lane->tid));
		break;
	}
	default:
		break;
	}
}

static json_t *row_json(const struct report *report, const struct summary_row *row)
{
	json_t *object = json_object();
	char *sources = report_sources(report, row->sources);
	json_put(object, "name", json_text(row->name));
	json_put(object, "category", json_text(row->category));
	json_put(object, "backend", json_text(report_backend(report, row)));
	json_put(object, "source", json_text(sources));
	json_put(object, "count", json_number(row->count));
	json_put(object, "total_ns", json_number(row->total_ns));
	json_put(object, "self_ns", json_number(row->self_ns));
	json_put(object, "wait_ns", json_number(row->wait_ns));
	json_put(object, "wall_ns", json_number(row->wall_ns));
	json_put(object, "share", json_rate(row->share));
	json_put(object, "avg_ns", json_number(row->avg_ns));
	json_put(object, "min_ns", json_number(row->min_ns));
	json_put(object, "p50_ns", json_number(row->p50_ns));
	json_put(object, "p95_ns", json_number(row->p95_ns));
	json_put(object, "p99_ns", json_number(row->p99_ns));
	json_put(object, "max_ns", json_number(row->max_ns));
	json_put(object, "elements", json_number(row->elements));
	json_put(object, "bytes", json_number(row->bytes));
	json_put(object, "flops", json_number(row->flops));
	json_put(object, "bytes_per_s", json_rate(row->bytes_per_ns * 1e9));
	json_put(object, "flops_per_s", json_rate(row->flops_per_ns * 1e9));
	put_identity(object, report, row);
	free(sources);
	return object;
}

static json_t *category_json(const struct summary_row *row)
{
	json_t *object = json_object();
	json_put(object, "name", json_text(row->name));
	json_put(object, "count", json_number(row->count));
	json_put(object, "total_ns", json_number(row->total_ns));
	json_put(object, "self_ns", json_number(row->self_ns));
	json_put(object, "wait_ns", json_number(row->wait_ns));
	json_put(object, "share", json_rate(row->share));
	return object;
}

void report_json(const struct report *report, FILE *out)
{
	const struct summary *summary = report->summary;
	json_t *root = json_object(), *rows = json_array(), *categories = json_array();
	for (size_t i = 0; i < report->shown; i++)
		json_add(rows, row_json(report, &summary->rows[i]));
	for (size_t i = 0; i < summary->category_count; i++)
		json_add(categories, category_json(&summary->categories[i]));
	json_put(root, "schema", json_text("brick/report/1"));
	json_put(root, "run", run_json(report->run));
	json_put(root, "steps", steps_json(report));
	json_put(root, "phase", json_text(report_phase_name(summary->only)));
	json_put(root, "coverage", coverage_json(report));
	json_put(root, "distortion", distortion_json(report));
	json_put(root, "losses", losses_json(&report->losses));
	/* By category the rows have all fields, and stand in for the short form. */
	if (summary->by != SUMMARY_BY_CATEGORY)
		json_put(root, summary_by_plural(summary->by), json_incref(rows));
	json_put(root, "categories",
		json_incref(summary->by == SUMMARY_BY_CATEGORY ? rows : categories));
	json_decref(rows);
	json_decref(categories);
	json_print(root, out);
}
