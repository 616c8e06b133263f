/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private directory through which sessions reach the recorder: in shared memory where there is
 * space, locked while its recorder lives. Files in it named PID-UNIQUE.session are sessions.
 * One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include "brick/abi/session.h"

struct session_dir {
	char path[256];
	int fd, lock_fd;
	int told_fd; /* readable when session_dir_hear() has something to hear; -1: no socket */
	struct brick_session_refusals *refusals; /* added to by processes without a session */
};

/* Make one, and remove those that recorders left who were killed. 0 or -errno. */
int session_dir_create(struct session_dir *dir);

/* Remove the directory with all that is in it. Not after a create that failed. */
void session_dir_remove(struct session_dir *dir);

/* Add to the refusals what processes tell that cannot reach the directory. */
void session_dir_hear(const struct session_dir *dir);

/* Call fn for every session file; pid is the one in its name. */
typedef void (*session_dir_fn)(void *context, const char *name, pid_t pid);
int session_dir_each(const struct session_dir *dir, session_dir_fn fn, void *context);
