/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/PID/fd and /proc/PID/maps: a session with a name is open only while its process works
 * on it, one without a name is always. Names only say what to open; whether it is a session is
 * decided on it. Who has one both ways is found once.
 */
#include "record/live/live_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/scope.h"

struct search {
	pid_t pid;
	live_find_fn fn;
	void *context;
	int found;
	ARRAY(struct stat) seen;
};

static int ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static int looks_like_session(const char *target)
{
	if (!strncmp(target, "/memfd:brick-session", strlen("/memfd:brick-session")))
		return 1;
	return ends_with(target, ".session") || ends_with(target, ".session (deleted)");
}

/* Hand out what is behind a descriptor of ours, unless it was already; takes it. */
static void offer(struct search *s, int fd)
{
	struct stat st;

	if (fd < 0)
		return;
	int is_new = !fstat(fd, &st);
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
	ssize_t n = readlinkat(directory, name, target, sizeof target - 1);

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

	if (!ends_with(target, ".session"))
		return;
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)s->pid, target);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		fd = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	offer(s, fd);
}

static void search_mappings(struct search *s)
{
	char path[64], *line = NULL;
	size_t capacity = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)s->pid);
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

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
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
