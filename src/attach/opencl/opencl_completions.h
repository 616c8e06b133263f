/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching the times of commands that are done and recording them, on a thread of our own that
 * looks a few dozen times a second while there is something to look for. The program's threads do
 * it only when a queue's ring is full, where the mode of the recording wants it, and at exit. Any
 * thread.
 */
#pragma once

#include "attach/opencl/opencl_queue.h"

/* There is a queue to look after: from now on the thread runs, and the exit is watched. */
void completions_start(void);

/* Look soon. */
void completions_wake(void);

/* A command was added to this queue's ring. */
void completions_pushed(struct queue *queue);

/* The ring is full: 1 when there is room again, after a wait that is never long. */
int completions_make_room(struct queue *queue);

/*
 * Wait until all commands of the queue are done, and record them; gives up when nothing moves for a
 * while. The wait is a sample of its thread.
 */
void completions_synchronise(struct queue *queue);
