/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last process to end finds no other session and removes the directory: each removes its own
 * file before it looks. Called at the end of a process.
 */
#include "lib/session/orphan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/abi/session.h"

/* The process of a session file, PID-UNIQUE.session; 0: it is none. */
static pid_t owner_of(const char *name)
{
	char *end;
	const char *suffix = strrchr(name, '.');
	long pid = strtol(name, &end, 10);

	return suffix && !strcmp(suffix, ".session") && pid > 0 && *end == '-' ? (pid_t)pid : 0;
}

/* Remove the sessions of processes that are gone; how many others are there? */
static int remove_dead(DIR *list)
{
	struct dirent *entry;
	int living = 0;

	while ((entry = readdir(list))) {
		pid_t pid = owner_of(entry->d_name);
		if (pid && kill(pid, 0) && errno == ESRCH)
			unlinkat(dirfd(list), entry->d_name, 0);
		else
			living += pid != 0;
	}
	return living;
}

void brick__orphan_remove(const char *directory, struct brick__shared *session)
{
	KEEP_ERRNO();

	if (!brick__shared_is_held(directory, "lock")) {
		brick__shared_unlink(session);
		int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		DIR *list = fd < 0 ? NULL : fdopendir(fd);
		if (list && !remove_dead(list)) {
			unlinkat(fd, "lock", 0);
			unlinkat(fd, BRICK_SESSION_REFUSALS_NAME, 0);
			rmdir(directory);
		}
		if (list)
			closedir(list);
		else if (fd >= 0)
			close(fd);
	}
}
