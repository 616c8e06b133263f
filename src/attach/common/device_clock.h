/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlation of a device's clock with the host's. Each reading of the device's clock lies
 * between two readings of the host's clock, which bound its error. The owner locks it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/correlation.h"

struct device_clock {
	struct brick_correlation correlation;
	uint64_t read_ns;     /* host's time of the last reading */
	uint64_t residual_ns; /* greatest error of a recorded time */
};

/* Reads the device's clock, in ns. False: it cannot be read. */
typedef bool (*device_clock_fn)(void *context, uint64_t *device_ns);

void device_clock_init(struct device_clock *c);

/* Is a further reading due? Readings are close at first, then every `most_ns`. */
bool device_clock_is_due(const struct device_clock *c, uint64_t most_ns);

/* Take several readings at once. 0, or -ENOTSUP when one of them fails. */
int device_clock_read(struct device_clock *c, device_clock_fn read, void *context);

/* Count the error of a recorded time. Returns the error, cut to the greatest of a record. */
uint32_t device_clock_recorded(struct device_clock *c, uint64_t residual_ns);
