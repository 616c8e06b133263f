/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people ask of a running recorder: to record, to stop for a while, to keep a mark. A request
 * is a datagram to the socket of the recorder's directory, and the answer goes back to its sender.
 * The recorder switches its processes by a word on the page that all share
 * (struct brick_session_refusals), and answers only itself, its user and root. One thread at a
 * time.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { CONTROL_TEXT = 256 };

enum control_kind {
	CONTROL_ASK, /* change nothing */
	CONTROL_ON,
	CONTROL_OFF,
	CONTROL_MARK,  /* with a text */
	CONTROL_LEAVE, /* leave the processes to the next recorder */
};

struct control_request {
	uint64_t magic; /* CONTROL_MAGIC */
	uint32_t kind;	/* enum control_kind */
	uint32_t reserved;
	char text[CONTROL_TEXT]; /* ends with a NUL */
};

struct control_answer {
	uint64_t magic;
	int32_t error;	    /* -errno; 0: it was done */
	uint32_t off;	    /* 1: recording is switched off */
	uint32_t heeded;    /* processes that have followed the last switch */
	uint32_t processes; /* that have a session now */
	uint64_t marks;	    /* that the recording has */
};

#define CONTROL_MAGIC 0x314c52544e434b42ull /* "BKCNTRL1" */

/*
 * The directory of the recorder of a process, which may be gone. -ENOENT, -EACCES and
 * BRICK_ENOTRECORDED as below.
 */
int control_directory(pid_t pid, char *path, size_t bytes);

/*
 * Asks the recorder of a process; `pid` may be the recorder's own, too. -ENOENT: there is no such
 * process; -EACCES: it is another user's; BRICK_ENOTRECORDED: no recorder records it;
 * -ECONNREFUSED: its recorder is gone; -ETIMEDOUT: its recorder does not answer; what the recorder
 * answered as error; -errno.
 */
int control_ask(pid_t pid, enum control_kind kind, const char *text, struct control_answer *answer);
