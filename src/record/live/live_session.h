/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of a process that still runs. They are found among the process's open and mapped files,
 * and mapped read-only. A session stays readable when its process has ended, or when its file was
 * unlinked. guard_install() comes first (record_guard.h). One thread.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "record/process.h"

/* Called with a descriptor for reading only, which the callee closes. */
typedef void (*live_find_fn)(void *context, int fd);

/*
 * Call fn for each session file of a process: in a recorder's directory, or the memory (memfd) of a
 * program that embeds libbrick. A recorder has the sessions of all recorded processes open. Returns
 * the number of calls. -ENOENT: no such process; -EACCES: it is another user's; or -errno.
 */
int live_find(pid_t pid, live_find_fn fn, void *context);

enum live_state {
	LIVE_RUNNING,
	LIVE_CLOSED,  /* ended cleanly */
	LIVE_STOPPED, /* the process has closed its session, and goes on */
	LIVE_DIED,    /* the process was killed, or crashed: the session is not closed */
	LIVE_BROKEN,  /* the file's contents are invalid */
};

struct live_session {
	struct live_session *next; /* the caller's */
	dev_t device;		   /* with `inode`: tells files apart */
	ino_t inode;
	int fd;
	struct process process; /* the writer; pid 0: it is hidden in another PID namespace */
	struct drain *drain;	/* a view: reading changes nothing */
	enum live_state state;	/* of the last live_session_check() */
	uint64_t end_ticks;	/* 0: it runs */
	int named;		/* the file had a name when it was opened; a memfd has none */
};

/*
 * Open a session, with its state. Takes fd, also on failure. NULL: *why (static text) says why it
 * is unusable.
 */
struct live_session *live_session_open(int fd, const char **why);

/* NULL is legal. */
void live_session_close(struct live_session *session);

/* Update state and end_ticks. */
void live_session_check(struct live_session *session);

/* 1 if the file was unlinked since it was opened: its recorder is gone. */
int live_session_orphaned(const struct live_session *session);
