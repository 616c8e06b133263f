/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watched session. Its process is held by a pidfd, which no other process can take over with the
 * number; where there are none, by its start time.
 */
#include "record/watched.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "record/guard.h"
#include "record/session_dir.h"

/* Threads of a process that has closed its session, on its way out, may record for a moment yet. */
#define LINGER_NS 100000000ull

static const char *open_file(struct watched *s, int directory)
{
	const char *why = NULL;

	s->fd = openat(directory, s->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0)
		return "it cannot be opened";
	return drain_open(&s->drain, s->fd, &guard_mappings, &why) ? why : NULL;
}

struct watched *watched_open(int directory, const char *name, pid_t pid, const char **why)
{
	struct watched *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	snprintf(s->name, sizeof s->name, "%s", name);
	s->pid = pid;
	s->start_time = process_start_time(pid);
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	s->consumed_ns = monotonic_ns();
	*why = open_file(s, directory);
	return s;
}

static int has_exited(const struct watched *s)
{
	struct pollfd fd = {.fd = s->pidfd, .events = POLLIN};

	if (s->pidfd >= 0)
		return poll(&fd, 1, 0) > 0;
	return !s->start_time || process_start_time(s->pid) != s->start_time;
}

int watched_is_over(struct watched *s, uint64_t now_ns, enum drain_end *end, uint64_t *end_ticks)
{
	int exited = has_exited(s);

	if (drain_state(s->drain, end_ticks) == BRICK_SESSION_CLOSED) {
		*end = DRAIN_END_CLOSED;
		if (!s->closed_ns)
			s->closed_ns = now_ns;
		return exited || now_ns - s->closed_ns >= LINGER_NS;
	}
	*end_ticks = brick_ticks();
	*end = exited		       ? DRAIN_END_DEAD
	       : drain_fault(s->drain) ? DRAIN_END_BROKEN
				       : DRAIN_END_OUTLIVED;
	return *end != DRAIN_END_OUTLIVED;
}

void watched_leave_process(struct watched *s)
{
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->pidfd = -1;
}

void watched_close(struct watched *s)
{
	watched_leave_process(s);
	drain_close(s->drain);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}
