/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process is held by a pidfd, so that another that gets its number is not taken for it. A
 * number in a session is that of its own pid namespace: where it is no process of ours, only the
 * session itself can say that it has ended. Called by src/record/live/live_source.c.
 */
#include "record/live/live_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "brick/clock.h"
#include "record/record_guard.h"
#include "record/pid_namespace.h"

/* Its file's name may be longer than what is read; then it is found by none. */
static void hold_writer(struct live_session *s)
{
	char path[64], name[4096];

	snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
	file_link(path, name, sizeof name);
	const char *base = strrchr(name, '/');
	s->process =
		pid_namespace_hold_writer((pid_t)drain_header(s->drain)->pid, base ? base : name);
}

struct live_session *live_session_open(int fd, const char **why)
{
	struct live_session *s = calloc(1, sizeof *s);
	struct stat st;

	*why = "out of memory";
	if (!s)
		goto fail;
	s->fd = fd;
	s->process.pidfd = -1;
	*why = "it is no regular file";
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		drain_open_view(&s->drain, fd, &guard_mappings, why) < 0)
		goto fail;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	s->named = st.st_nlink > 0;
	hold_writer(s);
	live_session_check(s);
	return s;
fail:
	free(s);
	close(fd);
	return NULL;
}

void live_session_close(struct live_session *s)
{
	if (!s)
		return;
	process_release(&s->process);
	drain_close(s->drain);
	close(s->fd);
	free(s);
}

void live_session_check(struct live_session *s)
{
	uint64_t end_ticks;
	int closed = drain_state(s->drain, &end_ticks) == BRICK_SESSION_CLOSED;
	int exited = process_has_ended(&s->process);

	if (drain_fault(s->drain))
		s->state = LIVE_BROKEN;
	else if (closed)
		s->state = exited ? LIVE_CLOSED : LIVE_STOPPED;
	else
		s->state = exited ? LIVE_DIED : LIVE_RUNNING;
	if (s->state == LIVE_RUNNING)
		s->end_ticks = 0;
	else if (!s->end_ticks)
		s->end_ticks = closed && end_ticks ? end_ticks : drain_ticks(s->drain);
}

int live_session_orphaned(const struct live_session *s)
{
	struct stat st;

	return s->named && fstat(s->fd, &st) == 0 && st.st_nlink == 0;
}
