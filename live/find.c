/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/fd. Names only say what to open; whether it is a session is decided on it. */
#include "live/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int try_entry(int directory, const char *name, live_find_fn fn, void *context)
{
	char target[4096];
	ssize_t n = readlinkat(directory, name, target, sizeof target - 1);

	if (n <= 0)
		return 0;
	target[n] = '\0';
	if (!looks_like_session(target))
		return 0;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	fn(context, fd);
	return 1;
}

int live_find(pid_t pid, live_find_fn fn, void *context)
{
	char path[64];
	struct dirent *entry;
	int found = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *list = opendir(path);
	if (!list)
		return errno == ENOENT ? -ENOENT : errno == EPERM ? -EACCES : -errno;
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			found += try_entry(dirfd(list), entry->d_name, fn, context);
	closedir(list);
	return found;
}
