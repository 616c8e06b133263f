/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timed commands in command buffers: each dispatch, copy or render pass gets two timestamps in a
 * query pool of ours. One thread at a time uses a command buffer, as Vulkan requires. Query pools
 * count their users, so that a pool outlives its command buffer until its results are read.
 */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_device.h"
#include "base/array.h"
#include "brick/attach.h"

enum { CHUNK_QUERIES = 128 }; /* of a query pool */

/* A query pool, freed by the last chunk_release(). */
struct vulkan_chunk {
	struct vulkan_device *device;
	VkQueryPool pool;
	uint32_t used; /* queries */
	uint32_t refs; /* atomic */
};

/* A dispatch whose kernel is named after the owner of its work, looked up when it is done. */
struct step_code {
	const struct brick_launch_owner *owner; /* NULL: the step's kernel is known */
	uint64_t code;
	uint32_t grid[3], block[3];
};

/* One timed command: queries `first` and `first` + 1 of a chunk. */
struct vulkan_step {
	uint32_t chunk, first; /* chunk: index in vulkan_commands.chunks */
	uint32_t kernel;       /* if code.owner is NULL */
	uint32_t brick;	       /* BRICK_NONE: none was open when it was recorded */
	int32_t layer;
	uint64_t bytes;
	const struct brick_launch_owner *work; /* the owner whose work it records; NULL: none */
	struct step_code code;
};

/* The program's name of a part of a command buffer (VK_EXT_debug_utils). */
struct vulkan_label {
	char text[64];
};

struct vulkan_commands {
	struct vulkan_device *device;
	VkCommandBuffer handle;
	VkCommandPool pool;
	uint32_t family;
	bool is_secondary;
	bool is_inside;	     /* it is recorded inside of a render pass */
	VkPipeline pipeline; /* bound for compute */
	ARRAY(struct vulkan_chunk *) chunks;
	ARRAY(struct vulkan_step) steps;
	ARRAY(VkCommandBuffer) executed;   /* secondary command buffers */
	ARRAY(struct vulkan_label) labels; /* open labels, the innermost last */
	uint32_t untimed;		   /* commands that could not be timed */
	int open;			   /* 1: a step has begun, and needs its second timestamp */
	uint64_t begin_ticks;		   /* cost of beginning that step (commands_cost()) */
	int excluded;			   /* the program's own libbrick times these commands */
};

struct vulkan_commands *commands_find(VkCommandBuffer handle);

void chunk_hold(struct vulkan_chunk *chunk);
void chunk_release(struct vulkan_chunk *chunk);

/* The kernel of a finished step; see struct step_code. */
uint32_t step_kernel(const struct vulkan_step *step);

/* The device is about to be destroyed: free the commands of all its command buffers. */
void commands_device_end(struct vulkan_device *device);

/* Count the layer's cost in a call of the program's, since begin_ticks; for the estimate of
 * distortion. */
void commands_cost(uint64_t begin_ticks);
