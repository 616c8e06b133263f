/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching the times of commands that are done and recording them, on a thread of our own that
 * looks a few dozen times a second while there is something to look for. The program's threads do
 * it only when a queue's ring is full, and at exit. Any thread.
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
 * Record what is done of one queue; how many commands. The caller holds queue->taking. must_decide:
 * what waits for a better reading of the clock waits no longer.
 */
uint32_t completions_take(struct queue *queue, int must_decide);

/*
 * Is this command done, the index-th of its queue? 1: and its times are filled in; 0: not yet; -1:
 * it has none.
 */
int completion_poll(struct queue *queue, struct pending *pending, uint64_t index);

/* Record one whose times are known, or count it as not timed. */
void completion_record(struct queue *queue, const struct pending *pending);
void completion_refuse(struct queue *queue);

/* Release what a pending command holds. */
void completion_release(struct pending *pending);
