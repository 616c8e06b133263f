/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of `brick top`'s pictures: a recording, which may still be written; a process; a
 * command, which is recorded by `brick record` in a process of its own, whose recording is the last
 * picture.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/statistics/unknown.h"
#include "base/file.h"
#include "brick/error.h"
#include "ui/text/provenance.h"
#include "ui/text/recording_file.h"
#include "ui/text/text.h"
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

static int make_directory(char **out)
{
	const char *base = getenv("TMPDIR");
	char *path = text_format("%s/brick-top-XXXXXX", base && base[0] == '/' ? base : "/tmp");
	if (path && !mkdtemp(path)) {
		int rc = -errno;
		free(path);
		return rc;
	}
	*out = path;
	return path ? 0 : -ENOMEM;
}

/* Lowers our priority: the program goes first, and we can wait until it leaves a core. */
static void step_back(void)
{
	enum { NICE = 10 };
	int present = getpriority(PRIO_PROCESS, 0);
	if (present < NICE)
		setpriority(PRIO_PROCESS, 0, NICE);
}

static char *joined(char *const *command)
{
	SCOPED char *text = NULL;
	for (; *command; command++)
		text_append(&text, " ", "%s", *command);
	return text_safe(text);
}

/* Starts a recorder of the command; without one, of the process, which runs already. */
static int open_recorder(struct top_source *s, const struct top_options *o)
{
	int n = 0, count = 0;
	char self[4096];
	while (o->command && o->command[count])
		count++;
	file_link("/proc/self/exe", self, sizeof(self));
	if (!*self)
		return -ENOSYS;
	int rc = make_directory(&s->directory);
	if (rc < 0)
		return rc;
	s->log = text_format("%s/output.log", s->directory);
	s->path = o->output ? text_copy(o->output) : text_format("%s/run.pftrace", s->directory);
	s->what = o->command ? joined(o->command) : NULL;
	SCOPED char **argv = text_room((size_t)(count + o->record_count + 8), sizeof(*argv));
	if (text_error() < 0)
		return -ENOMEM;
	argv[n++] = self;
	argv[n++] = "record";
	argv[n++] = "-o";
	argv[n++] = s->path;
	for (int i = 0; i < o->record_count; i++)
		argv[n++] = (char *)o->record[i];
	argv[n++] = o->command ? "--" : "-p";
	if (!o->command)
		argv[n++] = (char *)o->operand;
	for (int i = 0; i < count; i++)
		argv[n++] = o->command[i];
	s->is_recorder = true;
	struct live_command command = {argv, s->log, s->directory};
	rc = live_source_command(&s->live, &command, step_times_first_token);
	if (rc >= 0)
		step_back();
	return rc < 0 ? rc : 0;
}

int top_source_open(struct top_source *s, const struct top_options *o, const char **why)
{
	memset(s, 0, sizeof(*s));
	s->options = o;
	*why = NULL;
	if (o->command)
		return open_recorder(s, o);
	if (!is_number(o->operand) || access(o->operand, F_OK) == 0) {
		s->path = text_copy(o->operand);
		return text_error();
	}
	int rc =
		live_source_process(&s->live, (pid_t)atoi(o->operand), step_times_first_token, why);
	if (rc == BRICK_ENOTRECORDED && !*why)
		return open_recorder(s, o);
	if (rc >= 0)
		step_back();
	return rc < 0 ? rc : 0;
}

/*
 * Sets the reason why there is no newer picture; NULL: there is one. Takes ownership of the text.
 */
static void set_fault(struct top_source *s, char *fault)
{
	free(s->fault);
	s->fault = fault;
}

static void name_from(struct top_source *s, const struct run *run)
{
	SCOPED char *command = s->what ? NULL : provenance_command(run);
	if (command)
		s->what = text_safe(command);
}

/*
 * Applies the selection. Returns 1 if the selected part is there. In a program that still runs it
 * may come later: then 0.
 */
static int narrow(struct top_source *s, struct run *run, bool live)
{
	SCOPED char *missing = NULL;
	int rc = selection_apply(&s->options->selection, run, &missing);
	if (rc == BRICK_ENOTRECORDED)
		set_fault(s, live ? text_format("There is %s so far.", missing)
				  : text_format("has %s", missing));
	else if (rc == 0)
		set_fault(s, NULL);
	return rc == BRICK_ENOTRECORDED && live ? 0 : rc < 0 ? rc : 1;
}

/* Shows the run, and takes ownership of it. */
static int top_source_show(
	struct top_source *s, struct top *top, struct run *run, bool live, uint64_t ttft)
{
	int rc = narrow(s, run, live);
	if (rc <= 0) {
		run_destroy(run);
		return rc;
	}
	name_from(s, run);
	top->about.what = s->what;
	struct picture *picture = picture_create(run, top_phase_of(top, run), live, ttft);
	if (!picture)
		return -ENOMEM;
	top_picture_set(top, picture);
	return 0;
}

/* A recording. */

static int look_at_file(struct top_source *s, struct top *top)
{
	struct stat now = {0};
	struct run *run = NULL;
	bool is_written = recording_is_written(s->path); /* before it is read: else not the last */
	bool is_part, there = recording_stat(s->path, &now, &is_part);
	struct load_error why;
	if (!top->picture) {
		run = s->options->load(s->path);
		if (!there)
			memset(&now, 0, sizeof(now));
	} else if (!there || !recording_changed(&s->seen, &now) ||
		   run_load(&run, s->path, &why) < 0) {
		top->about.over |= !is_written;
		return 0;
	}
	s->seen = now;
	snprintf(s->state, sizeof(s->state), "%s",
		run->complete ? "recording" : "recording, not finished");
	int rc = top_source_show(s, top, run, false, ANALYSIS_UNKNOWN);
	if (rc < 0)
		return rc;
	s->final = top->picture->run->complete;
	top->about.over = s->final || !is_written;
	return 0;
}

/* Sessions. */

/* The command has ended: its recording is the last picture, and all of it. */
static int show_recording(struct top_source *s, struct top *top)
{
	struct load_error why;
	struct run *run = NULL;
	if (run_load(&run, s->path, &why) >= 0)
		return top_source_show(s, top, run, false, ANALYSIS_UNKNOWN);
	SCOPED char *said = s->options->command ? NULL : file_end(s->log, 2000);
	if (said && *said && !top->picture) {
		/* the recorder says why it does not get in */
		said[strcspn(said, "\n")] = '\0';
		set_fault(s, text_safe(strncmp(said, "brick: record: ", 15) ? said : said + 15));
		return BRICK_ENOTRECORDED;
	}
	set_fault(s, text_copy(top->picture ? "There is no recording; this is the last "
					      "picture. See its output (0)."
					    : "Nothing was recorded. See its output (0)."));
	return 0;
}

static int look_at_sessions(struct top_source *s, struct top *top)
{
	struct run *run;
	uint64_t ttft_ns = ANALYSIS_UNKNOWN;
	live_source_look(s->live);
	struct live_status status = live_source_status(s->live);
	bool last = status.over;
	int rc = 0;
	if (s->is_recorder && last) {
		s->exit_code = status.exit_code;
		snprintf(s->state, sizeof(s->state), "ended, exit code %d", status.exit_code);
		rc = show_recording(s, top);
	} else {
		snprintf(s->state, sizeof(s->state), "%s", status.state);
		if (live_source_run(s->live, &run, &ttft_ns) > 0)
			rc = top_source_show(s, top, run, true, ttft_ns);
	}
	if (status.reason)
		set_fault(s, text_copy(status.reason));
	top->about.running = status.running;
	top->about.over = s->final = last;
	return rc;
}

int top_source_look(struct top_source *s, struct top *top)
{
	int rc = 0;
	if (!s->final && s->live)
		rc = look_at_sessions(s, top);
	else if (!s->final)
		rc = look_at_file(s, top);
	top->about.what = s->what ? s->what : s->is_recorder ? s->options->operand : s->path;
	top->about.state = s->state;
	top->about.fault = s->fault;
	top->about.log = s->log;
	return rc;
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
		bool ended = live_source_end(s->live, PATIENCE_MS);
		struct live_status status = live_source_status(s->live);
		/* where a process does not let the recorder go, its keeper goes on with it */
		if (s->is_recorder && !code && (ended || s->options->command))
			code = status.exit_code;
		live_source_destroy(s->live);
	}
	if (s->directory) {
		SCOPED char *recording = text_format("%s/run.pftrace", s->directory);
		SCOPED char *part = text_format("%s/run.pftrace.part", s->directory);
		if (recording)
			unlink(recording);
		if (part)
			unlink(part);
		if (s->log)
			unlink(s->log);
		rmdir(s->directory);
	}
	free(s->directory);
	free(s->path);
	free(s->log);
	free(s->what);
	free(s->fault);
	return code;
}
