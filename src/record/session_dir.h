/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private directory through which sessions reach the recorder: in /dev/shm if that has space,
 * else in $TMPDIR or /tmp. The recorder holds a lock on it. The files PID-UNIQUE.session in it are
 * sessions. It may outlive its recorder (keeper.h), and another one takes it over. One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "brick/abi/session.h"
#include "record/control.h"

/* Does what a person asks of the recorder, and fills the answer. 0 or -errno. */
typedef int (*session_dir_asked_fn)(
	void *context, const struct control_request *request, struct control_answer *answer);

struct session_dir {
	char path[256];
	int fd;
	int lock_fd;	 /* the file `lock`: locked, sessions are wanted; -1: a keeper has it */
	int recorder_fd; /* the file `recorder`: locked, the directory has one */
	int told_fd;	 /* readable when session_dir_hear() has something to hear; -1: no socket */
	/* shared memory: processes that cannot create a session add to it (atomically) */
	struct brick_session_refusals *refusals;
	session_dir_asked_fn asked; /* by session_dir_hear(); NULL: requests are refused */
	void *context;
};

/*
 * Create a directory, and remove the stale directories of killed recorders. 0, or -errno: there is
 * nothing to remove.
 */
int session_dir_create(struct session_dir *dir);

/*
 * Takes over a directory that a recorder has left. -EBUSY: it has a recorder; -ENOENT: it is gone;
 * BRICK_EVERSION: its recorder was of another version; -EPERM: it is somebody else's; -errno. After
 * an error nothing has changed.
 */
int session_dir_take_over(struct session_dir *dir, const char *path);

/* True if a directory of ours has no recorder. */
bool session_dir_is_left(const char *path);

/* Leaves the directory to the next recorder. */
void session_dir_leave(struct session_dir *dir);

/* Remove the directory with its files. Only after a session_dir_create() that succeeded. */
void session_dir_remove(struct session_dir *dir);

/*
 * Add to the refusals the messages of processes that cannot reach the directory, and answer
 * requests (record/control.h). Never blocks.
 */
void session_dir_hear(const struct session_dir *dir);

/* Call fn for every session file. `pid` is the number in its name. 0 or -errno. */
typedef void (*session_dir_fn)(void *context, const char *name, pid_t pid);
int session_dir_each(const struct session_dir *dir, session_dir_fn fn, void *context);
