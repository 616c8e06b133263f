/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of a process that still runs: found where the kernel lists what the process has open,
 * each mapped read-only and held together with its process. A session stays readable when the
 * process has ended or the file has lost its name. One thread.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "record/process.h"

/* Gets a descriptor that is its own to close. */
typedef void (*live_find_fn)(void *context, int fd);

/*
 * Call fn for each session of a process: the file of a recorder, or the memory of a program that
 * embeds libbrick. A recorder has those of all that it records open. They are opened for reading
 * only; returns how many. -ENOENT: no such process. -EACCES: it is another user's. -errno.
 */
int live_find(pid_t pid, live_find_fn fn, void *context);

enum live_state {
	LIVE_RUNNING,
	LIVE_CLOSED,  /* ended cleanly */
	LIVE_STOPPED, /* closed its session, and goes on */
	LIVE_DIED,    /* without closing it: killed, or crashed */
	LIVE_BROKEN,  /* what it holds makes no sense any more */
};

struct live_session {
	struct live_session *next;
	dev_t device;
	ino_t inode;
	int fd;
	struct process process;
	struct drain *drain;
	enum live_state state;
	uint64_t end_ticks; /* 0: while it runs */
	int named;	    /* its file had a name when it was opened */
};

/* Takes fd, also when it fails. NULL: *why (static text) says why it is none that can be used. */
struct live_session *live_session_open(int fd, const char **why);
void live_session_close(struct live_session *session);

/* Look how it is. */
void live_session_check(struct live_session *session);

/* 1 when its file has lost its name since: its recorder is gone. */
int live_session_orphaned(const struct live_session *session);
