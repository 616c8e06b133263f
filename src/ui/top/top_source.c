/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pictures of `brick top` come from: a recording, which may still be written; a process;
 * a command, which is recorded by `brick record` in a process of its own, whose recording is the
 * last picture. Called by top.c and top_headless.c.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/accounts/unknown.h"
#include "base/file.h"
#include "base/members.h"
#include "brick/error.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/text/input.h"
#include "ui/text/memory.h"
#include "ui/text/provenance.h"
#include "ui/text/text_out.h"
#include "ui/top/top_source.h"
#include "trace/load.h"
#include "analysis/steps/step_times.h"

enum { PATIENCE_MS = 3000 };

static bool is_number(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!isdigit((unsigned char)*c))
			return false;
	return *text && strlen(text) < 10;
}

static void open_process(struct top_source *s, const char *text)
{
	const char *why;
	int error = live_source_process(&s->live, (pid_t)atoi(text), step_times_first_token, &why);
	if (error == -ENOENT)
		die(CLI_INPUT, "%s: there is no such process, and no such file", text);
	if (error == -EACCES)
		die(CLI_SYSTEM,
			"%s: it is another user's process; only that user (or root) can "
			"look into it",
			text);
	if (error == BRICK_ENOTRECORDED && why)
		die(CLI_INPUT, "%s: its session cannot be read: %s", text, why);
	if (error == BRICK_ENOTRECORDED)
		die(CLI_INPUT,
			"%s: the process is not being recorded and has no libbrick session inside; "
			"start it with 'brick top -- CMD' or 'brick record -- CMD'",
			text);
	if (error < 0)
		die(CLI_SYSTEM, "%s: %s", text, strerror(-error));
}

static char *make_directory(void)
{
	const char *base = getenv("TMPDIR");
	char *path = xasprintf("%s/brick-top-XXXXXX", base && base[0] == '/' ? base : "/tmp");
	if (!mkdtemp(path))
		die(CLI_SYSTEM, "%s: %s", path, strerror(errno));
	return path;
}

static char *self_path(void)
{
	char path[4096];
	file_link("/proc/self/exe", path, sizeof(path));
	if (!*path)
		die(CLI_SYSTEM, "top: /proc is not there, through which it finds itself");
	return xstrdup(path);
}

/* What is looked at goes first: we can wait for a moment when it leaves a core. */
static void step_back(void)
{
	enum { NICE = 10 };
	int present = getpriority(PRIO_PROCESS, 0);
	if (present < NICE)
		setpriority(PRIO_PROCESS, 0, NICE);
}

static char *joined(char *const *command)
{
	SCOPED char *text = xstrdup("");
	for (; *command; command++)
		xappend(&text, " ", "%s", *command);
	return text_safe(text);
}

static void open_command(struct top_source *s, const struct top_options *o)
{
	int n = 0, count = 0;
	while (o->command[count])
		count++;
	s->directory = make_directory();
	s->log = xasprintf("%s/output.log", s->directory);
	s->path = o->output ? xstrdup(o->output) : xasprintf("%s/run.pftrace", s->directory);
	SCOPED char **argv = xcalloc((size_t)(count + o->record_count + 8), sizeof(*argv));
	SCOPED char *self = self_path();
	argv[n++] = self;
	argv[n++] = "record";
	argv[n++] = "-o";
	argv[n++] = s->path;
	for (int i = 0; i < o->record_count; i++)
		argv[n++] = (char *)o->record[i];
	argv[n++] = "--";
	for (int i = 0; i < count; i++)
		argv[n++] = o->command[i];
	struct live_command command = {argv, s->log, s->directory};
	int error = live_source_command(&s->live, &command, step_times_first_token);
	if (error < 0)
		die(CLI_SYSTEM, "top: %s", strerror(-error));
	s->what = joined(o->command);
	step_back();
}

void top_source_open(struct top_source *s, const struct top_options *o)
{
	memset(s, 0, sizeof(*s));
	s->options = o;
	if (o->command) {
		open_command(s, o);
		return;
	}
	if (is_number(o->operand) && access(o->operand, F_OK) < 0) {
		open_process(s, o->operand);
		step_back();
	} else {
		s->path = xstrdup(o->operand);
	}
}

static void name_from(struct top_source *s, const struct run *run)
{
	SCOPED char *command = s->what ? NULL : provenance_command(run);
	if (command)
		s->what = text_safe(command);
}

/* Of a program that still runs, what was asked for may come later. */
static bool narrow(struct top_source *s, struct run *run, bool live)
{
	SCOPED char *missing = NULL;
	int rc = selection_apply(&s->options->selection, run, &missing);
	if (rc == BRICK_ENOTRECORDED && !live)
		die(CLI_INPUT, "%s: has %s", run->path, missing);
	if (rc < 0 && rc != BRICK_ENOTRECORDED)
		die(CLI_SYSTEM, "top: not enough memory");
	free(s->fault);
	s->fault = rc < 0 ? xasprintf("There is %s so far.", missing) : NULL;
	return rc == 0;
}

static void show(struct top_source *s, struct top *top, struct run *run, bool live, uint64_t ttft)
{
	if (!narrow(s, run, live)) {
		run_destroy(run);
		return;
	}
	name_from(s, run);
	top->about.what = s->what;
	top_picture_set(top, picture_create(run, top_phase_of(top, run), live, ttft));
}

/* ---- a recording ---- */

static void look_at_file(struct top_source *s, struct top *top)
{
	struct stat now;
	struct run *run = NULL;
	struct load_error why;
	bool is_written = input_is_written(s->path); /* before it is read: else not the last */
	bool is_part, there = input_stat(s->path, &now, &is_part);
	if (!top->picture) {
		run = input_load(s->path);
		if (!there)
			memset(&now, 0, sizeof(now));
	} else if (!there || !input_changed(&s->seen, &now) || run_load(&run, s->path, &why) < 0) {
		top->about.over |= !is_written;
		return;
	}
	s->seen = now;
	snprintf(s->state, sizeof(s->state), "%s",
		run->complete ? "recording" : "recording, not finished");
	show(s, top, run, false, ANALYSIS_UNKNOWN);
	s->final = top->picture->run->complete;
	top->about.over = s->final || !is_written;
}

/* ---- sessions ---- */

/* The command has ended: its recording is the last picture, and all of it. */
static void show_recording(struct top_source *s, struct top *top)
{
	struct load_error why;
	struct run *run = NULL;
	if (run_load(&run, s->path, &why) < 0) {
		free(s->fault);
		s->fault = xstrdup(top->picture ? "There is no recording; this is the last "
						  "picture. See its output (0)."
						: "Nothing was recorded. See its output (0).");
		return;
	}
	show(s, top, run, false, ANALYSIS_UNKNOWN);
}

static void look_at_sessions(struct top_source *s, struct top *top)
{
	struct run *run;
	uint64_t ttft_ns = ANALYSIS_UNKNOWN;
	live_source_look(s->live);
	struct live_status status = live_source_status(s->live);
	bool last = status.over;
	if (s->options->command && last) {
		s->exit_code = status.exit_code;
		snprintf(s->state, sizeof(s->state), "ended, exit code %d", status.exit_code);
		show_recording(s, top);
	} else {
		snprintf(s->state, sizeof(s->state), "%s", status.state);
		if (live_source_run(s->live, &run, &ttft_ns) > 0)
			show(s, top, run, true, ttft_ns);
	}
	if (status.reason) {
		free(s->fault);
		s->fault = xstrdup(status.reason);
	}
	top->about.running = status.running;
	top->about.over = s->final = last;
}

void top_source_look(struct top_source *s, struct top *top)
{
	if (!s->final && s->live)
		look_at_sessions(s, top);
	else if (!s->final)
		look_at_file(s, top);
	top->about.what = s->what ? s->what : s->path;
	top->about.state = s->state;
	top->about.fault = s->fault;
	top->about.log = s->log;
}

void top_source_reset(struct top_source *s, struct top *top)
{
	if (!s->live || s->final) {
		snprintf(top->message, sizeof(top->message), "A recording cannot be reset.");
		return;
	}
	live_source_reset(s->live);
	history_clear(&top->history);
	snprintf(top->message, sizeof(top->message), "Counting from now on");
}

int top_source_close(struct top_source *s)
{
	int code = s->exit_code;
	if (s->live) {
		live_source_end(s->live, PATIENCE_MS);
		struct live_status status = live_source_status(s->live);
		if (s->options->command && !code)
			code = status.exit_code;
		live_source_destroy(s->live);
	}
	if (s->directory) {
		SCOPED char *recording = xasprintf("%s/run.pftrace", s->directory);
		SCOPED char *part = xasprintf("%s.part", recording);
		unlink(recording);
		unlink(part);
		unlink(s->log);
		rmdir(s->directory);
	}
	members_free(s, directory, path, log, what, fault);
	return code;
}
