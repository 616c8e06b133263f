/* SPDX-License-Identifier: Apache-2.0 */
/* Correlates a device's clock with the host's. The caller holds the device's lock. */
#pragma once

#include <stdbool.h>
#include "attach/vulkan/vulkan_device.h"

/* May the device be asked for its clock? Not if BRICK_VULKAN_CALIBRATION is "off". */
bool clock_may_calibrate(void);

/* Read both clocks if that is due, and the device allows it. Call it before times are converted. */
void clock_correlate(struct vulkan_device *device);

/*
 * The same by submissions of ours, for devices whose clock cannot be read. Call it when the program
 * submits to that queue, and no submission that we know of is in it. May take 0.1 s once.
 */
void clock_correlate_by(struct vulkan_device *device, struct vulkan_queue *queue);

/* Take the result of a submission of ours that was late. */
void clock_take(struct vulkan_device *device);

/* True if no time can be converted yet, but soon: the first reading is on its way. */
bool clock_is_awaited(const struct vulkan_device *device);

/* Free what the clock has; the device must be idle, or lost. */
void clock_close(struct vulkan_device *device);
