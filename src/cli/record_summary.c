/* SPDX-License-Identifier: Apache-2.0 */
/* What `brick record` says when it is done (record.h). stderr: stdout is the program's alone. */
#include "cli/program_files.h"
#include "cli/program_ggml.h"
#include "cli/cmd_record.h"

#include <stdio.h>
#include <string.h>

#include "brick/error.h"
#include "cli/die.h"
#include "ui/text/report_presence.h"
#include "ui/text/text.h"

static const char *plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

static void print_totals(const struct recorder_result *r)
{
	char samples[UNITS_BYTES], steps[UNITS_BYTES], wall[UNITS_BYTES];

	fprintf(stderr, "brick: %s %s in %s %s; %u %s, %llu %s; %s\n",
		units_count(samples, r->samples), plural(r->samples, "sample", "samples"),
		units_count(steps, r->steps), plural(r->steps, "step", "steps"), r->processes,
		plural(r->processes, "process", "processes"), (unsigned long long)r->threads,
		plural(r->threads, "thread", "threads"), units_time(wall, r->wall_ns));
}

/* The different values of a note, joined; 0 when there is none. */
static int join_notes(const char *notes, const char *key, char *out, size_t bytes)
{
	size_t n = strlen(key), used = 0;

	out[0] = '\0';
	for (const char *at = notes; at && *at;) {
		size_t line = strcspn(at, "\n");
		char value[256];
		if (line > n && !strncmp(at, key, n) && at[n] == '=') {
			snprintf(value, sizeof value, "%.*s", (int)(line - n - 1), at + n + 1);
			if (!strstr(out, value) && used < bytes)
				used += (size_t)snprintf(
					out + used, bytes - used, "%s%s", used ? "; " : "", value);
		}
		at += line + (at[line] == '\n');
	}
	return used > 0;
}

/* What was attached says so itself, in notes. */
static int print_attached(const char *notes)
{
	char method[512], version[512];

	if (!join_notes(notes, "attach", method, sizeof method))
		return 0;
	for (const struct attacher *const *a = attachers; *a; a++)
		if ((*a)->version_note &&
			join_notes(notes, (*a)->version_note, version, sizeof version)) {
			warn("attached to %s %s: %s", (*a)->title, version, method);
			return 1;
		}
	warn("attached: %s", method);
	return 1;
}

/* env -i: what gets us into a program is in the environment. */
static int empties_environment(char *const *command)
{
	const char *slash = strrchr(command[0], '/');

	if (strcmp(slash ? slash + 1 : command[0], "env"))
		return 0;
	for (command++; *command && **command == '-'; command++) {
		const char *letters = *command + 1;
		size_t flags = strcspn(letters, "uCS"); /* those take a value */
		if (!*letters || !strcmp(letters, "-ignore-environment"))
			return 1;
		if (*letters != '-' && memchr(letters, 'i', flags))
			return 1;
		int is_short = *letters != '-' && letters[flags] && !letters[flags + 1];
		if ((is_short || !strcmp(letters, "-unset") || !strcmp(letters, "-chdir")) &&
			command[1])
			command++;
	}
	return 0;
}

/*
 * Of the program, what it is linked with and what its arguments name: ggml is inside, and nothing
 * says where its functions are. As `brick doctor` looks.
 */
static int tell_hidden(char *const *command)
{
	struct program_files files;
	struct program_ggml ggml;
	int told = 0;

	if (program_files_of_command(&files, command))
		return 0;
	for (size_t i = 0; i < files.paths.count && !told; i++) {
		told = !program_ggml(&ggml, files.paths.items[i]) &&
		       ggml.way == PROGRAM_GGML_STRIPPED;
		if (told)
			warn("nothing was attached: %s: %s; %s", files.paths.items[i], ggml.missing,
				ggml.advice);
	}
	program_files_fini(&files);
	return told;
}

static void print_nothing(const struct record_arguments *a, const struct recorder_result *r)
{
	const char *why = inject_obstacle_text(r->obstacle);
	const char *advice = inject_obstacle_advice(r->obstacle);
	char kinds[INJECT_KINDS_BYTES];

	if (a->off) {
		warn("nothing was recorded: --mode none switches recording off");
	} else if (empties_environment(a->options.command)) {
		warn("nothing was recorded: %s empties the environment, through which Brick gets "
		     "into the program; put it in front instead: env -i ... brick record -- ...",
			a->options.command[0]);
	} else if (!a->options.inject && !*why) {
		warn("nothing was recorded: %s has no libbrick inside, and --attach none adds none",
			a->options.command[0]);
	} else if (r->left_behind) {
		warn("nothing was recorded yet: %s has ended, and process %d, which it left "
		     "behind, goes on; --wait waits for it",
			a->options.command[0], r->left_behind);
	} else {
		if (*why)
			warn("nothing was attached: %s%s%s", why, advice ? "; " : "",
				advice ? advice : "");
		if (!tell_hidden(a->options.command) && !*why)
			warn("nothing was attached: %s uses no %s through shared libraries",
				a->options.command[0], inject_kinds(kinds));
	}
}

static void print_losses(const struct recorder_result *r)
{
	char count[UNITS_BYTES];

	if (r->dropped)
		fprintf(stderr,
			"brick: %s %s dropped (statistics are exact without them; "
			"--ring takes more)\n",
			units_count(count, r->dropped), plural(r->dropped, "record", "records"));
	if (r->refused_processes)
		warn("%llu %s could not record: process %u: %s; %s %s lost",
			(unsigned long long)r->refused_processes,
			plural(r->refused_processes, "process", "processes"), r->refused_pid,
			brick_strerror(r->refused_error), units_count(count, r->refused_records),
			plural(r->refused_records, "record is", "records are"));
	if (r->lost)
		warn("%u %s could not be read in full: %s", r->lost,
			plural(r->lost, "process", "processes"), r->fault);
	if (r->dead)
		fprintf(stderr,
			"brick: %u %s died without ending the recording; what was recorded "
			"until then is there\n",
			r->dead, plural(r->dead, "process", "processes"));
	if (r->outlived)
		fprintf(stderr,
			"brick: %u %s still running; recorded until now (--wait waits for them)\n",
			r->outlived, plural(r->outlived, "process is", "processes are"));
}

/* Not knowing it is worth a word only where it was asked for. */
static void print_off_cpu(const struct off_cpu_account *o)
{
	char count[UNITS_BYTES], reason[128];

	report_off_cpu_reason(o->error, reason, sizeof reason);
	if (o->error)
		warn("when threads were off their CPUs is not known: %s", reason);
	if (o->lost)
		fprintf(stderr, "brick: %s context %s lost: times off the CPU are not complete\n",
			units_count(count, o->lost), plural(o->lost, "switch is", "switches are"));
	if (o->gap_count)
		fprintf(stderr,
			"brick: threads left their CPUs %s times a second, and to record that took "
			"%.1f us each: it was stopped%s; --off-cpu on records it all the same\n",
			units_count(count, o->gaps[0].per_s), (double)o->gaps[0].each_ns / 1e3,
			o->gaps[o->gap_count - 1].end_ns == UINT64_MAX ? "" : " for a while");
}

/* A program with libbrick inside that asked for a recording of its own. */
static void print_embedded(const char *output, const char *notes)
{
	char own[512];

	if (join_notes(notes, "embedded.output", own, sizeof own))
		warn("%s is not written by the program itself: its bricks are in %s", own, output);
}

static void print_missing_captures(
	const struct record_arguments *a, const struct recorder_result *r)
{
	static const char *const names[] = {"graph", "tiles", "digest"};
	const int wanted[] = {a->graph, a->tiles, a->digest};

	for (unsigned i = 0; i < 3; i++) {
		char key[32], value[64];
		snprintf(key, sizeof key, "capture.%s", names[i]);
		if (wanted[i] && !join_notes(r->notes, key, value, sizeof value))
			fprintf(stderr, "brick: --%s: nothing in this run could record it\n",
				names[i]);
	}
}

void record_summary(const struct record_arguments *a, const struct recorder_result *r)
{
	char bytes[UNITS_BYTES];

	if (!r->recorded)
		return;
	print_totals(r);
	if (!print_attached(r->notes) && !r->samples && !r->refused_processes)
		print_nothing(a, r);
	print_embedded(a->options.output, r->notes);
	print_missing_captures(a, r);
	print_losses(r);
	print_off_cpu(&r->off_cpu);
	warn("%s recorded; to see it: brick report %s", units_bytes(bytes, r->bytes),
		a->options.output);
}
