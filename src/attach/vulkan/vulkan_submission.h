/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A submission on its way, from its call until its results are there and its commands are recorded.
 * Under the device's lock.
 */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_commands.h"
#include "attach/vulkan/readback.h"

/* A timed command, on its way. */
struct pending {
	struct vulkan_step step;
	uint32_t at;	/* of its first timestamp in the slot's memory */
	uint32_t batch; /* of the program's call */
	uint64_t number;
};

enum { MAX_AFTER = 8 }; /* commands that those of a batch come after */

struct vulkan_batch {
	uint32_t after_count;
	uint64_t after[MAX_AFTER]; /* numbers */
};

/* A batch waits for a semaphore, or signals it. */
struct vulkan_edge {
	VkSemaphore semaphore;
	uint64_t value; /* of a timeline; 0: it is binary */
	uint32_t batch;
	bool is_signal;
};

/* The commands that a call of the program's submits. */
struct vulkan_submission {
	struct vulkan_submission *next;
	struct vulkan_slot *slot;
	struct brick_launch launch;
	uint64_t launch_ns;   /* of CLOCK_MONOTONIC, within the call */
	uint64_t begin_ticks; /* that we took ahead of the call (commands_cost()) */
	ARRAY(struct vulkan_chunk *) chunks;
	ARRAY(struct pending) pending; /* batch by batch */
	uint32_t timestamps;
	uint32_t untimed;
	uint32_t batch_count;
	struct vulkan_batch *batches;
	ARRAY(struct vulkan_edge) edges; /* batch by batch, and of each its waits first */
	bool failed;			 /* no memory: some of it is missing */
};

/* One of so many batches; NULL: no memory. */
struct vulkan_submission *submission_create(uint32_t batch_count);
void submission_destroy(struct vulkan_submission *submission);

/* Just before the program's call. */
void submission_launch(struct vulkan_submission *submission);

/* The submission in a list that has the command of that number; NULL: none has. */
const struct vulkan_submission *submission_find(
	const struct vulkan_submission *list, uint64_t number);

void submission_edge(struct vulkan_submission *submission, const struct vulkan_edge *edge);

/*
 * Call it when its commands have their numbers. Tells the commands of each batch which ones they
 * come after, and commands that wait for its signals that they come after its last command, or
 * after `before`, the newest one in the queue ahead of this call. are_numbered is 0 if the commands
 * are not recorded.
 */
void submission_order(struct vulkan_submission *submission, int are_numbered, uint64_t before);

/*
 * Finds the command that a semaphore's signal stands for, so that commands that wait for the signal
 * come after it. A value of a timeline semaphore is a signal of its own; binary ones have value 0,
 * and are reset by being waited for. 0: not known. Any thread.
 */
uint64_t semaphores_wait(VkSemaphore semaphore, uint64_t value);

/* Forgets an object; the next one may have the same handle. */
void semaphores_forget(VkSemaphore semaphore);

/* Records finished submissions, on all queues. */
void submissions_take_done(struct vulkan_device *device);
