/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records finished commands with their times, on a thread of Brick's that polls some dozens of
 * times a second while commands are pending. The program's threads record only when a queue's ring
 * is full, when the recording's mode asks for it, and at exit. Any thread.
 */
#pragma once

#include "attach/opencl/opencl_queue.h"

/* Start the thread, and watch the program's exit, when the first queue is made. */
void completions_start(void);

/* Have the thread poll soon. */
void completions_wake(void);

/* A command was added to this queue's ring. */
void completions_pushed(struct queue *queue);

/* The ring is full: 1 when there is room again, after a wait that is never long. */
int completions_make_room(struct queue *queue);

/*
 * Wait until all commands of the queue are done, and record them; gives up if none finishes for a
 * while. The wait is recorded as a sample of the calling thread.
 */
void completions_synchronise(struct queue *queue);
