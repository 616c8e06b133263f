/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain dump of a run, written as it goes: recordings have millions of samples, which must not
 * become a tree in memory first. Called by `brick export --format json`.
 */
#include <stdlib.h>

#include "cli/export.h"
#include "view/json.h"
#include "view/provenance.h"
#include "analysis/step_times.h"
#include "trace/text.h"

static void text(FILE *out, const char *s)
{
	json_t *value = json_text(s);
	json_dumpf(value, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	json_decref(value);
}

static unsigned long long ull(uint64_t value)
{
	return (unsigned long long)value;
}

static void separate(FILE *out, size_t i)
{
	fputs(i ? ",\n" : "\n", out);
}

static void write_run(const struct run *run, FILE *out)
{
	char *start = provenance_start(run);
	json_t *command = json_command(run->command);
	fputs("\"command\": ", out);
	json_dumpf(command, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	json_decref(command);
	fputs(",\n\"host\": ", out);
	text(out, run->host);
	fputs(",\n\"cpu\": ", out);
	text(out, run->cpu);
	fputs(",\n\"start\": ", out);
	text(out, start);
	fprintf(out, ",\n\"start_ns\": %llu,\n\"end_ns\": %llu,\n\"complete\": %s",
		ull(run->start_ns), ull(run->end_ns), run->complete ? "true" : "false");
	free(start);
}

static void write_bricks(const struct run *run, FILE *out)
{
	fputs(",\n\"bricks\": [", out);
	for (size_t i = 0; i < run->brick_count; i++) {
		separate(out, i);
		fputs("{\"name\": ", out);
		text(out, run->bricks[i].name);
		fputs(", \"category\": ", out);
		text(out, run->categories[run->bricks[i].category].name);
		fputc('}', out);
	}
	fputs("]", out);
}

static void write_work(const struct run_site *site, FILE *out)
{
	const struct {
		const char *key;
		uint32_t flag;
		uint64_t value;
	} work[] = {
		{"elements", BRICK_SITE_HAS_ELEMENTS, site->elements},
		{"bytes", BRICK_SITE_HAS_BYTES, site->bytes},
		{"flops", BRICK_SITE_HAS_FLOPS, site->flops},
	};
	for (size_t i = 0; i < 3; i++) {
		if (site->flags & work[i].flag)
			fprintf(out, ", \"%s\": %llu", work[i].key, ull(work[i].value));
		else
			fprintf(out, ", \"%s\": null", work[i].key);
	}
}

static void write_sites(const struct run *run, FILE *out)
{
	fputs(",\n\"sites\": [", out);
	for (size_t i = 0; i < run->site_count; i++) {
		const struct run_site *site = &run->sites[i];
		separate(out, i);
		fprintf(out, "{\"brick\": %u, \"layer\": %d, \"operation\": ", site->brick,
			site->layer);
		text(out, site->operation);
		fputs(", \"label\": ", out);
		text(out, site->label);
		write_work(site, out);
		fputc('}', out);
	}
	fputs("]", out);
}

static void write_processes(const struct run *run, FILE *out)
{
	fputs(",\n\"processes\": [", out);
	for (size_t i = 0; i < run->process_count; i++) {
		const struct run_process *process = &run->processes[i];
		separate(out, i);
		fprintf(out,
			"{\"pid\": %u, \"parent\": %u, \"rank\": %d, \"world\": %d, "
			"\"executable\": ",
			process->pid, process->parent, process->rank, process->world);
		text(out, process->executable);
		fputs(", \"host\": ", out);
		text(out, process->host);
		fputc('}', out);
	}
	fputs("]", out);
}

static void write_samples(const struct run_lane *lane, FILE *out)
{
	fputs(", \"samples\": [", out);
	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		separate(out, i);
		fprintf(out, "[%llu,%llu,%u,%u,%u,%u,%u,%u]", ull(s->begin_ns), ull(s->end_ns),
			s->site, s->wait_ns, s->inner_ns, s->depth, s->source, s->flags);
		run_lane_passed(lane, i);
	}
	fputs("]", out);
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
			ull(lane->tid));
		text(out, lane->name);
		fputs(", \"backend\": ", out);
		text(out, lane->backend);
		write_samples(lane, out);
		fputc('}', out);
	}
	fputs("]", out);
}

static void write_steps(const struct run *run, FILE *out)
{
	fputs(",\n\"steps\": [", out);
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		separate(out, i);
		fprintf(out,
			"{\"phase\": \"%s\", \"tokens\": %llu, \"lane\": %u, \"sample\": %u, "
			"\"begin_ns\": %llu, \"end_ns\": %llu}",
			step_phase_name((int)step->phase), ull(step->tokens), step->lane,
			step->sample, ull(step->begin_ns), ull(step->end_ns));
	}
	fputs("]", out);
}

static void write_notes(const struct run *run, FILE *out)
{
	fputs(",\n\"notes\": [", out);
	for (size_t i = 0; i < run->note_count; i++) {
		separate(out, i);
		fprintf(out, "{\"process\": %u, \"key\": ", run->notes[i].process);
		text(out, run->notes[i].key);
		fputs(", \"value\": ", out);
		text(out, run->notes[i].value);
		fputc('}', out);
	}
	fputs("]", out);
}

static void write_triple(const char *key, const uint32_t *triple, FILE *out)
{
	if (triple[0])
		fprintf(out, ", \"%s\": [%u,%u,%u]", key, triple[0], triple[1], triple[2]);
	else
		fprintf(out, ", \"%s\": null", key);
}

static void write_kernels(const struct run *run, FILE *out)
{
	fputs(",\n\"kernels\": [", out);
	for (size_t i = 0; i < run->kernel_count; i++) {
		const struct run_kernel *kernel = &run->kernels[i];
		separate(out, i);
		fputs("{\"name\": ", out);
		text(out, kernel->name);
		fputs(", \"backend\": ", out);
		text(out, kernel->backend);
		fprintf(out, ", \"kind\": \"%s\"", text_kernel_kind(kernel->kind));
		write_triple("grid", kernel->grid, out);
		write_triple("block", kernel->block, out);
		fprintf(out, ", \"shared_bytes\": %llu, \"registers\": %u, \"code\": \"%016llx\"}",
			ull(kernel->shared_bytes), kernel->registers, ull(kernel->code));
	}
	fputs("]", out);
}

static void write_dependencies(const struct run *run, const struct run_command *command, FILE *out)
{
	fputc('[', out);
	for (uint32_t i = 0; i < command->dependency_count; i++)
		fprintf(out, "%s%u", i ? "," : "",
			run->dependencies[command->dependency_first + i]);
	fputc(']', out);
}

/* -1: not known. */
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
			ull(c->launch_ns), ull(c->launch_end_ns), ull(c->queued_ns),
			ull(c->submitted_ns));
		write_dependencies(run, c, out);
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

static void write_codes(const struct run *run, FILE *out)
{
	fputs(",\n\"code\": [", out);
	for (size_t i = 0; i < run->code_count; i++) {
		separate(out, i);
		fprintf(out, "{\"hash\": \"%016llx\", \"name\": ", ull(run->codes[i].hash));
		text(out, run->codes[i].name);
		fputs(", \"path\": ", out);
		text(out, run->codes[i].path);
		fputs(", \"source\": ", out);
		text(out, run->codes[i].source);
		fputc('}', out);
	}
	fputs("]", out);
}

int export_json(const struct run *run, FILE *out)
{
	fputs("{\"schema\": \"brick/export/1\",\n", out);
	write_run(run, out);
	write_processes(run, out);
	write_bricks(run, out);
	write_sites(run, out);
	write_steps(run, out);
	write_notes(run, out);
	write_lanes(run, out);
	write_kernels(run, out);
	write_commands(run, out);
	write_codes(run, out);
	fputs("}\n", out);
	return 0;
}
