/* SPDX-License-Identifier: Apache-2.0 */
/* Placing a device's clock on the host's. Under the device's lock. */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_device.h"

/* May the device be asked for its clock? Not if BRICK_VULKAN_CALIBRATION is "off". */
bool clock_may_calibrate(void);

/* Read it beside the host's, where that is due: before times are converted. */
void clock_correlate(struct vulkan_device *device);

/*
 * The same by submissions of ours, for devices that cannot be asked. Called where the program
 * itself submits to that queue, which has nothing in it that we know of; may take 0.1 s once.
 */
void clock_correlate_by(struct vulkan_device *device, struct vulkan_queue *queue);

/* Take home a reading that was late. */
void clock_take(struct vulkan_device *device);

/* True if no time can be converted yet, but soon: the first reading is on its way. */
bool clock_is_awaited(const struct vulkan_device *device);

/* The device is idle, or lost. */
void clock_close(struct vulkan_device *device);
