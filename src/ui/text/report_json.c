/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as JSON, schema brick/report/2: fields are added, never renamed or given another
 * meaning. Times are in ns, rates per second, and unknown values null. Its rows as CSV (RFC 4180):
 * the titles are the keys of JSON, unknown values are empty, and the last row holds the time in no
 * other row.
 */
#include "ui/text/report_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/load_times.h"
#include "analysis/accounts/workload.h"
#include "analysis/devices/hidden_waits.h"
#include "analysis/ranks/message_pairs.h"
#include "analysis/ranks/rank_job.h"
#include "analysis/ranks/remote_calls.h"
#include "trace/owners.h"
#include "ui/text/energy_view.h"
#include "ui/text/csv_out.h"
#include "ui/text/exemplar_text.h"
#include "ui/text/gpus_view.h"
#include "ui/text/trust_text.h"
#include "ui/text/json_out.h"
#include "ui/text/marks.h"
#include "ui/text/placed_view.h"
#include "ui/text/provenance.h"
#include "ui/text/ranks_view.h"
#include "ui/text/remote_view.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"
#include "ui/text/report_presence.h"
#include "ui/text/text.h"
#include "ui/text/users_text.h"

static const char *report_json_type_name(enum report_type type)
{
	static const char *const names[] = {
		[REPORT_TEXT] = "text",
		[REPORT_TIME] = "time",
		[REPORT_COUNT] = "count",
		[REPORT_LAYER] = "layer",
		[REPORT_BYTES] = "bytes",
		[REPORT_RATE] = "rate",
		[REPORT_SHARE] = "share",
		[REPORT_RATIO] = "ratio",
		[REPORT_SIZES] = "sizes",
	};
	return names[type];
}

static json_t *field_json(const struct report_field *field)
{
	json_t *object = json_object();
	json_put_texts(object, field, key, title);
	json_put(object, "type", json_text(report_json_type_name(field->type)));
	json_put(object, "means", json_text(field->means));
	json_put(object, "of_device", json_boolean(field->flags & REPORT_OF_DEVICE));
	return object;
}

static json_t *report_json_columns(enum summary_by by)
{
	struct report_columns columns;
	json_t *keys = json_array();
	report_columns_default(&columns, REPORT_IN_PAGE, by);
	for (size_t i = 0; i < columns.count; i++)
		if (!(columns.fields[i]->flags & REPORT_TEXT_ONLY))
			json_add(keys, json_text(columns.fields[i]->key));
	return keys;
}

json_t *report_fields_to_json(void)
{
	json_t *object = json_object(), *fields = json_array(), *columns = json_object();
	for (size_t i = 0; i < report_field_count; i++)
		json_add(fields, field_json(&report_fields[i]));
	for (int by = 0; by < SUMMARY_BY_COUNT; by++)
		json_put(columns, summary_by_plural(by), report_json_columns(by));
	json_put(object, "fields", fields);
	json_put(object, "columns", columns);
	return object;
}

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

/* A workload's number: 0 is not known. */
static json_t *report_json_known(uint64_t number)
{
	return number ? json_number(number) : json_null();
}

static json_t *report_json_model(const struct workload *w)
{
	if (!w->models)
		return json_null();
	json_t *object = json_object();
	json_put(object, "name", json_text(*w->model ? w->model : NULL));
	json_put(object, "type", json_text(*w->type ? w->type : NULL));
	json_put(object, "layers", report_json_known(w->layers));
	json_put(object, "parameters", report_json_known(w->parameters));
	json_put(object, "bytes", report_json_known(w->bytes));
	json_put(object, "models", report_json_known(w->models));
	return object;
}

static json_t *settings_json(const struct workload *w)
{
	json_t *object = json_object();
	json_put(object, "context", report_json_known(w->context));
	json_put(object, "batch", report_json_known(w->batch));
	json_put(object, "ubatch", report_json_known(w->ubatch));
	json_put(object, "sequences", report_json_known(w->sequences));
	json_put(object, "threads", report_json_known(w->threads));
	json_put(object, "batch_threads", report_json_known(w->batch_threads));
	return object;
}

/* Null: it was not seen how a model is loaded. */
static json_t *load_json(const struct run *run)
{
	struct load_times times;

	if (text_fail(load_times_of_run(&times, run)) || !times.is_known)
		return json_null();
	json_t *object = json_object();
	for (int phase = 0; phase < LOAD_PHASES; phase++) {
		SCOPED char *key = text_format("%s_ns", load_phase_name((enum load_phase)phase));
		json_put(object, key, json_number(times.ns[phase]));
		if (phase == LOAD_WARM_UP)
			continue;
		json_t *counts = json_object();
		json_put_numbers(counts, &times.counts[phase], minor, major, bytes);
		json_put(object, load_phase_name((enum load_phase)phase), counts);
	}
	json_put_numbers(object, &times, disk_bytes, faults, kernel_ns);
	return object;
}

static json_t *report_json_run(const struct run *run)
{
	json_t *object = json_object(), *clock = json_object(), *backends = json_array();
	SCOPED char *start = provenance_start(run);
	SCOPED const char **names = provenance_notes(run, "backend");
	for (size_t i = 0; names && names[i]; i++)
		json_add(backends, json_text(names[i]));
	if (names && !names[0] && has_thread_samples(run))
		json_add(backends, json_text("cpu"));
	/* backends of queues that no note names */
	for (size_t i = 0; i < run->lane_count; i++) {
		const char *name = run->lanes[i].backend;
		bool known = !name || !*name;
		for (size_t k = 0; k < json_array_size(backends) && !known; k++)
			known = !strcmp(json_string_value(json_array_get(backends, k)), name);
		if (!known)
			json_add(backends, json_text(name));
	}
	json_put(clock, "source", json_text(brick_clock_source_name(run->clock.source)));
	json_put(clock, "residual_ns",
		run->clock.residual_ns == UINT32_MAX ? json_null()
						     : json_number(run->clock.residual_ns));
	json_put(object, "command", json_command(run->command));
	json_put(object, "start", json_text(start));
	json_put(object, "wall_ns",
		json_number(run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0));
	json_put_texts(object, run, host, cpu, isa);
	json_put(object, "cpus", run->cpus ? json_number(run->cpus) : json_null());
	json_put(
		object, "usable_cpus", run->cpus ? json_number(run_usable_cpus(run)) : json_null());
	json_put(object, "backends", backends);
	struct workload workload;
	SCOPED char *engine = provenance_engine(run);
	workload_of_run(&workload, run);
	json_put(object, "engine", json_text(engine));
	json_put(object, "model", report_json_model(&workload));
	json_put(object, "settings", settings_json(&workload));
	json_put(object, "start_up_ns", json_number(workload.start_up_ns));
	json_put(object, "load", load_json(run));
	json_put(object, "peak_bytes", report_json_known(run->machine.peak_bytes));
	json_put(object, "placement", placed_json(run));
	if (run->mark_count)
		json_put(object, "marks", marks_json(run));
	if (run->left_step_count)
		json_put(object, "left_steps", json_number(run->left_step_count));
	if (run_has_mark(run, MARK_EXEMPLAR))
		json_put(object, "exemplars", exemplar_json(run));
	json_put(object, "clock", clock);
	json_put(object, "exit_code",
		run->exit_code >= 0 ? json_number((uint64_t)run->exit_code) : json_null());
	json_put(object, "processes", json_number(run->process_count));
	size_t queues = run_queue_count(run);
	json_put(object, "threads", json_number(run_thread_count(run)));
	json_put(object, "queues", json_number(queues));
	json_put(object, "file", json_text(run->path));
	json_put(object, "notes", notes_json(run));
	return object;
}

static json_t *report_json_phase(const struct report *report, enum step_phase phase)
{
	const struct step_phase_times *times = &report->summary->steps.phases[phase];
	json_t *object = json_object();
	json_put_numbers(object, times, count, dropped, refused, aborted, unevaluated_ns, tokens);
	json_put(object, "prompt_tokens", json_number(times->tokens - times->output_tokens));
	json_put_numbers(object, times, output_tokens, draft_tokens, total_ns);
	json_put(object, "running_ns", json_number(times->union_ns));
	json_put(object, "wall_ns", json_number(times->wall_ns));
	bool rated = phase != STEP_WARM_UP;
	json_put(object, "tokens_per_s", json_rate(rated ? report_tokens_per_s(times) : -1));
	json_put(object, "wall_tokens_per_s",
		json_rate(rated ? report_wall_tokens_per_s(times) : -1));
	json_put_numbers(
		object, times, min_ns, p50_ns, p95_ns, p99_ns, max_ns, after_ns, unattributed_ns);
	json_put(object, "coverage", json_rate(summary_phase_coverage(report->summary, phase)));
	return object;
}

/* Speculative decoding; null: none. */
static json_t *drafts_json(const struct report *report)
{
	const struct step_phase_times drafts = report_drafts(report);
	if (!drafts.checked)
		return json_null();
	json_t *object = json_object();
	json_put(object, "checked", json_number(drafts.checked));
	json_put(object, "held", json_number(drafts.checked - drafts.refuted));
	json_put(object, "tokens", json_number(drafts.draft_tokens));
	json_put(object, "model_steps", json_number(drafts.draft_steps));
	json_put(object, "model_ns", json_number(drafts.draft_ns));
	return object;
}

static void report_json_put_phases(json_t *object, const uint64_t ns[TRAINING_PHASES])
{
	json_put(object, "forward_ns", json_number(ns[TRAINING_FORWARD]));
	json_put(object, "backward_ns", json_number(ns[TRAINING_BACKWARD]));
	json_put(object, "optimizer_ns", json_number(ns[TRAINING_OPTIMIZER]));
}

/* Null: no step trains. */
static json_t *training_json(const struct training_times *times)
{
	const uint64_t *on_device = times->device_ns;
	if (!times->count)
		return json_null();
	json_t *object = json_object(), *device = json_null();
	json_put_numbers(object, times, count, tokens, total_ns, clipping_ns, recomputed_ns);
	report_json_put_phases(object, times->phase_ns);
	if (on_device[TRAINING_FORWARD] || on_device[TRAINING_BACKWARD] ||
		on_device[TRAINING_OPTIMIZER])
		report_json_put_phases(device = json_object(), on_device);
	json_put(object, "device", device);
	return object;
}

static json_t *report_json_steps(const struct report *report)
{
	json_t *object = json_object();
	json_put(object, "prefill", report_json_phase(report, STEP_PREFILL));
	json_put(object, "decode", report_json_phase(report, STEP_DECODE));
	json_put(object, "mixed", report_json_phase(report, STEP_MIXED));
	json_put(object, "warm_up", report_json_phase(report, STEP_WARM_UP));
	json_put(object, "other", report_json_phase(report, STEP_OTHER));
	json_put(object, "training", training_json(&report->training));
	json_put(object, "drafts", drafts_json(report));
	json_put(object, "users", users_json(report->run));
	json_put(object, "ttft_ns", json_number(report->summary->steps.ttft_ns));
	return object;
}

static json_t *report_json_coverage(const struct report *report)
{
	const struct summary *summary = report->summary;
	json_t *object = json_object();
	json_put(object, "share", json_rate(summary->coverage));
	json_put_numbers(
		object, &summary->rests, preempted_ns, blocked_ns, left_out_ns, unattributed_ns);
	json_put_numbers(object, summary, wall_ns);
	json_put(object, "of", json_text(report->run->step_count ? "steps" : "threads"));
	json_put_numbers(object, summary, samples, executions, unknown_operations);
	return object;
}

static json_t *report_json_ranks(const struct run *run)
{
	SCOPED_BY(rank_job_fini) struct rank_job job;

	return text_fail(rank_job_of_run(&job, run)) ? json_null() : ranks_rows_to_json(&job);
}

/* Null: there are none. */
static json_t *report_json_messages(const struct run *run)
{
	SCOPED_BY(message_pairs_fini) struct message_pairs pairs = {0};
	if (!run->message_count || text_fail(message_pairs_init(&pairs, run)))
		return json_null();
	if (!pairs.count && !pairs.sent_alone && !pairs.received_alone) /* collectives alone */
		return json_null();
	json_t *object = json_object();
	json_put_numbers(object, &pairs, count, bytes, sent_alone, received_alone, unequal, calls,
		waited_ns, transfer_ns);
	return object;
}

/* Null: there are none. */
static json_t *report_json_remote(const struct run *run)
{
	SCOPED_BY(remote_calls_fini) struct remote_calls calls = {0};
	if (!run->message_count || text_fail(remote_calls_init(&calls, run)) || !calls.count)
		return json_null();
	return remote_calls_to_json(&calls);
}

static json_t *interval_json(const struct distortion *distortion)
{
	json_t *object = json_object();
	json_put_rates(object, distortion, share);
	json_put_signed(object, distortion, low, high);
	json_put(object, "measurable",
		json_boolean(distortion->share >= 0 && !distortion_is_hidden(distortion)));
	return object;
}

/* Null where the run has no such phase. */
static json_t *phase_distortion_json(const struct report *report, enum step_phase phase)
{
	return report->summary->steps.phases[phase].count ? interval_json(&report->phases[phase])
							  : json_null();
}

static json_t *traced_each_json(const struct traced_each *each)
{
	json_t *object = json_object();
	json_put_rates(object, each, ns, low_ns, high_ns);
	return object;
}

/* Null: no driver's tracing reported a command. */
static json_t *tracing_json(const struct distortion *d)
{
	if (d->traced.commands <= 0)
		return json_null();
	const struct traced_costs *costs = d->tracing;
	const struct traced_calibration *c = &costs->calibration;
	json_t *object = json_object();
	json_put(object, "commands", json_rate(d->traced.commands));
	json_put(object, "source", costs->known ? json_text("calibration") : json_null());
	if (!costs->known)
		return object;
	json_put_rates(object, &d->traced, ns, low_ns, high_ns, spent_ns);
	json_put(object, "callbacks", traced_each_json(&c->callbacks));
	json_put(object, "record", traced_each_json(&c->record));
	json_put(object, "node", traced_each_json(&c->node));
	json_put(object, "device", traced_each_json(&c->device));
	json_put(object, "replay", traced_each_json(&c->replay));
	json_put(object, "replay_device", traced_each_json(&c->replay_device));
	json_put(object, "sample", traced_each_json(&c->sample));
	return object;
}

static json_t *distortion_json(const struct report *report)
{
	const struct distortion *distortion = &report->distortion;
	json_t *object = interval_json(distortion);
	SCOPED char *method = distortion_text(distortion);
	json_put(object, "method", json_text(method));
	json_put(object, "source", json_text(distortion->is_measured ? "measured" : "estimated"));
	json_put(object, "pairs", json_rate(distortion->pairs_share));
	json_put(object, "hooks", json_rate(distortion->hooks_share));
	json_put(object, "recorder", json_rate(distortion->consumer_share));
	json_put(object, "tracing", tracing_json(distortion));
	json_put(object, "prefill", phase_distortion_json(report, STEP_PREFILL));
	json_put(object, "decode", phase_distortion_json(report, STEP_DECODE));
	json_put(object, "other", phase_distortion_json(report, STEP_OTHER));
	return object;
}

static json_t *losses_json(const struct losses *losses)
{
	json_t *object = json_object();
	json_put_numbers(object, losses, dropped, open, unmatched, clamped, unsupported);
	json_put(object, "truncated", json_number(losses->truncated_bytes));
	json_put_numbers(object, losses, too_deep, table_full, refused, bad_packets, bad_records,
		lost_processes, unfinished_processes);
	json_put(object, "complete", json_boolean(losses_complete(losses)));
	return object;
}

static json_t *report_json_value(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	struct report_value value = report_value(field, report, row);
	json_t *text;
	switch (field->type) {
	case REPORT_TEXT:
		text = json_text(value.text);
		free(value.text);
		return text;
	case REPORT_SIZES:
		return json_sizes(value.sizes);
	case REPORT_RATE:
		return json_rate(value.ratio * 1e9);
	case REPORT_SHARE:
	case REPORT_RATIO:
		return json_rate(value.ratio);
	case REPORT_LAYER:
		return json_integer((json_int_t)value.number - 1);
	default:
		return json_number(value.number);
	}
}

/* "launch.p50_ns" is p50_ns of the object "launch". */
static void put_at(json_t *object, const char *key, json_t *value)
{
	const char *dot = strchr(key, '.');
	if (!dot) {
		json_put(object, key, value);
		return;
	}
	SCOPED char *outer = text_format("%.*s", (int)(dot - key), key);
	if (!json_object_get(object, outer))
		json_put(object, outer, json_object());
	json_put(json_object_get(object, outer), dot + 1, value);
}

/* The same numbers for rows of another kind. */
static struct report report_as(
	const struct report *report, struct summary *summary, enum summary_by by)
{
	struct report other = *report;
	*summary = *report->summary;
	summary->by = by;
	other.summary = summary;
	return other;
}

static json_t *report_json_row(const struct report *report, const struct summary_row *row)
{
	struct report_columns columns;
	json_t *object = json_object();
	report_columns_all(&columns, report->summary->by);
	for (size_t i = 0; i < columns.count; i++)
		put_at(object, columns.fields[i]->key,
			report_json_value(columns.fields[i], report, row));
	return object;
}

/* The fields that only rows by queue have. */
static void put_queue(json_t *object, const struct report *report, uint32_t number)
{
	struct summary summary;
	struct report by_queue = report_as(report, &summary, SUMMARY_BY_QUEUE);
	struct summary_row row = {.id = number, .kernel = RUN_NONE};
	for (size_t i = 0; i < report_field_count; i++)
		if (report_fields[i].rows >> SUMMARY_BY_QUEUE & 1)
			put_at(object, report_fields[i].key,
				report_json_value(&report_fields[i], &by_queue, &row));
}

/*
 * Causes of threads' waits. kernel is null for a queue as a whole; queue is null, too, for an
 * unknown cause.
 */
static json_t *waits_json(const struct report *report)
{
	const struct wait_causes *causes = &report->summary->wait_causes;
	json_t *array = json_array();
	for (size_t i = 0; i < causes->count; i++) {
		const struct wait_cause *cause = &causes->list[i];
		json_t *wait = json_object();
		json_put(wait, "kernel", json_text(cause->name));
		json_put(wait, "queue",
			cause->lane == RUN_NONE ? json_null()
						: json_text(report->run->lanes[cause->lane].name));
		json_put_numbers(wait, cause, count, time_ns);
		json_add(array, wait);
	}
	return array;
}

static json_t *report_json_collectives(const struct report *report)
{
	const struct collectives *all = &report->summary->collectives;
	json_t *array = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const struct collective *c = &all->list[i];
		json_t *object = json_object();
		json_put(object, "name", json_text(report->run->bricks[c->brick].name));
		json_put(object, "group", json_text(c->group));
		json_put(object, "ranks", c->ranks ? json_number(c->ranks) : json_null());
		json_put_numbers(object, c, count, time_ns, exposed_ns);
		json_put(object, "hidden_ns", json_number(c->time_ns - c->exposed_ns));
		json_put(object, "bytes", c->bytes ? json_number(c->bytes) : json_null());
		json_put_rates(object, c, bytes_per_s, bus_bytes_per_s);
		json_put(object, "waiter",
			c->waiter == RUN_NONE ? json_null()
					      : json_text(report->run->bricks[c->waiter].name));
		json_put_numbers(object, c, waiter_ns);
		json_add(array, object);
	}
	return array;
}

/* Waits that nobody asked for, in all of the run. */
static json_t *report_json_hidden_waits(const struct report *report)
{
	SCOPED_BY(hidden_waits_fini) struct hidden_waits waits;
	json_t *array = json_array();

	text_fail(hidden_waits_init(&waits, report->run, &report->summary->gpus.spans));
	for (size_t i = 0; i < waits.count; i++) {
		const struct hidden_wait *w = &waits.list[i];
		json_t *object = json_object();
		json_put_texts(object, w, asker, call, kernel);
		json_put_numbers(object, w, count, time_ns, commands);
		json_add(array, object);
	}
	return array;
}

/* null: the run has no queues. */
static json_t *device_json(const struct report *report)
{
	const struct summary *summary = report->summary;
	const struct queue_times *queues = &summary->queues;
	if (!queues->count)
		return json_null();
	json_t *object = json_object(), *array = json_array();
	for (size_t i = 0; i < queues->count; i++) {
		const struct run_lane *lane = &report->run->lanes[queues->queues[i].lane];
		SCOPED char *sources = report_sources(report, queues->queues[i].sources);
		json_t *queue = json_object();
		json_put_texts(queue, lane, name, backend);
		json_put(queue, "source", json_text(sources));
		put_queue(queue, report, (uint32_t)i);
		json_add(array, queue);
	}
	json_put(object, "total_ns", json_number(summary->device_ns));
	json_put(object, "covered_ns", json_number(summary->device_covered_ns));
	json_put(object, "coverage", json_rate(summary_device_coverage(summary)));
	json_put(object, "estimated", json_number(summary->device_estimated));
	json_put(object, "error_ns", json_number(summary->device_error_ns));
	json_put(object, "wait_ns", json_number(summary->device_wait_ns));
	json_put(object, "waits", waits_json(report));
	json_put(object, "queues", array);
	json_put(object, "gpus", gpus_to_json(&report->summary->gpus, report->run));
	json_put(object, "collectives", report_json_collectives(report));
	json_put(object, "hidden_waits", report_json_hidden_waits(report));
	return object;
}

json_t *report_rows_to_json(const struct report *report)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < report->shown; i++)
		json_add(rows, report_json_row(report, &report->summary->rows[i]));
	return rows;
}

/* Time in no row, as rows. */
static json_t *rests_json(const struct report *report)
{
	struct summary_row rests[REPORT_RESTS];
	size_t count = report_rests(report, rests);
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *row = json_object();
		for (size_t k = 0; k < report_field_count; k++)
			if (report_fields[k].flags & REPORT_OF_REST)
				put_at(row, report_fields[k].key,
					report_json_value(&report_fields[k], report, &rests[i]));
		json_add(rows, row);
	}
	return rows;
}

/* The rows of each phase, as with --phase. */
static json_t *apart_json(const struct report *report)
{
	json_t *object = json_object();
	for (int i = 0; i < STEP_PHASES; i++) {
		const struct report *phase = report->apart[step_phase_order[i]];
		if (!phase)
			continue;
		json_t *part = json_object();
		json_put(part, "coverage", report_json_coverage(phase));
		json_put(part, summary_by_plural(phase->summary->by), report_rows_to_json(phase));
		json_put(part, "rests", rests_json(phase));
		json_put(object, step_phase_name(step_phase_order[i]), part);
	}
	return object;
}

static json_t *counters_sum_json(const struct counters_sum *sum)
{
	json_t *object = json_object();

	json_put(object, "steps", json_number(sum->steps));
	json_put(object, "sum", json_rate(sum->sum));
	json_put(object, "mean", json_rate(sum->sum / (double)sum->steps));
	json_put(object, "min", json_rate(sum->least));
	json_put(object, "max", json_rate(sum->most));
	return object;
}

static json_t *phase_counters_json(const struct counters *c, enum step_phase phase)
{
	json_t *object = json_object();

	for (uint32_t kind = 0; kind < COUNTERS_KINDS; kind++)
		if (c->phases[phase][kind].steps)
			json_put(object, counters_kind_name(kind),
				counters_sum_json(&c->phases[phase][kind]));
	json_put(object, "instructions_per_cycle", json_rate(counters_ipc(c, phase)));
	return object;
}

static json_t *counters_json(const struct run *run)
{
	struct counters counters;

	report_counters(&counters, run);
	json_t *bricks = json_array();
	for (uint32_t b = 0; b < run->brick_count; b++) {
		struct counters_brick sum = counters_of_brick(run, b);
		if (!sum.counted)
			continue;
		json_t *object = json_object();
		json_put(object, "name", json_text(run->bricks[b].name));
		json_put_numbers(object, &sum, counted, cycles, cycles_min, cycles_max,
			instructions, cache_misses);
		json_put(object, "instructions_per_cycle",
			json_rate(sum.cycles && sum.instructions
					  ? (double)sum.instructions / (double)sum.cycles
					  : -1));
		json_add(bricks, object);
	}
	if (!counters_any(&counters) && !json_array_size(bricks)) {
		json_decref(bricks);
		return json_text(NULL);
	}
	json_t *object = json_object();
	json_put(object, "bricks", bricks);
	json_put(object, "prefill", phase_counters_json(&counters, STEP_PREFILL));
	json_put(object, "decode", phase_counters_json(&counters, STEP_DECODE));
	json_put(object, "other", phase_counters_json(&counters, STEP_OTHER));
	return object;
}

json_t *report_to_json(const struct report *report)
{
	const struct summary *summary = report->summary;
	struct summary of_categories;
	struct report by_category = report_as(report, &of_categories, SUMMARY_BY_CATEGORY);
	json_t *root = json_object(), *rows = report_rows_to_json(report),
	       *categories = json_array();
	for (size_t i = 0; i < summary->category_count; i++)
		json_add(categories, report_json_row(&by_category, &summary->categories[i]));
	json_put(root, "schema", json_text("brick/report/2"));
	json_put(root, "run", report_json_run(report->run));
	json_put(root, "steps", report_json_steps(report));
	json_put(root, "phase", json_text(step_phase_name(summary->only)));
	json_put(root, "selected", json_text(report->run->selected));
	json_put(root, "coverage", report_json_coverage(report));
	json_put(root, "device", device_json(report));
	json_put(root, "distortion", distortion_json(report));
	json_put(root, "presence", report_presence_json(report->run, &report->presence));
	json_put(root, "losses", losses_json(&report->losses));
	json_put(root, "counters", counters_json(report->run));
	if (report->is_apart)
		json_put(root, "by_phase", apart_json(report));
	if (report->budget)
		json_put(root, "budget", report_budget_to_json(report->budget));
	/* Rows by category are there already, and may be sorted. */
	if (summary->by != SUMMARY_BY_CATEGORY)
		json_put(root, summary_by_plural(summary->by), json_incref(rows));
	json_put(root, "ranks", report_json_ranks(report->run));
	json_put(root, "messages", report_json_messages(report->run));
	json_put(root, "remote", report_json_remote(report->run));
	json_put(root, "energy", energy_json(report->run, &summary->steps));
	json_put(root, "rests", rests_json(report));
	/* rows of places hold waits and time off the CPU, categories do not */
	of_categories.row_rests = summary->rests;
	json_put(root, "category_rests", rests_json(&by_category));
	json_put(root, "categories",
		json_incref(summary->by == SUMMARY_BY_CATEGORY ? rows : categories));
	json_decref(rows);
	json_decref(categories);
	return root;
}

static void print_value(const struct report_field *field, const struct report *report,
	const struct summary_row *row, FILE *out)
{
	struct report_value value = report_value(field, report, row);
	switch (field->type) {
	case REPORT_TEXT:
		csv_text(out, value.text);
		free(value.text);
		break;
	case REPORT_SIZES: {
		SCOPED char *text = report_value_text(field, report, row);
		csv_text(out, value.sizes ? text : NULL);
		break;
	}
	case REPORT_RATE:
		csv_ratio(out, value.ratio * 1e9);
		break;
	case REPORT_SHARE:
	case REPORT_RATIO:
		csv_ratio(out, value.ratio);
		break;
	case REPORT_LAYER:
		csv_integer(out, (int64_t)value.number - 1);
		break;
	default:
		csv_number(out, value.number);
		break;
	}
}

/* flags: only fields with these have a value. */
static void report_json_print_row(const struct report *report, const struct report_columns *columns,
	const struct summary_row *row, unsigned flags, FILE *out)
{
	for (size_t i = 0; i < columns->count; i++)
		if ((columns->fields[i]->flags & flags) == flags)
			print_value(columns->fields[i], report, row, out);
		else
			csv_text(out, NULL);
	csv_end(out);
}

static void report_json_print_rows(
	const struct report *report, const struct report_columns *columns, FILE *out)
{
	struct summary_row rests[REPORT_RESTS];

	for (size_t i = 0; i < report->shown; i++)
		report_json_print_row(report, columns, &report->summary->rows[i], 0, out);
	size_t rest_count =
		report->shown == report->summary->row_count ? report_rests(report, rests) : 0;
	for (size_t i = 0; i < rest_count; i++)
		report_json_print_row(report, columns, &rests[i], REPORT_OF_REST, out);
}

void report_csv(const struct report *report, FILE *out)
{
	struct report_columns columns;
	bool tells_phase = false;

	if (report->columns)
		columns = *report->columns;
	else
		report_columns_all(&columns, report->summary->by);
	for (size_t i = 0; i < columns.count; i++) {
		csv_text(out, columns.fields[i]->key);
		tells_phase |= !strcmp(columns.fields[i]->key, "phase");
	}
	csv_end(out);
	report_json_print_rows(report, &columns, out);
	for (int i = 0; i < STEP_PHASES && tells_phase; i++)
		if (report->apart[step_phase_order[i]])
			report_json_print_rows(report->apart[step_phase_order[i]], &columns, out);
}
