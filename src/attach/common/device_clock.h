/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's clock, placed on the host's by readings that lie between two readings of the host's
 * clock. Whoever has one locks it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/correlation.h"

struct device_clock {
	struct brick_correlation correlation;
	uint64_t read_ns;     /* of the host: when it was read last */
	uint64_t residual_ns; /* the greatest of all that was recorded */
};

/* Reads the device's clock in its ns; false: it does not tell. */
typedef bool (*device_clock_fn)(void *context, uint64_t *device_ns);

void device_clock_init(struct device_clock *c);

/* Is a further reading due? They come closely at first, then every `most_ns`. */
bool device_clock_is_due(const struct device_clock *c, uint64_t most_ns);

/* Take several readings at once. 0, or -ENOTSUP when one of them fails. */
int device_clock_read(struct device_clock *c, device_clock_fn read, void *context);

/* Keeps the error of a recorded time. Returns it, cut to the most that a record holds. */
uint32_t device_clock_recorded(struct device_clock *c, uint64_t residual_ns);
