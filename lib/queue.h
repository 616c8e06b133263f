/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording of devices shares inside of the library: the tables of kernels and sources,
 * lanes of queues, and commands that hold others. Lock order: list of queues, a queue, session.
 */
#ifndef BRICK_LIB_QUEUE_H
#define BRICK_LIB_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include "brick/queue.h"
#include "lib/core.h"

/* Length of `text` in whole UTF-8 characters of at most `most` bytes. */
size_t brick__utf8_cut(const char *text, size_t most);

/* Into a new session, under the session lock. */
void brick__kernels_publish(struct brick__session *session);
void brick__codes_publish(struct brick__session *session);

/* Name of a registered kernel, cut; 0 when there is no such kernel. */
int brick__kernel_name(uint32_t kernel, char *name, size_t bytes);

/* The brick of a kernel that was launched outside of every brick; BRICK_NONE: no entry is left. */
uint32_t brick__kernel_brick(uint32_t kernel);

/* A lane that a queue writes to. The lane stays mapped after its session, as those of threads. */
struct brick__queue_lane {
	struct brick_lane *lane;
	struct brick_record *ring;
	uint64_t mask;
	uint64_t last_end; /* ticks: where the next command may begin */
};

struct brick__queue_name {
	uint64_t number;
	uint32_t flags;
	char name[64];
	char backend[16];
};

/*
 * A lane of session `serial` for a queue whose next command begins at `begin`: one that an equal
 * queue has left before that, or a new one. -ENOENT: that session is over; BRICK_EFULL.
 */
int brick__queue_lane_open(struct brick__queue_lane *out, const struct brick__queue_name *queue,
	uint32_t serial, uint64_t begin);

/* Leave it: free for the next queue while its session (serial) lasts, else unmapped. */
void brick__queue_lane_close(struct brick__queue_lane *lane, uint32_t serial);

/* Times of CLOCK_MONOTONIC in ticks, by a line that is fitted anew as time goes on. Any thread. */
uint64_t brick__ticks_of_ns(uint64_t ns);

/*
 * Record a command and all that ran inside of it: commands[0] is the outermost one, each other
 * stands behind the one that holds it (depths: 0, then one more than its holder), in the order of
 * their begins. All or none. Returns as brick_queue_record().
 */
int brick__queue_record_nested(struct brick_queue *queue,
	const struct brick_command *const *commands, const uint8_t *depths, uint32_t count);

/* Further entries of its ledger. */
void brick__queue_unmatched(struct brick_queue *queue, uint64_t count);
void brick__queue_too_deep(struct brick_queue *queue);

/* A command of session `serial` is on the way (1), or has come back or been counted (-1). */
void brick__queue_pending(struct brick_queue *queue, uint32_t serial, int change);

/* The session ends, or the process (at_exit): what is still on the way is counted as dropped. */
void brick__queues_account(int at_exit);

/* Over a fork. */
void brick__queue_clock_lock(void);
void brick__queue_clock_unlock(void);
void brick__queues_lock(void);
void brick__queues_unlock(void);
void brick__queues_abandon(void); /* in the child, while they are locked */

#endif
