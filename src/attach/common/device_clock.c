/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes several readings at once and keeps the narrowest: the thread may be off its CPU meanwhile.
 */
#include "attach/common/device_clock.h"

#include <errno.h>
#include "base/clock_ns.h"

enum { READINGS = 8 };

void device_clock_init(struct device_clock *c)
{
	brick_correlation_init(&c->correlation);
	c->read_ns = 0;
}

bool device_clock_is_due(const struct device_clock *c, uint64_t most_ns)
{
	return monotonic_ns() - c->read_ns >= brick_correlation_period_ns(&c->correlation, most_ns);
}

int device_clock_read(struct device_clock *c, device_clock_fn read, void *context)
{
	struct brick_reading readings[READINGS];

	for (int i = 0; i < READINGS; i++) {
		readings[i].before_ns = monotonic_ns();
		if (!read(context, &readings[i].device_ns))
			return -ENOTSUP;
		readings[i].after_ns = monotonic_ns();
	}
	c->read_ns = readings[READINGS - 1].after_ns;
	return brick_correlation_add(&c->correlation, readings, READINGS);
}

uint32_t device_clock_recorded(struct device_clock *c, uint64_t residual_ns)
{
	if (residual_ns > c->residual_ns)
		c->residual_ns = residual_ns;
	return residual_ns < UINT32_MAX ? (uint32_t)residual_ns : UINT32_MAX;
}
