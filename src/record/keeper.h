/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that notices when we are killed: it then ends the command that we run, and
 * removes our directory. One thread.
 */
#pragma once

#include <sys/types.h>

struct keeper {
	pid_t pid; /* 0: not started */
	int fd;	   /* our end of the pipe that the keeper reads; open if pid is not 0 */
};

/* What the keeper does first when we were killed, without any descriptor of ours. */
typedef void (*keeper_fn)(void *context);

/*
 * killed: NULL, or called in the keeper, with the memory as it is now. directory: removed with the
 * files in it, but not its folders; NULL: nothing is removed. 0, or -errno and pid is 0.
 */
int keeper_start(struct keeper *keeper, const char *directory, keeper_fn killed, void *context);

/*
 * The same of a session directory, which stays while it has another recorder or any of its
 * processes lives, and so does the lock on it.
 */
int keeper_start_waiting(struct keeper *keeper, const char *directory, int lock_fd);

/* Set the command to end: pid is also its process group. 0: the command has ended. */
void keeper_watch(struct keeper *keeper, pid_t pid);

/* The directory waits from now on, as if we were killed. Legal if it was not started. */
void keeper_leave(struct keeper *keeper);

/* Kill the keeper, which then does nothing: we end cleanly. Legal if it was not started. */
void keeper_stop(struct keeper *keeper);
