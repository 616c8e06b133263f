/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are done become records of their queues. Under the device's lock. */
#pragma once

#include "attach/vulkan/vulkan_device.h"

/* Record what is done, on all queues. */
void completions_take(struct vulkan_device *device);
