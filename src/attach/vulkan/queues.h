/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks that hand out queues, and what a device does with them when it comes and goes. Any thread.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

void queues_device_begin(struct vulkan_device *device);

/* The device is idle from here on: the last submissions are recorded, all else is freed. */
void queues_device_end(struct vulkan_device *device);

/* The process ends, the device does not: what comes within a second is recorded. */
void queues_device_exit(struct vulkan_device *device);
