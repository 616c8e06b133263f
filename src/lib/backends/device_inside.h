/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a device in use (device.c), for tests. One thread at a time for each device. */
#pragma once

#include "brick/device.h"

/* The host's complete() of struct brick_backend_host; context is the struct brick_device. */
void brick__device_complete(void *context, const struct brick_completion *completion);

/* Reads the device's clock now, `readings` times (at most 16), and keeps the best reading. */
void brick__device_correlate(struct brick_device *device, uint32_t readings);

/* Returns the device's correlation, which is the device's own. */
struct brick_correlation *brick__device_correlation(struct brick_device *device);

/*
 * Drains the backend and records what has come back, without reading the clock. Returns the result
 * of the backend's drain(): negative if it failed.
 */
int brick__device_take_home(struct brick_device *device);
