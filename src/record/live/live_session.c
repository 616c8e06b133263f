/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions are found in /proc/PID/fd and /proc/PID/maps: a session with a name is open only while
 * its process works on it, one without a name is always. Names only say what to open; the file
 * itself decides whether it is a session. A number in a session is that of its own pid namespace:
 * where it is no process of ours, only the session itself can say that it has ended.
 */
#include "record/live/live_session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/file.h"
#include "base/scope.h"
#include "record/record_guard.h"

struct search {
	pid_t pid;
	live_find_fn fn;
	void *context;
	int found;
	ARRAY(struct stat) seen;
};

static bool live_session_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static bool looks_like_session(const char *target)
{
	if (!strncmp(target, "/memfd:brick-session", strlen("/memfd:brick-session")))
		return true;
	return live_session_ends_with(target, ".session") ||
	       live_session_ends_with(target, ".session (deleted)");
}

/* Hand out what is behind a descriptor of ours, unless it was already; takes it. */
static void offer(struct search *s, int fd)
{
	struct stat st;

	if (fd < 0)
		return;
	bool is_new = !fstat(fd, &st);
	for (size_t i = 0; i < s->seen.count && is_new; i++)
		is_new = s->seen.items[i].st_ino != st.st_ino ||
			 s->seen.items[i].st_dev != st.st_dev;
	if (!is_new || array_push(&s->seen, st)) {
		close(fd);
		return;
	}
	s->fn(s->context, fd);
	s->found++;
}

static void try_descriptor(struct search *s, int directory, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(directory, name, target, sizeof(target) - 1);

	if (n <= 0)
		return;
	target[n] = '\0';
	if (looks_like_session(target))
		offer(s, openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/* Seen from the process's own root: it may have changed that. */
static void try_mapping(struct search *s, const char *target)
{
	char path[4200];

	if (!live_session_ends_with(target, ".session"))
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->pid, target);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		fd = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	offer(s, fd);
}

static void search_mappings(struct search *s)
{
	char path[64], *line = NULL;
	size_t capacity = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	SCOPED_TO(fclose) FILE *in = fopen(path, "re");
	while (in && getline(&line, &capacity, in) > 0) {
		char *target = strchr(line, '/');
		line[strcspn(line, "\n")] = '\0';
		if (target)
			try_mapping(s, target);
	}
	free(line);
}

int live_find(pid_t pid, live_find_fn fn, void *context)
{
	struct search s = {.pid = pid, .fn = fn, .context = context};
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *list = opendir(path);
	if (!list)
		return errno == ENOENT ? -ENOENT : errno == EPERM ? -EACCES : -errno;
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			try_descriptor(&s, dirfd(list), entry->d_name);
	closedir(list);
	search_mappings(&s);
	array_fini(&s.seen);
	return s.found;
}

/* One session. */

/* Its file's name may be longer than what is read; then it is found by none. */
static void hold_writer(struct live_session *s)
{
	char path[64], name[4096];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	file_link(path, name, sizeof(name));
	const char *base = strrchr(name, '/');
	s->process = process_hold_writer((pid_t)drain_header(s->drain)->pid, base ? base : name);
}

struct live_session *live_session_open(int fd, const char **why)
{
	struct live_session *s = calloc(1, sizeof(*s));
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
