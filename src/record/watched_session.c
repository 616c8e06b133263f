/* SPDX-License-Identifier: Apache-2.0 */
/* A usable session has a drain. Its process is held (process.h), so that the end is noticed. */
#include "record/watched_session.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "record/record_guard.h"

/* An exiting process may record for a moment after it has closed its session. */
#define LINGER_NS 100000000ull

static const char *watched_session_open_file(struct watched *s, int directory)
{
	const char *why = NULL;

	s->fd = openat(directory, s->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0)
		return "it cannot be opened";
	if (drain_open(&s->drain, s->fd, &guard_mappings, &why))
		return why;
	drain_go_on(s->drain);
	return NULL;
}

struct watched *watched_open(int directory, const char *name, pid_t pid, const char **why)
{
	struct watched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->process = process_hold_writer(pid, name);
	s->is_elsewhere = s->process.pid != pid;
	s->consumed_ns = monotonic_ns();
	*why = watched_session_open_file(s, directory);
	return s;
}

bool watched_is_over(struct watched *s, uint64_t now_ns, enum drain_end *end, uint64_t *end_ticks)
{
	bool exited = process_has_ended(&s->process);

	if (drain_state(s->drain, end_ticks) == BRICK_SESSION_CLOSED) {
		*end = DRAIN_END_CLOSED;
		if (!s->closed_ns)
			s->closed_ns = now_ns;
		/*
		 * a closed session may go on: a vfork() child that exits closes its parent's, too
		 */
		return exited || (!s->process.pid && now_ns - s->closed_ns >= LINGER_NS);
	}
	*end_ticks = drain_ticks(s->drain);
	*end = exited		       ? DRAIN_END_DEAD
	       : drain_fault(s->drain) ? DRAIN_END_BROKEN
				       : DRAIN_END_OUTLIVED;
	return *end != DRAIN_END_OUTLIVED;
}

void watched_close(struct watched *s)
{
	process_release(&s->process);
	drain_close(s->drain);
	array_fini(&s->off_cpu);
	hashmap_fini(&s->own_tid_of);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}
