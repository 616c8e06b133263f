/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is read again when it has changed; a session is looked at again while its process lives. A
 * process writes the recording NAME.part that it has open, or that its parent (the recorder) has.
 */
#include "ui/serve/serve_source.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/statistics/unknown.h"
#include "analysis/steps/step_times.h"
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/number.h"
#include "brick/error.h"
#include "record/live/live_source.h"
#include "trace/load.h"
#include "ui/text/recording_file.h"

/* A recording that has not grown for so long is no longer being written. */
#define STILL_NS (15 * 1000000000ull)

struct serve_source {
	char *path; /* of the recording; NULL: a session */
	struct live_source *session;
	char *name;
	bool read, live; /* the last reading */
	struct stat seen;
};

enum { GENERATIONS = 8 };

static bool serve_source_ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);
	return length >= n && !memcmp(text + length - n, end, n);
}

/* The recording that an open file is, without the ".part"; NULL if it is none. */
static char *recording_of(int directory, const char *name)
{
	static const char part[] = ".part";
	char target[PATH_MAX];
	ssize_t length = readlinkat(directory, name, target, sizeof(target) - 1);
	if (length <= 0 || target[0] != '/' ||
		!serve_source_ends_with(target, (size_t)length, part))
		return NULL;
	target[(size_t)length - (sizeof(part) - 1)] = '\0';
	return strdup(target);
}

static char *open_recording(unsigned long pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%lu/fd", pid);
	DIR *directory = opendir(path);
	char *found = NULL;
	for (struct dirent *entry; directory && !found && (entry = readdir(directory));)
		found = recording_of(dirfd(directory), entry->d_name);
	if (directory)
		closedir(directory);
	return found;
}

static unsigned long serve_source_parent_of(unsigned long pid)
{
	char path[64], text[1024];
	unsigned long parent = 0;
	snprintf(path, sizeof(path), "/proc/%lu/stat", pid);
	if (!file_begin(path, text, sizeof(text)))
		return 0;
	/* The name of the program, in parentheses, may hold anything. */
	const char *rest = strrchr(text, ')');
	if (!rest || sscanf(rest, ") %*c %lu", &parent) != 1)
		return 0;
	return parent;
}

/* The recording that a process, or an ancestor of it, is writing; the caller frees. */
static char *find_recording(unsigned long pid)
{
	char *found = NULL;
	for (int i = 0; i < GENERATIONS && pid > 1 && !found; i++) {
		found = open_recording(pid);
		pid = serve_source_parent_of(pid);
	}
	return found;
}

/* The number of a process; 0: the operand is a file. */
static unsigned long serve_source_pid_of(const char *operand)
{
	uint64_t pid;
	bool is_number = operand[0] >= '0' && operand[0] <= '9' &&
			 number_u64(operand, 1, INT32_MAX, &pid) == 0;
	return is_number && access(operand, F_OK) != 0 ? (unsigned long)pid : 0;
}

static int open_process(struct serve_source *source, unsigned long pid, const char **why)
{
	source->path = find_recording(pid);
	if (source->path) {
		source->name = strdup(source->path);
		return source->name ? 0 : -ENOMEM;
	}
	int rc = live_source_process(&source->session, (pid_t)pid, step_times_first_token, why);
	if (rc < 0)
		return rc;
	if (asprintf(&source->name, "process %lu, which writes no recording", pid) >= 0)
		return 0;
	source->name = NULL;
	return -ENOMEM;
}

int serve_source_open(struct serve_source **out, const char *operand, const char **why)
{
	struct serve_source *source = calloc(1, sizeof(*source));
	unsigned long pid = serve_source_pid_of(operand);
	int rc = 0;
	*why = NULL;
	if (!source)
		return -ENOMEM;
	if (pid) {
		rc = open_process(source, pid, why);
	} else {
		source->path = strdup(operand);
		source->name = strdup(operand);
		rc = source->path && source->name ? 0 : -ENOMEM;
	}
	if (rc < 0)
		serve_source_close(source);
	else
		*out = source;
	return rc;
}

const char *serve_source_name(const struct serve_source *source)
{
	return source->name;
}

bool serve_source_is_session(const struct serve_source *source)
{
	return !source->path;
}

static uint64_t age_ns(const struct stat *st)
{
	uint64_t then = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t now = real_ns();
	return now > then ? now - then : 0;
}

/* True for Brick's own codes, of which BRICK_EFORMAT is the highest: the error has a place. */
static bool is_damage(int rc)
{
	return rc <= BRICK_EFORMAT;
}

static int serve_source_read_file(struct serve_source *source, struct serve_reading *reading)
{
	struct load_error error = {0};
	struct stat st = {0};
	bool part = false;
	bool there = recording_stat(source->path, &st, &part);
	reading->live = part && age_ns(&st) < STILL_NS;
	if (source->read && (!there || (reading->live == source->live &&
					       !recording_changed(&source->seen, &st))))
		return 0;
	source->seen = st;
	source->read = true;
	if (there && !S_ISREG(st.st_mode)) { /* reading a pipe may never end */
		snprintf(reading->why, sizeof(reading->why), "no regular file");
		return -EINVAL;
	}
	int rc = run_load(&reading->run, source->path, &error);
	if (rc == -ENOENT)
		snprintf(reading->why, sizeof(reading->why),
			"no such file; 'brick record' writes one");
	else if (rc < 0 && error.text[0] && is_damage(rc))
		snprintf(reading->why, sizeof(reading->why), "at byte %llu: %.200s",
			(unsigned long long)error.offset, error.text);
	else if (rc < 0)
		snprintf(reading->why, sizeof(reading->why), "%s", brick_strerror(rc));
	if (rc < 0)
		return rc;
	if (reading->live) {
		/* a process that still runs has no end yet: it counts as exited cleanly */
		struct run *run = reading->run;
		for (size_t i = 0; i < run->process_count; i++)
			if (!run->processes[i].end_ns)
				run->processes[i].closed = 1;
	}
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
			status.reason ? status.reason : brick_strerror(rc));
	if (rc > 0)
		source->read = true;
	source->live = reading->live;
	return rc;
}

int serve_source_read(struct serve_source *source, struct serve_reading *reading)
{
	memset(reading, 0, sizeof(*reading));
	return source->path ? serve_source_read_file(source, reading)
			    : read_session(source, reading);
}

void serve_source_close(struct serve_source *source)
{
	live_source_destroy(source->session);
	free(source->path);
	free(source->name);
	free(source);
}

/*
 * The pause from one reading to the next: so many times the CPU time of one, at least MIN_PACE_NS.
 */
#define PACE 10
#define PACE_WATCHED 2
#define MIN_PACE_NS 1000000000ull
/* A page asks each second; Prometheus more seldom than this. */
#define WATCHED_NS 10000000000ull

bool serve_pace_is_due(struct serve_pace *pace, uint64_t now_ns, uint64_t asked)
{
	if (asked != pace->asked)
		pace->asked_ns = now_ns;
	pace->asked = asked;
	bool is_watched = pace->asked_ns && now_ns - pace->asked_ns < WATCHED_NS;
	uint64_t wait_ns = (is_watched ? PACE_WATCHED : PACE) * pace->cost_ns;
	return !pace->read_ns ||
	       now_ns - pace->read_ns >= (wait_ns > MIN_PACE_NS ? wait_ns : MIN_PACE_NS);
}

void serve_pace_read(struct serve_pace *pace, uint64_t now_ns, uint64_t cost_ns)
{
	pace->read_ns = now_ns;
	pace->cost_ns = cost_ns;
}
