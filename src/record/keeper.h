/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that notices when we are killed: it then ends the command that we run, and
 * removes our directory. One thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct keeper {
	pid_t pid; /* 0: not started */
	int fd;	   /* our end of the pipe that the keeper reads; open if pid is not 0 */
};

struct keeper_task {
	const char *directory; /* removed with the files in it, but not its folders; NULL: none */
	/* Called first in the keeper, with the memory as it is now; NULL: nothing is to be done. */
	void (*killed)(void *context);
	void *context;
	const int *kept; /* descriptors that stay open in the keeper, and so do locks on them */
	size_t kept_count;
	/* A session directory stays while it has another recorder or any of its processes lives. */
	bool waits;
};

/* What the keeper does when we were killed. 0, or -errno and pid is 0. */
int keeper_start(struct keeper *keeper, const struct keeper_task *task);

/* Set the command to end: pid is also its process group. 0: the command has ended. */
void keeper_watch(struct keeper *keeper, pid_t pid);

/* The directory waits from now on, as if we were killed. Legal if it was not started. */
void keeper_leave(struct keeper *keeper);

/* Kill the keeper, which then does nothing: we end cleanly. Legal if it was not started. */
void keeper_stop(struct keeper *keeper);
