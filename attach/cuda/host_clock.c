/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of CUPTI's clock between two of the host's (host_clock.h). */
#include "attach/cuda/host_clock.h"

#include <time.h>
#include "attach/cuda/cupti.h"
#include "brick/clock.h"
#include "brick/correlation.h"

enum { READINGS = 8 };

static struct brick_correlation correlation;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

int host_clock_sample(void)
{
	struct brick_reading readings[READINGS];
	uint32_t count = 0;

	for (int i = 0; i < READINGS; i++) {
		struct brick_reading *r = &readings[count];
		r->before_ns = now_ns();
		count += cupti.timestamp(&r->device_ns) == CUPTI_FINE;
		r->after_ns = now_ns();
	}
	return brick_correlation_add(&correlation, readings, count);
}

uint64_t host_clock_ns(uint64_t device_ns)
{
	return brick_correlation_host_ns(&correlation, device_ns);
}

uint32_t host_clock_residual_ns(void)
{
	uint64_t residual = correlation.residual_ns;
	return residual > UINT32_MAX ? UINT32_MAX : (uint32_t)residual;
}

uint64_t host_clock_of_ticks(uint64_t ticks)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t now = now_ns(), now_ticks = brick_ticks();

	return now_ticks > ticks ? now - brick_clock_duration_ns(clock, now_ticks - ticks)
				 : now + brick_clock_duration_ns(clock, ticks - now_ticks);
}
