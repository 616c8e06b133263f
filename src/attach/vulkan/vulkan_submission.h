/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A submission from its call until its commands are recorded. The caller holds the device's lock,
 * unless a comment says otherwise.
 */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_commands.h"
#include "attach/vulkan/readback.h"

/* A timed command, on its way. */
struct pending {
	struct vulkan_step step;
	uint32_t at;	 /* index of its first timestamp in slot->results */
	uint32_t batch;	 /* index of its batch in the program's call */
	uint64_t number; /* of the command */
};

enum { MAX_AFTER = 8 }; /* commands that a batch's commands come after; further are dropped */

struct vulkan_batch {
	uint32_t after_count;
	uint64_t after[MAX_AFTER]; /* numbers of commands */
};

/* A batch waits for a semaphore, or signals it. */
struct vulkan_edge {
	VkSemaphore semaphore;
	uint64_t value; /* of a timeline semaphore; 0: a binary semaphore */
	uint32_t batch;
	bool is_signal;
};

/* The commands that a call of the program's submits. */
struct vulkan_submission {
	struct vulkan_submission *next;
	struct vulkan_slot *slot;
	struct brick_launch launch;
	uint64_t launch_ns;   /* CLOCK_MONOTONIC, inside of the call */
	uint64_t begin_ticks; /* the layer's cost before the call (commands_cost()) */
	ARRAY(struct vulkan_chunk *) chunks;
	ARRAY(struct pending) pending; /* batch by batch */
	uint32_t timestamps;
	uint32_t untimed;
	uint32_t batch_count;
	struct vulkan_batch *batches;
	ARRAY(struct vulkan_edge) edges; /* batch by batch, a batch's waits before its signals */
	bool failed;			 /* no memory: commands or edges are missing */
};

/* A submission with so many batches; NULL: no memory. */
struct vulkan_submission *submission_create(uint32_t batch_count);
void submission_destroy(struct vulkan_submission *submission);

/* Set the launch; call it just before the program's call goes on. */
void submission_launch(struct vulkan_submission *submission);

/* The submission in a list that has the command with this number; NULL: none. */
const struct vulkan_submission *submission_find(
	const struct vulkan_submission *list, uint64_t number);

void submission_edge(struct vulkan_submission *submission, const struct vulkan_edge *edge);

/*
 * Resolve the edges, once the commands have their numbers: set batches[].after, and remember for
 * each signal the last command before it, or `before`, the newest command in the queue before this
 * call. are_numbered: 0 if the commands are not recorded.
 */
void submission_order(struct vulkan_submission *submission, int are_numbered, uint64_t before);

/*
 * The number of the last command before a semaphore's signal; 0: not known. Each value of a
 * timeline semaphore is a signal of its own. A binary semaphore has value 0, and the wait resets
 * it. Any thread.
 */
uint64_t semaphores_wait(VkSemaphore semaphore, uint64_t value);

/* Forgets an object; the next one may have the same handle. */
void semaphores_forget(VkSemaphore semaphore);

/* Records finished submissions, on all queues. */
void submissions_take_done(struct vulkan_device *device);
