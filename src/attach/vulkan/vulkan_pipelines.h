/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and work-group sizes of compute pipelines: from the program's debug names, else from the
 * entry points of its shader modules. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_device.h"

struct vulkan_pipeline {
	char name[128];
	bool is_named;	   /* by the program: else by the hash of its code, and `main` at most */
	uint32_t block[3]; /* 0: not known */
	uint64_t code;	   /* hash of its module, 0: not known */
};

/* A copy of what is known of it; of an unknown one, just a name. */
void pipelines_get(struct vulkan_pipeline *out, VkPipeline pipeline);
