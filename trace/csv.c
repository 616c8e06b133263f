/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as comma-separated values. Called by `brick export`. */
#include "trace/csv.h"

#include <errno.h>
#include "trace/text.h"
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

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
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
	const struct run_sample *s, const struct run_command *command)
{
	const struct run_site *site = &run->sites[s->site];
	const struct run_brick *brick = &run->bricks[site->brick];

	write_number(out, run->processes[lane->process].pid);
	write_number(out, lane->tid);
	write_name(out, lane->name);
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

int trace_csv_write(const struct run *run, FILE *out)
{
	errno = 0;
	fputs(header, out);
	size_t next = 0; /* command, in the order of samples */
	for (size_t i = 0; i < run->lane_count; i++)
		for (size_t k = 0; k < run->lanes[i].sample_count; k++) {
			const struct run_command *command =
				next < run->command_count ? &run->commands[next] : NULL;
			if (command && (command->lane != i || command->sample != k))
				command = NULL;
			write_sample(out, run, &run->lanes[i], &run->lanes[i].samples[k], command);
			run_lane_passed(&run->lanes[i], k);
			next += command != NULL;
		}
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
