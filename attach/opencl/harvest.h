/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching the times of commands that are done and recording them, on a thread of our own that
 * looks a few dozen times a second while there is something to look for. The program's threads do
 * it only when a queue's ring is full, and at exit. Any thread.
 */
#ifndef BRICK_ATTACH_OPENCL_HARVEST_H
#define BRICK_ATTACH_OPENCL_HARVEST_H

#include "attach/opencl/queue.h"

/* There is a queue to look after: from now on the thread runs, and the exit is watched. */
void harvest_start(void);

/* Look soon. */
void harvest_wake(void);

/* A command was added to this queue's ring. */
void harvest_pushed(struct queue *queue);

/* The ring is full: 1 when there is room again, after a wait that is never long. */
int harvest_make_room(struct queue *queue);

/*
 * Record what is done of one queue; how many commands. The caller holds queue->harvest.
 * harvest_queue() chooses between the two by the queue's order.
 */
uint32_t harvest_queue(struct queue *queue);
uint32_t harvest_unordered(struct queue *queue);

/* Is this command done? 1: and its times are filled in; 0: not yet; -1: it has none. */
int harvest_look(struct queue *queue, struct pending *pending);

/* Record one whose times are known, or count it as not timed. */
void harvest_record(struct queue *queue, const struct pending *pending);
void harvest_refuse(struct queue *queue);

/* Release what a pending command holds. */
void harvest_release(struct pending *pending);

#endif
