/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions join as they are found and stay until the end, so that what a process left behind is
 * still shown when it is gone. How many records are looked at follows from what a step needs.
 */
#include "live/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "analysis/step_times.h"
#include "analysis/unknown.h"
#include "brick/clock.h"
#include "brick/error.h"
#include "live/difference.h"
#include "live/find.h"
#include "live/session.h"
#include "live/snapshot.h"
#include "record/guard.h"
#include "record/session_dir.h"

enum {
	LEAST_RECORDS = 8192, /* of a lane */
	MOST_RECORDS = 1 << 18,
	ALL_RECORDS = 1 << 18, /* of all lanes together, but for the first look */
	MOST_SESSIONS = 256,
};

struct live_source {
	pid_t pid;		       /* of the process, or of the recorder */
	unsigned long long start_time; /* ... as it was found */
	int is_command, reaped, exit_code;
	struct live_session *sessions; /* oldest first */
	size_t session_count, refused;
	const char *refused_why;
	size_t room; /* records of a lane to look at */
	uint64_t ttft_ns;
	int first_seen;	    /* ttft_ns is as well known as it ever will be */
	uint64_t first_due; /* records that a lane must hold to look for it again */
	struct run *base;
	int reset;
	uint32_t settled; /* looks at it since it was over */
};

static struct live_source *create(void)
{
	struct live_source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->room = LEAST_RECORDS;
	s->ttft_ns = ANALYSIS_UNKNOWN;
	guard_install();
	brick_clock_get();
	return s;
}

static int is_known(const struct live_source *s, const struct stat *st)
{
	for (const struct live_session *l = s->sessions; l; l = l->next)
		if (l->device == st->st_dev && l->inode == st->st_ino)
			return 1;
	return 0;
}

static void add_session(void *context, int fd)
{
	struct live_source *s = context;
	struct stat st;
	const char *why;

	if (fstat(fd, &st) < 0 || is_known(s, &st) || s->session_count >= MOST_SESSIONS) {
		close(fd);
		return;
	}
	struct live_session *session = live_session_open(fd, &why);
	if (!session) {
		s->refused++;
		s->refused_why = why;
		return;
	}
	struct live_session **at = &s->sessions;
	while (*at)
		at = &(*at)->next;
	*at = session;
	s->session_count++;
}

int live_source_process(struct live_source **out, pid_t pid, const char **why)
{
	struct live_source *s = create();

	*why = NULL;
	if (!s)
		return -ENOMEM;
	s->pid = pid;
	s->start_time = process_start_time(pid);
	int found = s->start_time ? live_find(pid, add_session, s) : -ENOENT;
	if (found >= 0 && !s->sessions) {
		*why = s->refused_why;
		found = BRICK_ENOTRECORDED;
	}
	if (found < 0) {
		live_source_destroy(s);
		return found;
	}
	*out = s;
	return 0;
}

/* In the child: a session of its own, so that what it runs has no terminal to take over. */
static void become(const struct live_command *command)
{
	int null = open("/dev/null", O_RDONLY);
	int log = open(command->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	setsid();
	if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		_exit(126);
	if (null > 2)
		close(null);
	if (log > 2)
		close(log);
	execv(command->argv[0], command->argv);
	_exit(127);
}

int live_source_command(struct live_source **out, const struct live_command *command)
{
	struct live_source *s = create();

	if (!s)
		return -ENOMEM;
	s->is_command = 1;
	s->pid = fork();
	if (s->pid < 0) {
		int error = -errno;
		live_source_destroy(s);
		return error;
	}
	if (!s->pid)
		become(command);
	s->start_time = process_start_time(s->pid);
	*out = s;
	return 0;
}

static void reap(struct live_source *s, int flags)
{
	int status;

	if (!s->is_command || s->reaped || waitpid(s->pid, &status, flags) != s->pid)
		return;
	s->reaped = 1;
	s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void live_source_look(struct live_source *s)
{
	reap(s, WNOHANG);
	if (!s->reaped && process_start_time(s->pid) == s->start_time)
		live_find(s->pid, add_session, s);
	for (struct live_session *l = s->sessions; l; l = l->next)
		if (l->state == LIVE_RUNNING || l->state == LIVE_STOPPED)
			live_session_check(l);
}

/* The state that says most: one that still runs, else the worst. */
static const struct live_session *telling(const struct live_source *s)
{
	const struct live_session *best = s->sessions;

	for (const struct live_session *l = s->sessions; l; l = l->next)
		if (best->state != LIVE_RUNNING &&
			(l->state == LIVE_RUNNING || l->state > best->state))
			best = l;
	return best;
}

static struct live_status command_status(const struct live_source *s)
{
	struct live_status status = {
		.state = s->sessions ? "live" : "starting",
		.running = 1,
		.sessions = s->session_count,
	};

	if (s->reaped) {
		status.running = 0;
		status.over = 1;
		status.exit_code = s->exit_code;
		status.state = s->exit_code ? "ended with an error" : "ended";
	}
	return status;
}

struct live_status live_source_status(const struct live_source *s)
{
	static const char *const states[] = {
		[LIVE_RUNNING] = "live",
		[LIVE_CLOSED] = "ended",
		[LIVE_STOPPED] = "stopped recording",
		[LIVE_DIED] = "died",
		[LIVE_BROKEN] = "broken",
	};
	static const char *const troubles[] = {
		[LIVE_CLOSED] = "The process has ended. This is its last picture.",
		[LIVE_STOPPED] = "The process has ended its session and goes on. This is the last "
				 "picture.",
		[LIVE_DIED] = "The process was killed, or crashed. This is its last picture.",
		[LIVE_BROKEN] = "The session makes no sense any more. This is the last picture.",
	};
	if (s->is_command)
		return command_status(s);
	const struct live_session *l = telling(s);
	struct live_status status = {
		.state = states[l->state],
		.trouble = troubles[l->state],
		.over = l->state != LIVE_RUNNING,
		.sessions = s->session_count,
	};
	if (l->state == LIVE_RUNNING && live_session_orphaned(l))
		status.state = "live, recorder gone";
	return status;
}

static enum drain_end end_of(enum live_state state)
{
	switch (state) {
	case LIVE_CLOSED:
	case LIVE_STOPPED:
		return DRAIN_END_CLOSED;
	case LIVE_DIED:
		return DRAIN_END_DEAD;
	case LIVE_BROKEN:
		return DRAIN_END_BROKEN;
	default:
		return DRAIN_END_OUTLIVED;
	}
}

static size_t gather(const struct live_source *s, struct snapshot_part *parts)
{
	size_t count = 0;

	for (struct live_session *l = s->sessions; l; l = l->next)
		parts[count++] = (struct snapshot_part){
			l->drain, end_of(l->state), l->end_ticks ? l->end_ticks : brick_ticks()};
	return count;
}

static size_t lane_count(const struct live_source *s)
{
	size_t lanes = 0;

	for (const struct live_session *l = s->sessions; l; l = l->next)
		lanes += drain_lanes(l->drain);
	return lanes ? lanes : 1;
}

/* Records of the lane that has most. */
static uint64_t most_written(const struct live_source *s)
{
	uint64_t most = 0;

	for (struct live_session *l = s->sessions; l; l = l->next)
		for (uint32_t i = drain_lanes(l->drain); i-- > 0;) {
			uint64_t written = drain_level(l->drain, i).written;
			most = written > most ? written : most;
		}
	return most;
}

/*
 * Rings are looked at whole until the first token is known to have been in them, or it is too late;
 * each time only when there is twice as much in them.
 */
static void find_first_token(struct live_source *s, const struct run *run, int whole)
{
	struct step_index index;
	struct step_times times;

	if (s->first_seen || most_written(s) < s->first_due)
		return;
	s->first_due = 2 * most_written(s);
	s->first_seen = !whole;
	if (!whole || step_index_init(&index, run) < 0)
		return;
	if (step_times_measure(&times, run, &index) == 0) {
		if (times.ttft_ns != ANALYSIS_UNKNOWN && index.count > 1) {
			s->ttft_ns = times.ttft_ns;
			s->first_seen = 1;
		}
		step_times_fini(&times);
	}
	step_index_fini(&index);
}

/* Does the run hold a step from begin to end? */
static int has_step(const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (!(run->lanes[step->lane].samples[step->sample].flags & RUN_SAMPLE_OPEN))
			return 1;
	}
	return 0;
}

static int knows_steps(const struct run *run)
{
	for (size_t l = 0; l < run->lane_count; l++)
		for (uint32_t b = 0; run->lanes[l].stats && b < run->brick_count; b++)
			if ((run->bricks[b].well_known == BRICK_PREFILL ||
				    run->bricks[b].well_known == BRICK_DECODE) &&
				run->lanes[l].stats[b].count)
				return 1;
	return 0;
}

static void adapt_room(struct live_source *s, const struct run *run)
{
	if (!has_step(run) && knows_steps(run) && s->room < MOST_RECORDS)
		s->room *= 2;
}

static size_t room_now(const struct live_source *s)
{
	size_t most = ALL_RECORDS / lane_count(s);

	if (!s->first_seen && most_written(s) >= s->first_due)
		return MOST_RECORDS;
	return s->room < most ? s->room : most < 1024 ? 1024 : most;
}

static void apply_base(struct live_source *s, struct run **run)
{
	if (s->reset) {
		run_destroy(s->base);
		s->base = *run;
		s->reset = 0;
		*run = NULL;
	}
}

int live_source_run(struct live_source *s, struct run **out, uint64_t *ttft_ns)
{
	struct snapshot_part parts[MOST_SESSIONS];
	struct run *run = NULL;
	int whole = 0;
	size_t count = gather(s, parts);

	if (!count)
		return 0;
	int error = live_snapshot(&run, parts, count, room_now(s), &whole);
	if (error < 0)
		return error;
	find_first_token(s, run, whole);
	adapt_room(s, run);
	apply_base(s, &run);
	if (!run) {
		error = live_snapshot(&run, parts, count, room_now(s), &whole);
		if (error < 0)
			return error;
	}
	if (s->base)
		live_subtract(run, s->base);
	*ttft_ns = s->ttft_ns;
	*out = run;
	return 1;
}

void live_source_reset(struct live_source *s)
{
	s->reset = 1;
}

static void sleep_ms(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

void live_source_end(struct live_source *s, unsigned patience_ms)
{
	reap(s, WNOHANG);
	if (!s->is_command || s->reaped)
		return;
	kill(s->pid, SIGTERM);
	for (unsigned waited = 0; !s->reaped && waited < patience_ms; waited += 20) {
		sleep_ms(20);
		reap(s, WNOHANG);
	}
	if (s->reaped)
		return;
	kill(-s->pid, SIGKILL);
	reap(s, 0);
}

void live_source_destroy(struct live_source *s)
{
	if (!s)
		return;
	while (s->sessions) {
		struct live_session *next = s->sessions->next;
		live_session_close(s->sessions);
		s->sessions = next;
	}
	run_destroy(s->base);
	free(s);
}
