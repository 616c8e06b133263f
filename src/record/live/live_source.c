/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions join as they are found and stay until the end, so that what a process left behind is
 * still shown when it is gone. How many records are looked at follows from what a step needs.
 */
#include "record/live/live_source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "brick/clock.h"
#include "brick/error.h"
#include "record/live/live_find.h"
#include "record/keeper.h"
#include "record/live/live_look.h"
#include "record/live/live_session.h"
#include "record/record_guard.h"
#include "record/process.h"

struct live_source {
	pid_t pid;		       /* of the process, or of the recorder */
	unsigned long long start_time; /* ... as it was found */
	int is_command, reaped, exit_code;
	struct live_session *sessions; /* oldest first */
	size_t session_count, refused;
	const char *refused_why;
	struct keeper keeper;
	struct live_look look;
};

static struct live_source *create(live_first_token_fn first_token)
{
	struct live_source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	live_look_init(&s->look, first_token);
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

	if (fstat(fd, &st) < 0 || is_known(s, &st) || s->session_count >= LIVE_MAX_SESSIONS) {
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

int live_source_process(
	struct live_source **out, pid_t pid, live_first_token_fn first_token, const char **why)
{
	struct live_source *s = create(first_token);

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

int live_source_command(struct live_source **out, const struct live_command *command,
	live_first_token_fn first_token)
{
	struct live_source *s = create(first_token);

	if (!s)
		return -ENOMEM;
	s->is_command = 1;
	int error = keeper_start(&s->keeper, command->directory);
	s->pid = error ? -1 : fork();
	if (s->pid < 0) {
		error = error ? error : -errno;
		live_source_destroy(s);
		return error;
	}
	if (!s->pid)
		become(command);
	keeper_watch(&s->keeper, s->pid);
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
	keeper_watch(&s->keeper, 0);
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
static const struct live_session *foremost(const struct live_source *s)
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
	static const char *const reasons[] = {
		[LIVE_CLOSED] = "The process has ended. This is its last picture.",
		[LIVE_STOPPED] = "The process has ended its session and goes on. This is the last "
				 "picture.",
		[LIVE_DIED] = "The process was killed, or crashed. This is its last picture.",
		[LIVE_BROKEN] = "The session makes no sense any more. This is the last picture.",
	};
	if (s->is_command)
		return command_status(s);
	const struct live_session *l = foremost(s);
	struct live_status status = {
		.state = states[l->state],
		.reason = reasons[l->state],
		.over = l->state != LIVE_RUNNING,
		.sessions = s->session_count,
	};
	if (l->state == LIVE_RUNNING && live_session_orphaned(l))
		status.state = "live, recorder gone";
	return status;
}

int live_source_run(struct live_source *s, struct run **out, uint64_t *ttft_ns)
{
	return live_look_run(&s->look, s->sessions, out, ttft_ns);
}

void live_source_reset(struct live_source *s)
{
	s->look.reset = 1;
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
	keeper_stop(&s->keeper);
	live_look_fini(&s->look);
	free(s);
}
