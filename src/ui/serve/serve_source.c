/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs for `brick serve`: a file is read again when it has changed, a session is looked at again
 * while its process lives. Called by serve.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ui/text/input.h"
#include "base/clock_ns.h"
#include "brick/error.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/text/memory.h"
#include "ui/serve/serve.h"
#include "record/live/live_source.h"
#include "trace/load.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/unknown.h"

/* A recording that has not grown for so long is no longer being written. */
#define STILL_NS (15 * 1000000000ull)

struct serve_source {
	char *path; /* of the recording; NULL: a session */
	struct live_source *session;
	char *name;
	bool read, live; /* what was read last */
	struct stat seen;
};

static struct live_source *open_session(unsigned long pid)
{
	struct live_source *session;
	const char *why = NULL;
	int rc = live_source_process(&session, (pid_t)pid, step_times_first_token, &why);
	if (rc == -ENOENT)
		die(CLI_INPUT, "%lu: no such process, and no such file", pid);
	if (rc == -EACCES)
		die(CLI_SYSTEM, "%lu: belongs to another user, who (or root) can look into it",
			pid);
	if (rc == BRICK_ENOTRECORDED && why)
		die(CLI_INPUT, "%lu: its session cannot be read: %s", pid, why);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT,
			"%lu: is not being recorded and has no session; start it with 'brick "
			"record -- CMD'",
			pid);
	if (rc < 0)
		die(CLI_SYSTEM, "%lu: %s", pid, strerror(-rc));
	return session;
}

struct serve_source *serve_source_open(const char *operand)
{
	struct serve_source *source = xcalloc(1, sizeof(*source));
	char *end;
	errno = 0;
	unsigned long pid = strtoul(operand, &end, 10);
	if (errno || !pid || pid > INT32_MAX || *end || operand[0] < '0' || operand[0] > '9' ||
		access(operand, F_OK) == 0) {
		source->path = xstrdup(operand);
	} else {
		source->path = serve_find(pid);
		if (!source->path)
			source->session = open_session(pid);
	}
	source->name = source->path ? xstrdup(source->path)
				    : xasprintf("process %lu, which writes no recording", pid);
	return source;
}

const char *serve_source_name(const struct serve_source *source)
{
	return source->name;
}

static uint64_t age_ns(const struct stat *st)
{
	uint64_t then = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t now = real_ns();
	return now > then ? now - then : 0;
}

/* A process that runs has no end yet, and is not one that did not end in good order. */
static void let_run(struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++)
		if (!run->processes[i].end_ns)
			run->processes[i].closed = 1;
}

static int read_file(struct serve_source *source, struct serve_reading *reading)
{
	struct load_error error = {0};
	struct stat st = {0};
	bool part = false;
	bool there = input_stat(source->path, &st, &part);
	reading->live = part && age_ns(&st) < STILL_NS;
	if (source->read &&
		(!there || (reading->live == source->live && !input_changed(&source->seen, &st))))
		return 0;
	int rc = run_load(&reading->run, source->path, &error);
	source->seen = st;
	source->read = true;
	if (rc == -ENOENT)
		snprintf(reading->why, sizeof(reading->why),
			"no such file; 'brick record' writes one");
	else if (rc < 0 && error.text[0] && rc <= -4000)
		snprintf(reading->why, sizeof(reading->why), "at byte %llu: %.200s",
			(unsigned long long)error.offset, error.text);
	else if (rc < 0)
		snprintf(reading->why, sizeof(reading->why), "%s",
			rc <= -4000 ? brick_strerror(rc) : strerror(-rc));
	if (rc < 0)
		return rc;
	if (reading->live)
		let_run(reading->run);
	source->live = reading->live;
	return 1;
}

static int read_session(struct serve_source *source, struct serve_reading *reading)
{
	uint64_t ttft_ns = ANALYSIS_UNKNOWN;
	if (source->read && !source->live)
		return 0;
	live_source_look(source->session);
	struct live_status status = live_source_status(source->session);
	reading->live = !status.over;
	int rc = live_source_run(source->session, &reading->run, &ttft_ns);
	if (rc < 0)
		snprintf(reading->why, sizeof(reading->why), "%s",
			status.reason ? status.reason
			: rc <= -4000 ? brick_strerror(rc)
				      : strerror(-rc));
	if (rc > 0)
		source->read = true;
	source->live = reading->live;
	return rc;
}

int serve_source_read(struct serve_source *source, struct serve_reading *reading)
{
	memset(reading, 0, sizeof(*reading));
	return source->path ? read_file(source, reading) : read_session(source, reading);
}

void serve_source_close(struct serve_source *source)
{
	live_source_destroy(source->session);
	free(source->path);
	free(source->name);
	free(source);
}
