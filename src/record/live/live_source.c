/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions join as they are found and stay to the end, so that a process is still shown when it is
 * gone. A look takes as many records as a step needs; the first looks take whole rings, to find the
 * first token.
 */
#include "record/live/live_source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/process_start.h"
#include "base/process_tree.h"
#include "brick/clock.h"
#include "brick/error.h"
#include "lib/drain/neighbours.h"
#include "record/keeper.h"
#include "record/live/live_session.h"
#include "record/live/live_snapshot.h"
#include "record/record_guard.h"

/* One look after the other, each as a run. */

enum {
	MAX_SESSIONS = 256,
	MIN_RECORDS = 8192, /* of a lane */
	MAX_RECORDS = 1 << 18,
	ALL_RECORDS = 1 << 18, /* of all lanes together, but for the first look */
	THREADS_MS = 100,      /* between two readings of what threads ran */
};

struct live_look {
	size_t capacity; /* records of a lane to look at */
	live_first_token_fn first_token;
	uint64_t ttft_ns;
	int ttft_known;	    /* ttft_ns is valid */
	int first_seen;	    /* no further search for the first token: it is known, or too late */
	uint64_t first_due; /* records that a lane must have written before the next search */
	struct run *base;   /* statistics count from here on; NULL: from the start */
	int reset;	    /* the next look becomes the base */
};

static enum drain_end live_source_end_of(enum live_state state)
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

/* The number of records that the busiest lane has ever written. */
static uint64_t most_written(const struct live_session *sessions)
{
	uint64_t most = 0;

	for (const struct live_session *l = sessions; l; l = l->next)
		for (uint32_t i = drain_lanes(l->drain); i-- > 0;) {
			uint64_t written = drain_level(l->drain, i).written;
			most = written > most ? written : most;
		}
	return most;
}

/*
 * Search for the first token until it is found, or until rings have overwritten records. A search
 * takes whole rings, so each waits until twice as many records were written.
 */
static void find_first_token(struct live_look *look, const struct live_session *sessions,
	const struct run *run, int whole)
{
	if (look->first_seen || most_written(sessions) < look->first_due)
		return;
	look->first_due = 2 * most_written(sessions);
	look->first_seen = !whole;
	if (whole && look->first_token(run, &look->ttft_ns))
		look->first_seen = look->ttft_known = 1;
}

/* Does the run hold a step from begin to end? */
static bool has_step(const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++)
		if (!run->steps[i].open)
			return true;
	return false;
}

static bool knows_steps(const struct run *run)
{
	for (size_t l = 0; l < run->lane_count; l++)
		for (uint32_t b = 0; run->lanes[l].stats && b < run->brick_count; b++)
			if (brick_is_step((uint32_t)run->bricks[b].well_known) &&
				run->lanes[l].stats[b].count)
				return true;
	return false;
}

static size_t capacity_now(const struct live_look *look, const struct live_session *sessions)
{
	size_t lanes = 0;

	for (const struct live_session *l = sessions; l; l = l->next)
		lanes += drain_lanes(l->drain);
	size_t most = ALL_RECORDS / (lanes ? lanes : 1);
	if (!look->first_seen && most_written(sessions) >= look->first_due)
		return MAX_RECORDS;
	return look->capacity < most ? look->capacity : most < 1024 ? 1024 : most;
}

/* As live_source_run() says. */
static int look_run(struct live_look *look, const struct live_session *sessions, struct run **out,
	uint64_t *ttft_ns)
{
	struct snapshot_part parts[MAX_SESSIONS];
	struct run *run = NULL;
	size_t count = 0;
	int whole = 0;

	for (const struct live_session *l = sessions; l; l = l->next)
		parts[count++] = (struct snapshot_part){l->drain, live_source_end_of(l->state),
			l->end_ticks ? l->end_ticks : drain_ticks(l->drain)};
	if (!count)
		return 0;
	int error = live_snapshot(&run, parts, count, capacity_now(look, sessions), &whole);
	if (error < 0)
		return error;
	find_first_token(look, sessions, run, whole);
	if (!has_step(run) && knows_steps(run) && look->capacity < MAX_RECORDS)
		look->capacity *= 2;
	if (look->reset) {
		run_destroy(look->base);
		look->base = run;
		look->reset = 0;
		error = live_snapshot(&run, parts, count, capacity_now(look, sessions), &whole);
		if (error < 0)
			return error;
	}
	if (look->base)
		live_subtract(run, look->base);
	if (look->ttft_known)
		*ttft_ns = look->ttft_ns;
	*out = run;
	return 1;
}

/* The source. */

struct live_source {
	pid_t pid;		       /* of the process, or of the recorder */
	unsigned long long start_time; /* ... as it was found */
	bool is_command, reaped;
	int exit_code;
	struct live_session *sessions; /* oldest first */
	size_t session_count, refused;
	const char *refused_why;
	struct keeper keeper;
	struct neighbours *neighbours; /* who else uses the CPUs; NULL: not known */
	struct live_look look;
};

static struct live_source *live_source_create(live_first_token_fn first_token)
{
	struct live_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->look = (struct live_look){.capacity = MIN_RECORDS, .first_token = first_token};
	guard_install();
	brick_clock_get();
	neighbours_create(&s->neighbours);
	return s;
}

static bool live_source_is_known(const struct live_source *s, const struct stat *st)
{
	for (const struct live_session *l = s->sessions; l; l = l->next)
		if (l->device == st->st_dev && l->inode == st->st_ino)
			return true;
	return false;
}

static void live_source_add_session(void *context, int fd)
{
	struct live_source *s = context;
	struct stat st;
	const char *why;

	if (fstat(fd, &st) < 0 || live_source_is_known(s, &st) ||
		s->session_count >= MAX_SESSIONS) {
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

/*
 * Look for new sessions of the process and of all that it has started. A recorder has theirs open.
 * 0, or the process's own error of live_find(): the others' are theirs alone.
 */
static int live_source_find(struct live_source *s)
{
	struct process_tree tree = {0};
	int error = process_tree_read(&tree, s->pid, s->is_command ? 1 : MAX_SESSIONS);

	for (size_t i = 0; i < tree.of.count; i++) {
		int found = live_find(tree.of.items[i], live_source_add_session, s);
		if (!i && found < 0)
			error = found;
	}
	process_tree_fini(&tree);
	return error;
}

int live_source_process(
	struct live_source **out, pid_t pid, live_first_token_fn first_token, const char **why)
{
	struct live_source *s = live_source_create(first_token);

	*why = NULL;
	if (!s)
		return -ENOMEM;
	s->pid = pid;
	s->start_time = process_start_time(pid);
	int found = s->start_time ? live_source_find(s) : -ENOENT;
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
static void live_source_become(const struct live_command *command)
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
	struct live_source *s = live_source_create(first_token);

	if (!s)
		return -ENOMEM;
	s->is_command = true;
	int error =
		keeper_start(&s->keeper, &(struct keeper_task){.directory = command->directory});
	s->pid = error ? -1 : fork();
	if (s->pid < 0) {
		error = error ? error : -errno;
		live_source_destroy(s);
		return error;
	}
	if (!s->pid)
		live_source_become(command);
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
	s->reaped = true;
	keeper_watch(&s->keeper, 0);
	s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void live_source_look(struct live_source *s)
{
	reap(s, WNOHANG);
	if (!s->reaped && process_start_time(s->pid) == s->start_time)
		live_source_find(s);
	for (struct live_session *l = s->sessions; l; l = l->next)
		if (l->state == LIVE_RUNNING || l->state == LIVE_STOPPED) {
			live_session_check(l);
			drain_watch_threads(l->drain, THREADS_MS);
		}
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

/* Who had the CPUs since the source was opened, as far as the accounts of the kernel tell. */
static void live_source_add_presence(const struct live_source *s, struct run *run)
{
	uint64_t own_ns;

	if (s->neighbours &&
		!neighbours_use(s->neighbours, (uint32_t)s->pid, &run->machine, &own_ns))
		run->program_cpu_ns = own_ns;
	for (const struct live_session *l = s->sessions; l; l = l->next)
		drain_threads_account(l->drain, &run->off_cpu);
}

int live_source_run(struct live_source *s, struct run **out, uint64_t *ttft_ns)
{
	int rc = look_run(&s->look, s->sessions, out, ttft_ns);

	if (rc > 0)
		live_source_add_presence(s, *out);
	return rc;
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

bool live_source_end(struct live_source *s, unsigned patience_ms)
{
	reap(s, WNOHANG);
	if (!s->is_command || s->reaped)
		return true;
	kill(s->pid, SIGTERM);
	for (unsigned waited = 0; !s->reaped && waited < patience_ms; waited += 20) {
		sleep_ms(20);
		reap(s, WNOHANG);
	}
	if (s->reaped)
		return true;
	kill(-s->pid, SIGKILL);
	reap(s, 0);
	return false;
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
	neighbours_destroy(s->neighbours);
	run_destroy(s->look.base);
	free(s);
}
