/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as comma-separated values. */
#include "trace/trace_csv.h"

#include <errno.h>
#include "trace/owners.h"
#include "trace/trace_text.h"
#include "base/escape.h"

static const char header[] =
	"pid,tid,thread,depth,brick,category,layer,operation,label,begin_ns,duration_ns,wait_ns,"
	"inner_ns,elements,bytes,flops,source,flags,kernel,launch_ns,queued_ns,submitted_ns\n";

static void write_number(FILE *out, uint64_t value)
{
	text_unsigned(out, value);
	fputc(',', out);
}

static void write_count(FILE *out, uint64_t value, uint32_t known)
{
	if (known)
		text_unsigned(out, value);
	fputc(',', out);
}

static void write_signed(FILE *out, int64_t value)
{
	if (value < 0)
		fputc('-', out);
	write_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void write_name(FILE *out, const char *text)
{
	escape_csv(out, text);
	fputc(',', out);
}

/* Flags with blanks between. */
static void write_flags(FILE *out, uint8_t flags)
{
	static const struct {
		uint8_t flag;
		const char *name;
	} names[] = {
		{RUN_SAMPLE_OPEN, "open"},
		{RUN_SAMPLE_UNWOUND, "unwound"},
		{RUN_SAMPLE_CLAMPED, "clamped"},
	};
	int first = 1;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (flags & names[i].flag) {
			fprintf(out, "%s%s", first ? "" : " ", names[i].name);
			first = 0;
		}
}

/* Times of a command as those of samples are; nothing for what is none. */
static void write_moment(FILE *out, const struct run *run, uint64_t ns)
{
	fputc(',', out);
	if (ns && ns < run->start_ns)
		fputc('-', out);
	if (ns)
		text_unsigned(out, ns < run->start_ns ? run->start_ns - ns : ns - run->start_ns);
}

static void write_command(FILE *out, const struct run *run, const struct run_command *command)
{
	fputc(',', out);
	escape_csv(out, command ? run->kernels[command->kernel].name : NULL);
	write_moment(out, run, command ? command->launch_ns : 0);
	write_moment(out, run, command ? command->queued_ns : 0);
	write_moment(out, run, command ? command->submitted_ns : 0);
}

static void write_sample(FILE *out, const struct run *run, const struct run_lane *lane,
	const struct owner *owner, const struct run_sample *s, const struct run_command *command)
{
	const struct run_site *site = &run->sites[s->site];
	const struct run_brick *brick = &run->bricks[site->brick];

	write_number(out, run->processes[lane->process].pid);
	write_number(out, owner->tid);
	write_name(out, owner->name);
	write_number(out, s->depth);
	write_name(out, brick->name);
	write_name(out, run->categories[brick->category].name);
	write_signed(out, site->layer);
	write_name(out, site->operation);
	write_name(out, site->label);
	write_signed(out, (int64_t)(s->begin_ns - run->start_ns));
	write_number(out, s->end_ns - s->begin_ns);
	write_number(out, s->wait_ns);
	write_number(out, s->inner_ns);
	write_count(out, site->elements, site->flags & BRICK_SITE_HAS_ELEMENTS);
	write_count(out, site->bytes, site->flags & BRICK_SITE_HAS_BYTES);
	write_count(out, site->flops, site->flags & BRICK_SITE_HAS_FLOPS);
	write_name(out, text_source(s->source));
	write_flags(out, s->flags);
	write_command(out, run, command);
	fputc('\n', out);
}

static void write_lane(FILE *out, const struct run *run, uint32_t number,
	const struct owners *owners, size_t *next)
{
	const struct run_lane *lane = &run->lanes[number];

	for (size_t k = 0; k < lane->sample_count; k++) {
		const struct run_sample *s = &lane->samples[k];
		const struct run_command *command =
			*next < run->command_count ? &run->commands[*next] : NULL;
		if (command && (command->lane != number || command->sample != k))
			command = NULL;
		size_t owner = owners_place(owners, number, s->begin_ns);
		write_sample(out, run, lane, &owners->all[owner], s, command);
		run_lane_passed(lane, k);
		*next += command != NULL;
	}
}

int trace_csv_write(const struct run *run, FILE *out)
{
	struct owners owners;
	int error = owners_init(&owners, run);
	size_t next = 0; /* command, in the order of samples */

	errno = 0;
	if (!error)
		fputs(header, out);
	for (uint32_t i = 0; !error && i < run->lane_count; i++)
		write_lane(out, run, i, &owners, &next);
	owners_fini(&owners);
	if (!error && (fflush(out) || ferror(out)))
		error = errno ? -errno : -EIO;
	return error;
}
