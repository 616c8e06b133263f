/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run for other programs: as Chrome trace events, and its samples as comma-separated
 * values.
 */
#include "trace/exports.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape.h"
#include "base/path_name.h"
#include "base/utf8.h"
#include "format/format.h"
#include "trace/owners.h"

/* Text: strings come from recordings, which anybody may have made. */

static size_t json_character(FILE *out, const char *s, size_t left)
{
	struct escaped piece;
	uint32_t code;
	size_t n = utf8_decode(s, left, &code);

	if (n && code > 0x7e && !utf8_is_unsafe(code)) { /* as it is: files are shorter */
		fwrite(s, 1, n, out);
		return n;
	}
	n = escape_json_character(&piece, s, left);
	fwrite(piece.text, 1, piece.bytes, out);
	return n;
}

/*
 * Writes a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD; characters that act
 * on terminals (utf8.h) are escaped. NULL is "".
 */
static void text_json(FILE *out, const char *text)
{
	size_t left = text ? strlen(text) : 0;

	fputc('"', out);
	while (left) {
		size_t n = json_character(out, text, left);
		text += n;
		left -= n;
	}
	fputc('"', out);
}

/* Decimal digits; much faster than printf. */
static void text_unsigned(FILE *out, uint64_t value)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	fwrite(digits + n, 1, sizeof(digits) - n, out);
}

static const char *text_source(uint32_t source)
{
	static const char *const names[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	return names[source < FORMAT_SOURCE_COUNT ? source : 0];
}

const char *text_kernel_kind(uint32_t kind)
{
	static const char *const names[FORMAT_KERNEL_KIND_COUNT] = FORMAT_KERNEL_KINDS;

	return names[kind < FORMAT_KERNEL_KIND_COUNT ? kind : BRICK_KERNEL_OTHER];
}

/*
 * Chrome trace events: queues are threads of their own, commands are named after their kernels. A
 * site's part of an event is made once and copied for each of its samples, because a recording has
 * millions of those. Arrows lead from launches to commands, from commands to those that had to come
 * after them, and to who waited for them. Viewers let an arrow lead to where a slice begins; a wait
 * mostly begins before what it waits for, so its arrow leads to an instant at its end.
 */
enum { FIRST_FREE_TID = 1 << 23 }; /* above all thread ids of Linux */

struct site_text {
	char *head; /* {"ph":"X","name":...,"cat":... */
	char *args; /* without braces; may be empty */
};

struct chrome {
	const struct run *run;
	FILE *out;
	struct site_text *sites;
	struct owners owners;
	size_t command;	       /* the next one, in the order of samples */
	const char *separator; /* before the next event */
};

/* The start of an event that a brick names. */
static void brick_head(FILE *out, const struct run *run, const char *kind, uint32_t brick)
{
	fprintf(out, "{\"ph\":\"%s\",\"name\":", kind);
	text_json(out, run->bricks[brick].name);
	fputs(",\"cat\":", out);
	text_json(out, run->categories[run->bricks[brick].category].name);
}

static int make_site(const struct run *run, uint32_t index, struct site_text *text)
{
	size_t size;
	FILE *head = open_memstream(&text->head, &size);

	if (!head)
		return -errno;
	brick_head(head, run, "X", run->sites[index].brick);
	if (fclose(head))
		return -ENOMEM;
	FILE *args = open_memstream(&text->args, &size);
	if (!args)
		return -errno;
	const struct run_site *site = &run->sites[index];
	fprintf(args, "\"layer\":%d", site->layer);
	if (site->operation) {
		fputs(",\"op\":", args);
		text_json(args, site->operation);
	}
	if (site->label) {
		fputs(",\"tensor\":", args);
		text_json(args, site->label);
	}
	if (site->flags & BRICK_SITE_HAS_ELEMENTS)
		fprintf(args, ",\"elements\":%llu", (unsigned long long)site->elements);
	if (site->flags & BRICK_SITE_HAS_BYTES)
		fprintf(args, ",\"bytes\":%llu", (unsigned long long)site->bytes);
	if (site->flags & BRICK_SITE_HAS_FLOPS)
		fprintf(args, ",\"flops\":%llu", (unsigned long long)site->flops);
	return fclose(args) ? -ENOMEM : 0;
}

static int exports_pid_of(const struct run *run, uint32_t lane)
{
	return (int)run->processes[run->lanes[lane].process].pid;
}

/*
 * The track of a lane's event: each owner has a track of its own, as in Perfetto's trace. Queues,
 * and lanes whose pid and tid another has, get numbers that no thread has.
 */
static struct owner *exports_first_of(const struct chrome *c, uint32_t lane)
{
	return &c->owners.all[c->owners.lanes[lane]];
}

/* Viewers tell tracks apart by pid and tid; queues and lanes of a reused pid may clash. */
static bool tid_taken(const struct chrome *c, uint32_t lane)
{
	for (uint32_t i = 0; i < lane; i++)
		if (exports_pid_of(c->run, i) == exports_pid_of(c->run, lane) &&
			exports_first_of(c, i)->tid == exports_first_of(c, lane)->tid)
			return true;
	return false;
}

static int prepare_owners(struct chrome *c)
{
	int error = owners_init(&c->owners, c->run);

	for (uint32_t i = 0; !error && i < c->run->lane_count; i++)
		if (c->run->lanes[i].kind == BRICK_LANE_QUEUE || tid_taken(c, i))
			exports_first_of(c, i)->tid = FIRST_FREE_TID + (uint64_t)i;
	return error;
}

static int exports_prepare(struct chrome *c)
{
	const struct run *run = c->run;
	int error = 0;

	c->sites = calloc(run->site_count + 1, sizeof(*c->sites));
	if (!c->sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->site_count && !error; i++)
		error = make_site(run, i, &c->sites[i]);
	return error ? error : prepare_owners(c);
}

static void write_us(FILE *out, uint64_t ns)
{
	char fraction[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
		(char)('0' + ns % 10)};

	text_unsigned(out, ns / 1000);
	fwrite(fraction, 1, sizeof(fraction), out);
}

static void write_time(const struct chrome *c, uint64_t ns)
{
	if (ns < c->run->start_ns) {
		fputc('-', c->out);
		write_us(c->out, c->run->start_ns - ns);
	} else {
		write_us(c->out, ns - c->run->start_ns);
	}
}

static void next_event(struct chrome *c)
{
	fputs(c->separator, c->out);
	c->separator = ",\n";
}

static void exports_write_place(const struct chrome *c, uint32_t lane, uint64_t ns)
{
	fputs(",\"pid\":", c->out);
	text_unsigned(c->out, (uint64_t)exports_pid_of(c->run, lane));
	fputs(",\"tid\":", c->out);
	text_unsigned(c->out, owners_at(&c->owners, lane, ns));
}

static void exports_write_name(
	struct chrome *c, const char *what, int pid, uint64_t tid, const char *name)
{
	next_event(c);
	fprintf(c->out,
		"{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%llu,\"args\":{\"name\":", what,
		pid, (unsigned long long)tid);
	text_json(c->out, name);
	fputs("}}", c->out);
}

static void write_names(struct chrome *c)
{
	const struct run *run = c->run;

	for (size_t i = 0; i < run->process_count; i++) {
		exports_write_name(c, "process_name", (int)run->processes[i].pid, 0,
			path_name(run->processes[i].executable));
	}
	for (uint32_t i = 0; i < run->lane_count; i++)
		for (size_t k = owners_first(&c->owners, run, i); k < c->owners.lanes[i + 1]; k++)
			if (c->owners.all[k].name)
				exports_write_name(c, "thread_name", exports_pid_of(run, i),
					c->owners.all[k].tid, c->owners.all[k].name);
}

static void write_triple(FILE *out, const char *key, const uint32_t *triple)
{
	if (triple[0])
		fprintf(out, ",\"%s\":[%u,%u,%u]", key, triple[0], triple[1], triple[2]);
}

static void write_before(FILE *out, const char *key, uint64_t ns, const struct run_sample *s)
{
	if (ns)
		fprintf(out, ",\"%s\":%lld", key, (long long)(s->begin_ns - ns));
}

/* The command that a sample is, or NULL; samples come in their order. */
static const struct run_command *next_command(struct chrome *c, uint32_t lane, size_t sample)
{
	if (c->command == c->run->command_count)
		return NULL;
	const struct run_command *command = &c->run->commands[c->command];
	if (command->lane != lane || command->sample != sample)
		return NULL;
	c->command++;
	return command;
}

static void write_sample(struct chrome *c, uint32_t lane, const struct run_sample *s,
	const struct run_command *command)
{
	const struct site_text *site = &c->sites[s->site];

	next_event(c);
	if (command) {
		const struct run *run = c->run;
		const struct run_brick *brick = &run->bricks[run->sites[s->site].brick];
		fputs("{\"ph\":\"X\",\"name\":", c->out);
		text_json(c->out, run->kernels[command->kernel].name);
		fputs(",\"cat\":", c->out);
		text_json(c->out, run->categories[brick->category].name);
	} else
		fputs(site->head, c->out);
	fputs(",\"ts\":", c->out);
	write_time(c, s->begin_ns);
	fputs(",\"dur\":", c->out);
	write_us(c->out, s->end_ns - s->begin_ns);
	exports_write_place(c, lane, s->begin_ns);
	fputs(",\"args\":{", c->out);
	fputs(site->args, c->out);
	if (command) {
		const struct run_kernel *kernel = &c->run->kernels[command->kernel];
		fputs(",\"brick\":", c->out);
		text_json(c->out, c->run->bricks[c->run->sites[s->site].brick].name);
		fprintf(c->out, ",\"kind\":\"%s\"", text_kernel_kind(kernel->kind));
		write_triple(c->out, "grid", kernel->grid);
		write_triple(c->out, "block", kernel->block);
		if (kernel->shared_bytes)
			fprintf(c->out, ",\"shared\":%llu",
				(unsigned long long)kernel->shared_bytes);
		write_before(c->out, "launch_to_start_ns", command->launch_ns, s);
		write_before(c->out, "queued_to_start_ns", command->queued_ns, s);
		write_before(c->out, "submit_to_start_ns", command->submitted_ns, s);
	}
	if (s->inner_ns)
		fprintf(c->out, ",\"inner_ns\":%u", s->inner_ns);
	if (s->source != BRICK_SOURCE_TSC)
		fprintf(c->out, ",\"source\":\"%s\"", text_source(s->source));
	if (s->flags & RUN_SAMPLE_OPEN)
		fputs(",\"open\":true", c->out);
	if (s->flags & RUN_SAMPLE_UNWOUND)
		fputs(",\"unwound\":true", c->out);
	if (s->flags & RUN_SAMPLE_CLAMPED)
		fputs(",\"clamped\":true", c->out);
	fputs("}}", c->out);
}

static void exports_write_point(struct chrome *c, const struct run_point *p)
{
	const char *kind = p->kind == RUN_POINT_COUNTER ? "C" : "i";

	next_event(c);
	if (p->brick != RUN_NONE)
		brick_head(c->out, c->run, kind, p->brick);
	else
		fprintf(c->out, "{\"ph\":\"i\",\"name\":\"%s\",\"cat\":\"brick\"",
			p->kind == RUN_POINT_DROPPED ? "Dropped" : "Thread");
	fputs(",\"ts\":", c->out);
	write_time(c, p->ns);
	exports_write_place(c, p->lane, p->ns);
	if (*kind == 'i')
		fputs(",\"s\":\"t\"", c->out);
	if (p->kind == RUN_POINT_INSTANT)
		fputc('}', c->out);
	else if (p->kind == RUN_POINT_REPORTED)
		fprintf(c->out, ",\"args\":{\"reported_ns\":%.0f}}", p->value);
	else if (p->value - p->value == 0)
		fprintf(c->out, ",\"args\":{\"value\":%.17g}}", p->value);
	else /* infinite, or no number: JSON has none of these */
		fputs(",\"args\":{\"value\":null}}", c->out);
}

/* One end of a flow: it belongs to the slice around that time, or to the instant just written. */
static void write_flow(
	struct chrome *c, const char *kind, const char *name, size_t id, uint32_t lane, uint64_t ns)
{
	next_event(c);
	fprintf(c->out,
		"{\"ph\":\"%s\"%s,\"name\":\"%s\",\"cat\":\"brick\",\"id\":%zu,\"ts\":", kind,
		*kind == 'f' ? ",\"bp\":\"e\"" : "", name, id);
	write_time(c, ns);
	exports_write_place(c, lane, ns);
	fputc('}', c->out);
}

static const struct run_sample *exports_sample_at(
	const struct chrome *c, uint32_t lane, uint32_t sample)
{
	return &c->run->lanes[lane].samples[sample];
}

static uint64_t command_begin(const struct chrome *c, const struct run_command *command)
{
	return exports_sample_at(c, command->lane, command->sample)->begin_ns;
}

static void launch_flow(struct chrome *c, const struct run_command *to, size_t id)
{
	if (to->launch_lane == RUN_NONE)
		return;
	write_flow(c, "s", "launch", id, to->launch_lane,
		exports_sample_at(c, to->launch_lane, to->launch_sample)->begin_ns);
	write_flow(c, "f", "launch", id, to->lane, command_begin(c, to));
}

static void after_flow(
	struct chrome *c, const struct run_command *from, const struct run_command *to, size_t id)
{
	write_flow(c, "s", "after", id, from->lane, command_begin(c, from));
	write_flow(c, "f", "after", id, to->lane, command_begin(c, to));
}

static void wait_flow(struct chrome *c, const struct run_wait *wait, size_t id)
{
	const struct run_command *from = &c->run->commands[wait->command];
	uint64_t end_ns = exports_sample_at(c, wait->lane, wait->sample)->end_ns;

	write_flow(c, "s", "wait", id, from->lane, command_begin(c, from));
	next_event(c);
	fputs("{\"ph\":\"i\",\"s\":\"t\",\"name\":\"Waited\",\"cat\":\"brick\",\"ts\":", c->out);
	write_time(c, end_ns);
	exports_write_place(c, wait->lane, end_ns);
	fputc('}', c->out);
	write_flow(c, "f", "wait", id, wait->lane, end_ns);
}

static void write_flows(struct chrome *c)
{
	const struct run *run = c->run;
	size_t id = 1;

	for (size_t i = 0; i < run->command_count; i++)
		launch_flow(c, &run->commands[i], id++);
	for (size_t i = 0; i < run->command_count; i++)
		for (uint32_t k = 0; k < run->commands[i].dependency_count; k++) {
			uint32_t from = run->dependencies[run->commands[i].dependency_first + k];
			after_flow(c, &run->commands[from], &run->commands[i], id++);
		}
	for (size_t i = 0; i < run->wait_count; i++)
		wait_flow(c, &run->waits[i], id++);
}

static void write_events(struct chrome *c)
{
	const struct run *run = c->run;

	for (uint32_t i = 0; i < run->lane_count; i++)
		for (size_t k = 0; k < run->lanes[i].sample_count; k++) {
			const struct run_sample *s = &run->lanes[i].samples[k];
			write_sample(c, i, s, next_command(c, i, k));
			if (s->wait_ns) {
				next_event(c);
				fputs("{\"ph\":\"X\",\"name\":\"BarrierWait\",\"cat\":\"Wait\","
				      "\"ts\":",
					c->out);
				write_time(c, s->end_ns);
				fputs(",\"dur\":", c->out);
				write_us(c->out, s->wait_ns);
				exports_write_place(c, i, s->begin_ns);
				fputc('}', c->out);
			}
			run_lane_passed(&run->lanes[i], k);
		}
	for (size_t i = 0; i < run->point_count; i++)
		exports_write_point(c, &run->points[i]);
	write_flows(c);
}

/* A recording has a command; of what records itself, nobody knows when it started. */
static void exports_write_command(struct chrome *c)
{
	const struct run *run = c->run;

	for (size_t i = 0; run->command && run->command[i]; i++) {
		fputs(i ? "," : ",\"command\":[", c->out);
		text_json(c->out, run->command[i]);
	}
	if (run->command && run->command[0])
		fputc(']', c->out);
}

int trace_chrome_write(const struct run *run, FILE *out)
{
	struct chrome c = {.run = run, .out = out, .separator = "\n"};
	int error = exports_prepare(&c);

	if (!error) {
		errno = 0;
		/* as texts: they are beyond what a double holds */
		fprintf(out,
			"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_unix_ns\":\"%llu\","
			"\"start_monotonic_ns\":\"%llu\"",
			(unsigned long long)run->start_unix_ns, (unsigned long long)run->start_ns);
		exports_write_command(&c);
		fputs("},\"traceEvents\":[", out);
		write_names(&c);
		write_events(&c);
		fputs("\n]}\n", out);
		if (fflush(out) || ferror(out))
			error = errno ? -errno : -EIO;
	}
	for (size_t i = 0; c.sites && i < c.run->site_count; i++) {
		free(c.sites[i].head);
		free(c.sites[i].args);
	}
	free(c.sites);
	owners_fini(&c.owners);
	return error;
}

/* Samples as comma-separated values. */

static const char header[] =
	"pid,tid,thread,depth,brick,category,layer,operation,label,begin_ns,duration_ns,wait_ns,"
	"inner_ns,elements,bytes,flops,source,flags,kernel,launch_ns,queued_ns,submitted_ns\n";

static void csv_number(FILE *out, uint64_t value)
{
	text_unsigned(out, value);
	fputc(',', out);
}

static void csv_count(FILE *out, uint64_t value, uint32_t known)
{
	if (known)
		text_unsigned(out, value);
	fputc(',', out);
}

static void csv_signed(FILE *out, int64_t value)
{
	if (value < 0)
		fputc('-', out);
	csv_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void csv_name(FILE *out, const char *text)
{
	escape_csv(out, text);
	fputc(',', out);
}

/* Writes a command's time like those of samples; nothing if it has none. */
static void csv_moment(FILE *out, const struct run *run, uint64_t ns)
{
	fputc(',', out);
	if (ns && ns < run->start_ns)
		fputc('-', out);
	if (ns)
		text_unsigned(out, ns < run->start_ns ? run->start_ns - ns : ns - run->start_ns);
}

static void csv_sample(FILE *out, const struct run *run, const struct run_lane *lane,
	const struct owner *owner, const struct run_sample *s, const struct run_command *command)
{
	const struct run_site *site = &run->sites[s->site];
	const struct run_brick *brick = &run->bricks[site->brick];

	csv_number(out, run->processes[lane->process].pid);
	csv_number(out, owner->tid);
	csv_name(out, owner->name);
	csv_number(out, s->depth);
	csv_name(out, brick->name);
	csv_name(out, run->categories[brick->category].name);
	csv_signed(out, site->layer);
	csv_name(out, site->operation);
	csv_name(out, site->label);
	csv_signed(out, (int64_t)(s->begin_ns - run->start_ns));
	csv_number(out, s->end_ns - s->begin_ns);
	csv_number(out, s->wait_ns);
	csv_number(out, s->inner_ns);
	csv_count(out, site->elements, site->flags & BRICK_SITE_HAS_ELEMENTS);
	csv_count(out, site->bytes, site->flags & BRICK_SITE_HAS_BYTES);
	csv_count(out, site->flops, site->flags & BRICK_SITE_HAS_FLOPS);
	csv_name(out, text_source(s->source));
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
		if (s->flags & names[i].flag) {
			fprintf(out, "%s%s", first ? "" : " ", names[i].name);
			first = 0;
		}
	fputc(',', out);
	escape_csv(out, command ? run->kernels[command->kernel].name : NULL);
	csv_moment(out, run, command ? command->launch_ns : 0);
	csv_moment(out, run, command ? command->queued_ns : 0);
	csv_moment(out, run, command ? command->submitted_ns : 0);
	fputc('\n', out);
}

static void csv_lane(FILE *out, const struct run *run, uint32_t number, const struct owners *owners,
	size_t *next)
{
	const struct run_lane *lane = &run->lanes[number];

	for (size_t k = 0; k < lane->sample_count; k++) {
		const struct run_sample *s = &lane->samples[k];
		const struct run_command *command =
			*next < run->command_count ? &run->commands[*next] : NULL;
		if (command && (command->lane != number || command->sample != k))
			command = NULL;
		size_t owner = owners_place(owners, number, s->begin_ns);
		csv_sample(out, run, lane, &owners->all[owner], s, command);
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
		csv_lane(out, run, i, &owners, &next);
	owners_fini(&owners);
	if (!error && (fflush(out) || ferror(out)))
		error = errno ? -errno : -EIO;
	return error;
}
