/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick export`: a recording in formats of other tools, and all of it as one JSON object (schema
 * brick/export/1), whose lanes have arrays of numbers in the order of "sample_fields".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/steps/step_times.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/selection_options.h"
#include "trace/exports.h"
#include "trace/run.h"
#include "ui/text/flame.h"
#include "ui/text/json_out.h"
#include "ui/text/otlp.h"
#include "ui/text/provenance.h"

static void cmd_export_text(FILE *out, const char *s)
{
	json_auto_t *value = json_text(s);
	json_dumpf(value, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
}

static unsigned long long cmd_export_ull(uint64_t value)
{
	return (unsigned long long)value;
}

static void separate(FILE *out, size_t i)
{
	fputs(i ? ",\n" : "\n", out);
}

/* A table whose rows are objects. */
static void write_rows(const struct run *run, FILE *out, const char *key, size_t count,
	json_t *(*row_of)(const struct run *run, size_t i))
{
	fprintf(out, ",\n\"%s\": [", key);
	for (size_t i = 0; i < count; i++) {
		json_auto_t *row = row_of(run, i);
		separate(out, i);
		json_dumpf(row, out, JSON_ENSURE_ASCII);
	}
	fputs("]", out);
}

static void cmd_export_write_run(const struct run *run, FILE *out)
{
	SCOPED char *start = provenance_start(run);
	json_t *command = json_command(run->command);
	fputs("\"command\": ", out);
	json_dumpf(command, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	json_decref(command);
	fputs(",\n\"host\": ", out);
	cmd_export_text(out, run->host);
	fputs(",\n\"cpu\": ", out);
	cmd_export_text(out, run->cpu);
	fputs(",\n\"start\": ", out);
	cmd_export_text(out, start);
	fprintf(out, ",\n\"start_ns\": %llu,\n\"end_ns\": %llu,\n\"complete\": %s",
		cmd_export_ull(run->start_ns), cmd_export_ull(run->end_ns),
		run->complete ? "true" : "false");
}

static json_t *cmd_export_brick_of(const struct run *run, size_t i)
{
	return json_pack("{so so}", "name", json_text(run->bricks[i].name), "category",
		json_text(run->categories[run->bricks[i].category].name));
}

static json_t *cmd_export_work_of(const struct run_site *site, uint32_t flag, uint64_t value)
{
	return site->flags & flag ? json_number(value) : json_null();
}

static json_t *cmd_export_site_of(const struct run *run, size_t i)
{
	const struct run_site *site = &run->sites[i];
	return json_pack("{si si so so so so so}", "brick", (int)site->brick, "layer",
		(int)site->layer, "operation", json_text(site->operation), "label",
		json_text(site->label), "elements",
		cmd_export_work_of(site, BRICK_SITE_HAS_ELEMENTS, site->elements), "bytes",
		cmd_export_work_of(site, BRICK_SITE_HAS_BYTES, site->bytes), "flops",
		cmd_export_work_of(site, BRICK_SITE_HAS_FLOPS, site->flops));
}

static json_t *process_of(const struct run *run, size_t i)
{
	const struct run_process *process = &run->processes[i];
	return json_pack("{so so si si so so}", "pid", json_number(process->pid), "parent",
		json_number(process->parent), "rank", (int)process->rank, "world",
		(int)process->world, "executable", json_text(process->executable), "host",
		json_text(process->host));
}

static void write_lanes(const struct run *run, FILE *out)
{
	fputs(",\n\"sample_fields\": [\"begin_ns\", \"end_ns\", \"site\", \"wait_ns\", "
	      "\"inner_ns\", \"depth\", \"source\", \"flags\"],\n\"lanes\": [",
		out);
	for (size_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		separate(out, i);
		fprintf(out, "{\"process\": %u, \"kind\": \"%s\", \"tid\": %llu, \"name\": ",
			lane->process, lane->kind == BRICK_LANE_QUEUE ? "queue" : "thread",
			cmd_export_ull(lane->tid));
		cmd_export_text(out, lane->name);
		fputs(", \"backend\": ", out);
		cmd_export_text(out, lane->backend);
		fputs(", \"samples\": [", out);
		for (size_t k = 0; k < lane->sample_count; k++) {
			const struct run_sample *s = &lane->samples[k];
			separate(out, k);
			fprintf(out, "[%llu,%llu,%u,%u,%u,%u,%u,%u]", cmd_export_ull(s->begin_ns),
				cmd_export_ull(s->end_ns), s->site, s->wait_ns, s->inner_ns,
				s->depth, s->source, s->flags);
			run_lane_passed(lane, k);
		}
		fputs("]", out);
		fputc('}', out);
	}
	fputs("]", out);
}

/* Writes steps; those that --steps counts have numbers. -ENOMEM. */
static int cmd_export_write_steps(const struct run *run, FILE *out)
{
	SCOPED_BY(step_index_fini) struct step_index index = {0};
	SCOPED uint32_t *numbers = NULL;

	if (step_index_init(&index, run) < 0 || !(numbers = step_number_list(run, &index)))
		return -ENOMEM;
	fputs(",\n\"steps\": [", out);
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint32_t number = index.finished[i] ? numbers[i] : 0;

		json_auto_t *row = json_pack("{so ss so so so so so}", "number",
			number ? json_number(number) : json_null(), "phase",
			step_phase_name((int)step->phase), "tokens", json_number(step->tokens),
			"lane", json_number(step->lane), "sample", json_number(step->sample),
			"begin_ns", json_number(step->begin_ns), "end_ns",
			json_number(step->end_ns));
		separate(out, i);
		json_dumpf(row, out, JSON_ENSURE_ASCII);
	}
	fputs("]", out);
	return 0;
}

static json_t *cmd_export_note_of(const struct run *run, size_t i)
{
	const struct run_note *note = &run->notes[i];
	return json_pack("{so so so}", "process", json_number(note->process), "key",
		json_text(note->key), "value", json_text(note->value));
}

static json_t *cmd_export_hash_of(uint64_t hash)
{
	return json_sprintf("%016llx", cmd_export_ull(hash));
}

static json_t *cmd_export_kernel_of(const struct run *run, size_t i)
{
	const struct run_kernel *kernel = &run->kernels[i];
	return json_pack("{so so ss so so so so so}", "name", json_text(kernel->name), "backend",
		json_text(kernel->backend), "kind", text_kernel_kind(kernel->kind), "grid",
		json_sizes(kernel->grid), "block", json_sizes(kernel->block), "shared_bytes",
		json_number(kernel->shared_bytes), "registers", json_number(kernel->registers),
		"code", cmd_export_hash_of(kernel->code));
}

static json_t *cmd_export_code_of(const struct run *run, size_t i)
{
	const struct run_code *code = &run->codes[i];
	return json_pack("{so so so so}", "hash", cmd_export_hash_of(code->hash), "name",
		json_text(code->name), "path", json_text(code->path), "source",
		json_text(code->source));
}

/* Returns -1 for RUN_NONE. */
static long long or_minus(uint32_t index)
{
	return index == RUN_NONE ? -1 : (long long)index;
}

static void write_commands(const struct run *run, FILE *out)
{
	fputs(",\n\"command_fields\": [\"lane\", \"sample\", \"kernel\", \"launch_lane\", "
	      "\"launch_sample\", \"launch_ns\", \"launch_end_ns\", \"queued_ns\", "
	      "\"submitted_ns\", \"after\"],\n\"commands\": [",
		out);
	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		separate(out, i);
		fprintf(out, "[%u,%u,%u,%lld,%lld,%llu,%llu,%llu,%llu,", c->lane, c->sample,
			c->kernel, or_minus(c->launch_lane), or_minus(c->launch_sample),
			cmd_export_ull(c->launch_ns), cmd_export_ull(c->launch_end_ns),
			cmd_export_ull(c->queued_ns), cmd_export_ull(c->submitted_ns));
		fputc('[', out);
		for (uint32_t k = 0; k < c->dependency_count; k++)
			fprintf(out, "%s%u", k ? "," : "",
				run->dependencies[c->dependency_first + k]);
		fputc(']', out);
		fputc(']', out);
	}
	fputs("],\n\"wait_fields\": [\"lane\", \"sample\", \"command\"],\n\"waits\": [", out);
	for (size_t i = 0; i < run->wait_count; i++) {
		separate(out, i);
		fprintf(out, "[%u,%u,%u]", run->waits[i].lane, run->waits[i].sample,
			run->waits[i].command);
	}
	fputs("]", out);
}

static void write_messages(const struct run *run, FILE *out)
{
	static const char *const events[] = {[BRICK_MESSAGE_SENT] = "sent",
		[BRICK_MESSAGE_RECEIVED] = "received",
		[BRICK_MESSAGE_COLLECTIVE] = "collective"};

	fputs(",\n\"message_fields\": [\"event\", \"lane\", \"sample\", \"peer\", \"tag\", "
	      "\"communicator\", \"number\", \"bytes\"],\n\"messages\": [",
		out);
	for (size_t i = 0; i < run->message_count; i++) {
		const struct run_message *m = &run->messages[i];
		separate(out, i);
		fprintf(out, "[\"%s\",%u,%lld,%d,%d,%u,%u,%llu]",
			m->event < sizeof(events) / sizeof(*events) && events[m->event]
				? events[m->event]
				: "",
			m->lane, or_minus(m->sample), m->peer, m->tag, m->communicator, m->number,
			cmd_export_ull(m->bytes));
	}
	fputs("]", out);
}

/*
 * All of a run as one JSON object, schema brick/export/1: tables of bricks and sites, and lanes
 * whose samples are arrays of numbers in the order of "sample_fields". -ENOMEM; write errors stay
 * in out.
 */
static int export_json(const struct run *run, FILE *out)
{
	fputs("{\"schema\": \"brick/export/1\",\n", out);
	cmd_export_write_run(run, out);
	write_rows(run, out, "processes", run->process_count, process_of);
	write_rows(run, out, "bricks", run->brick_count, cmd_export_brick_of);
	write_rows(run, out, "sites", run->site_count, cmd_export_site_of);
	if (cmd_export_write_steps(run, out) < 0)
		return -ENOMEM;
	write_rows(run, out, "notes", run->note_count, cmd_export_note_of);
	write_lanes(run, out);
	write_rows(run, out, "kernels", run->kernel_count, cmd_export_kernel_of);
	write_commands(run, out);
	write_messages(run, out);
	write_rows(run, out, "code", run->code_count, cmd_export_code_of);
	fputs("}\n", out);
	return 0;
}

static int cmd_export_write_line(void *context, const json_t *request, uint32_t spans)
{
	FILE *out = context;

	(void)spans;
	json_dumpf(request, out, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', out); /* write errors stay in out */
	return 0;
}

/* Each line is the body of one POST to /v1/traces. */
static int export_otlp(const struct run *run, FILE *out)
{
	struct step_index index;
	struct requests *requests = NULL;
	SCOPED_BY(otlp_fini) struct otlp otlp = {0};
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	rc = requests_create(&requests, run);
	if (rc == 0)
		rc = otlp_init(&otlp, run, requests, &index);
	if (rc == 0)
		rc = otlp_spans(&otlp, NULL, cmd_export_write_line, out);
	requests_destroy(requests);
	step_index_fini(&index);
	return rc;
}

struct format {
	const char *name;
	int (*write)(const struct run *run, FILE *out);
};

/* Writes the nesting of bricks, as `brick flame` does. */
static int export_stacks(
	const struct run *run, FILE *out, int (*write)(const struct call_tree *stacks, FILE *out))
{
	struct step_index index;
	struct call_tree *stacks = NULL;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	rc = stacks_create(&stacks, run, &index, false);
	step_index_fini(&index);
	if (rc == 0)
		rc = write(stacks, out);
	call_tree_destroy(stacks);
	return rc;
}

#define STACKS(form)                                               \
	static int export_##form(const struct run *run, FILE *out) \
	{                                                          \
		return export_stacks(run, out, flame_##form);      \
	}

STACKS(pprof)
STACKS(folded)
STACKS(speedscope)
STACKS(svg)

static const struct format cmd_export_formats[] = {
	{"chrome", trace_chrome_write},
	{"csv", trace_csv_write},
	{"json", export_json},
	{"pprof", export_pprof},
	{"folded", export_folded},
	{"speedscope", export_speedscope},
	{"svg", export_svg},
	{"otlp", export_otlp},
};

enum { FORMATS = sizeof(cmd_export_formats) / sizeof(cmd_export_formats[0]) };

struct options {
	struct selection selection;
	const struct format *format;
	const char *output;
};

static void cmd_export_words_format(struct option_words *words)
{
	for (size_t i = 0; i < FORMATS; i++)
		words_add(words, cmd_export_formats[i].name);
}

static void set_format(const struct option_use *use, const char *text)
{
	*(const struct format **)use->to = &cmd_export_formats[option_choice(use, text)];
}

static const struct cli_option cmd_export_option_table[] = {
	{"format", "FORMAT",
		"chrome: trace events for chrome://tracing, Perfetto and Speedscope; csv: one line "
		"per sample; json: all that was recorded, for scripts (schema brick/export/1); "
		"and what ran in what, as brick flame draws it: pprof, for 'pprof -http'; folded, "
		"for flamegraph.pl; speedscope; svg: a picture; otlp: requests as spans, a line "
		"for "
		"each POST to /v1/traces",
		set_format, AT(format), .words = cmd_export_words_format},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"output", "OUT", "write to this file (default: standard output)", option_text, AT(output),
		.letter = 'o'},
	OPTION_HELP,
};

static uint64_t passed_before;

static uint64_t cmd_export_written(void)
{
	return run_samples_passed() - passed_before;
}

/*
 * Each form goes through all samples once. Progress does not show in the middle of a terminal's
 * output.
 */
static struct progress *cmd_export_start_progress(
	const struct run *run, const struct options *options)
{
	uint64_t total = 0;
	for (size_t i = 0; i < run->lane_count; i++)
		total += run->lanes[i].sample_count;
	passed_before = run_samples_passed();
	return options->output || !isatty(1) ? progress_start("export", cmd_export_written, total)
					     : NULL;
}

/* Requests are whole or not there, and a span has a time of day. */
static void check_requests(const struct run *run)
{
	if (run->selected)
		die_usage("export", "--format otlp: has whole requests; no part of a recording "
				    "can be chosen");
	if (!run->start_unix_ns)
		die(CLI_INPUT, "%s: does not say at what time of day it began", run->path);
	if (!run->sequence_event_count)
		die(CLI_INPUT, "%s: does not say whose tokens its steps evaluate", run->path);
}

static int run_export(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	options_parse(&command_export, &options, argc, argv);
	if (!options.format)
		die_usage("export", "--format: must be chrome, csv, json, pprof, folded, "
				    "speedscope, svg or otlp");
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	if (options.format->write == export_otlp)
		check_requests(run);
	if (selection_drop(run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to choose a part of it", run->path);
	struct output *output = output_open(options.output, run->path);
	struct progress *progress = cmd_export_start_progress(run, &options);
	int rc = options.format->write(run, output_stream(output));
	progress_end(progress);
	output_commit(output, rc);
	return CLI_DONE;
}

const struct cli_command command_export = {
	.name = "export",
	.summary = "convert a recording for other tools",
	.run = run_export,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "--format FORMAT [OPTIONS] [FILE]",
	.about = "Convert a recording.",
	.notes = "The recording itself is a Perfetto trace: https://ui.perfetto.dev opens it as it "
		 "is.",
	.options = cmd_export_option_table,
};
