/* SPDX-License-Identifier: Apache-2.0 */
/* A submission on its way, shared by submits.c and harvest.c. Under the device's lock. */
#ifndef BRICK_ATTACH_VULKAN_SUBMISSION_H
#define BRICK_ATTACH_VULKAN_SUBMISSION_H

#include "attach/vulkan/commands.h"
#include "attach/vulkan/readback.h"
#include "attach/vulkan/submits.h"

/* A timed command, on its way. */
struct pending {
	struct vulkan_step step;
	uint32_t at; /* of its first timestamp in the slot's memory */
	uint64_t number;
};

enum { AFTER_MOST = 8 }; /* commands that those of a submission come after */

struct vulkan_submission {
	struct vulkan_submission *next;
	struct vulkan_slot *slot;
	struct brick_launch launch;
	struct vulkan_chunk **chunks;
	uint32_t chunk_count, pending_count, chunk_room, pending_room;
	struct pending *pending;
	uint32_t timestamps;
	uint32_t untimed;
	uint32_t after_count;
	uint64_t after[AFTER_MOST]; /* numbers */
	int failed;		    /* no memory: some of it is missing */
};

void submission_destroy(struct vulkan_submission *submission);

#endif
