/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of queues (brick/queue.h) that only the library calls: nested commands, losses,
 * sessions' ends and forks. Lock order: list of queues, a queue, session.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/queue.h"

/*
 * Records a command and all commands that ran inside of it, in the order of their begins: all or
 * none. commands[0] is the outermost one, with depth 0; every other one stands behind its holder,
 * and its depth is one more than the holder's. Returns as brick_queue_record().
 */
int brick__queue_record_nested(struct brick_queue *queue,
	const struct brick_command *const *commands, const uint8_t *depths, uint32_t count);

/*
 * Sets the GPU on which the queue's commands run, by the `id` that its backend has
 * (lib/device/gpus.h). Call it before the queue's first command.
 */
BRICK_API void brick__queue_on_gpu(struct brick_queue *queue, const char *backend, uint64_t id);

/* Count losses in the queue's ledger: ends without begins, and one begin that lies too deep. */
void brick__queue_unmatched(struct brick_queue *queue, uint64_t count);
void brick__queue_too_deep(struct brick_queue *queue);

/* change 1: a command of session `serial` is on the way; -1: it was recorded, or counted as lost.
 */
void brick__queue_pending(struct brick_queue *queue, uint32_t serial, int change);

/*
 * Counts the commands still on the way as dropped, when session `serial` ends, or all sessions at
 * the process's end (serial 0, at_exit).
 */
void brick__queues_account(uint32_t serial, bool at_exit);

/* Hold all queues still over a fork; abandon: in the child, while they are locked. */
void brick__queues_lock(void);
void brick__queues_unlock(void);
void brick__queues_abandon(void);
