/* SPDX-License-Identifier: Apache-2.0 */
/* A device in use, for tests that look inside of it. */
#pragma once

#include "brick/device.h"

/* What the backend calls. */
void brick__device_complete(void *context, const struct brick_completion *completion);

/* Read the device's clock now. */
void brick__device_correlate(struct brick_device *device, uint32_t readings);
struct brick_correlation *brick__device_correlation(struct brick_device *device);

/* Record what has come back without reading the clock. Negative: the backend failed. */
int brick__device_take_home(struct brick_device *device);
