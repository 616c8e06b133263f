/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick record --push` and `brick serve --push`: send the windows of each file of a recording, by
 * `brick push` as a child that goes behind other programs, so that neither the program nor the
 * recorder waits for a server. One child and one file at a time; a few files wait, held open, as
 * the ring may remove their names. A thread of ours starts the children: the encoding thread is
 * SCHED_IDLE, its children would be, too, and without privileges nobody leaves that policy.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_PUSH_WAITING = 4 };

/* All zero is legal, and sends nothing. */
struct record_push {
	const char *db; /* of --db; NULL: the default */
	bool is_server; /* a child's complaint counts as a loss; the first of several is told */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	int waiting[RECORD_PUSH_WAITING + 1]; /* the oldest first; one more for the last file */
	size_t count;
	bool is_sending, is_ending, is_over;
	int said;	  /* what the last child writes for the user; -1: nothing */
	uint64_t lost;	  /* files that could not wait, or whose child failed */
	uint64_t sent;	  /* files whose child had no complaint */
	uint64_t cost_ns; /* CPU time of the last child */
	bool is_failing;  /* the last child had a complaint */
};

/* Begins, with the caller's scheduling. Without a thread all files count as lost. */
void record_push_start(struct record_push *push);

/* recorder_options.file_ended: path is a file that is complete. Any thread, one at a time. */
void record_push_file(void *push, const char *path);

/* As record_push_file(): takes an open file, which may still grow. */
void record_push_open_file(struct record_push *push, int file);

/* True while a file waits or is sent. False: the numbers of *push do not change. */
bool record_push_is_busy(struct record_push *push);

/*
 * Sends what waits and the last file (NULL: none), and warns of lost files. It waits some seconds
 * at most; then the children go on without the recorder.
 */
void record_push_end(struct record_push *push, const char *path);
