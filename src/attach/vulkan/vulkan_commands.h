/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in command buffers: each dispatch, copy or render pass has two timestamps in a query
 * pool of ours. A command buffer is used by one thread at a time, as Vulkan asks; query pools are
 * counted, so that one whose results are still to be read outlives its command buffer.
 */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_device.h"
#include "base/array.h"
#include "brick/attach.h"

enum { CHUNK_QUERIES = 128 };

/* A query pool. */
struct vulkan_chunk {
	struct vulkan_device *device;
	VkQueryPool pool;
	uint32_t used; /* queries */
	uint32_t refs; /* atomic */
};

/* A dispatch that is named after the owner of its work, which is looked up when it is done. */
struct step_code {
	const struct brick_launch_owner *owner; /* NULL: the step's kernel is known */
	uint64_t code;
	uint32_t grid[3], block[3];
};

/* One timed command: queries `first` and `first` + 1 of a chunk. */
struct vulkan_step {
	uint32_t chunk, first;
	uint32_t kernel;
	uint32_t brick; /* BRICK_NONE: none was open when it was recorded */
	int32_t layer;
	uint64_t bytes;
	const struct brick_launch_owner *work; /* it tells of all of its owner's; NULL: another */
	struct step_code code;
};

/* A part of a recording, as its program calls it. */
struct vulkan_label {
	char text[64];
};

struct vulkan_commands {
	struct vulkan_device *device;
	VkCommandBuffer handle;
	VkCommandPool pool;
	uint32_t family;
	bool is_secondary, is_inside; /* a render pass goes on through all of it */
	VkPipeline pipeline;	      /* bound for compute */
	ARRAY(struct vulkan_chunk *) chunks;
	ARRAY(struct vulkan_step) steps;
	ARRAY(VkCommandBuffer) executed;   /* secondary ones */
	ARRAY(struct vulkan_label) labels; /* that are open, the innermost last */
	uint32_t untimed;		   /* commands that could not be timed */
	int open;			   /* a step has begun: its second timestamp is due */
	uint64_t begin_ticks;		   /* that beginning it took (commands_cost()) */
	int excluded;			   /* the program's own libbrick times these commands */
};

struct vulkan_commands *commands_find(VkCommandBuffer handle);

void chunk_hold(struct vulkan_chunk *chunk);
void chunk_release(struct vulkan_chunk *chunk);

/* The kernel of a step that is done. */
uint32_t step_kernel(const struct vulkan_step *step);

/* The device goes: so does all that was recorded for it. */
void commands_device_end(struct vulkan_device *device);

/* The layer's part of a call of the program's, since that many ticks; for the estimate of
 * distortion. */
void commands_cost(uint64_t begin_ticks);
