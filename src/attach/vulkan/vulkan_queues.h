/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues as programs use them: handed out, submitted to, waited for; and what becomes of them when
 * their device goes. Any thread.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

void queues_device_begin(struct vulkan_device *device);

/* The device is idle from here on: the last submissions are recorded, all else is freed. */
void queues_device_end(struct vulkan_device *device);

/* The process ends, the device does not: commands that end within a second are recorded. */
void queues_device_exit(struct vulkan_device *device);
