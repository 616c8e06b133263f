/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick serve --push`: sends the windows of the recording that is served, as it grows. A ring of
 * files is followed from the oldest file to the newest, each until it has ended. `brick push` does
 * it as a child, at most a tenth of the time. What is sent again is not there twice. Main thread.
 */
#pragma once

#include <sys/stat.h>
#include "cli/record_push.h"
#include "lib/keep/file_ring.h"

struct serve_push {
	struct record_push children; /* under its lock */
	struct file_ring ring;	     /* a file of its own is the newest of no others */
	struct stat seen;	     /* the file that was handed over last; no st_ino: none */
	bool is_done;		     /* ... after it had ended */
	uint64_t due_ns;
	bool is_failing;	 /* the last child had a complaint */
	uint64_t sent, failures; /* children without, and with one */
};

/* path: of the recording, outlives *push. */
void serve_push_start(struct serve_push *push, const char *db, const char *path);

/* To be called some times a second. is_part: the recording is known to have earlier files. */
void serve_push_turn(struct serve_push *push, bool is_part);

/* Sends what is there now, and waits some seconds at most. */
void serve_push_end(struct serve_push *push);
