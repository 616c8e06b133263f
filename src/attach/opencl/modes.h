/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes of the recording in which queues are synchronised (BRICK_MODE, see session.h): after every
 * command, or when launches come from another layer than those before. Any thread.
 */
#pragma once

#include "attach/opencl/opencl_queue.h"

/* A command has been added to this queue; it was launched from that layer. */
void modes_enqueued(struct queue *queue, int layer);

/* A command of that layer will be added. 1: it had to wait. */
int modes_enqueuing(struct queue *queue, int layer);
