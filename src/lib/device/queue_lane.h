/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues as devices, sessions and forks see them: commands inside of others, and losses. Lock
 * order: list of queues, a queue, session.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/queue.h"

/*
 * Record a command and all that ran inside of it, in the order of their begins. commands[0] is the
 * outermost one; each other one stands behind its holder (depths: 0, then one more than the
 * holder's). All or none. Returns as brick_queue_record().
 */
int brick__queue_record_nested(struct brick_queue *queue,
	const struct brick_command *const *commands, const uint8_t *depths, uint32_t count);

/*
 * The GPU that a backend knows by `id` is where its commands run (lib/device/gpus.h). Before its
 * first command.
 */
BRICK_API void brick__queue_on_gpu(struct brick_queue *queue, const char *backend, uint64_t id);

/* Count losses in its ledger. */
void brick__queue_unmatched(struct brick_queue *queue, uint64_t count);
void brick__queue_too_deep(struct brick_queue *queue);

/* A command of session `serial` is on the way (1), or has come back or been counted (-1). */
void brick__queue_pending(struct brick_queue *queue, uint32_t serial, int change);

/*
 * A session ends, or the process with all of them (serial 0, at_exit): what is still on the way is
 * counted as dropped.
 */
void brick__queues_account(uint32_t serial, bool at_exit);

/* Over a fork; in the child, while they are locked. */
void brick__queues_lock(void);
void brick__queues_unlock(void);
void brick__queues_abandon(void);
