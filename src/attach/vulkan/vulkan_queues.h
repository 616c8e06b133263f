/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks of queues (getting a queue, submitting, waiting), and the end of a device's queues. Any
 * thread.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

void queues_device_begin(struct vulkan_device *device);

/* The device is about to be destroyed: wait until it is idle, record its submissions, free the
 * rest. */
void queues_device_end(struct vulkan_device *device);

/* The process ends with the device still there: record commands that end within a second. */
void queues_device_exit(struct vulkan_device *device);
