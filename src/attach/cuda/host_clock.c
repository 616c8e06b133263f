/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of CUPTI's clock between two of the host's (host_clock.h). */
#include "attach/cuda/host_clock.h"

#include "attach/common/device_clock.h"
#include "attach/cuda/cupti.h"
#include "base/clock_ns.h"
#include "brick/clock.h"

static struct device_clock line;
static uint64_t moved_ns; /* the furthest that a command had to be moved */
static int is_own;	  /* CUPTI's times are readings of ours */

static uint64_t own_timestamp(void)
{
	return monotonic_ns();
}

int host_clock_offer(void)
{
	is_own = cupti.use_timestamp && cupti.use_timestamp(own_timestamp) == CUPTI_FINE;
	return is_own;
}

int host_clock_is_own(void)
{
	return is_own;
}

static bool ask(void *unused, uint64_t *ns)
{
	return cupti.timestamp(ns) == CUPTI_FINE;
}

int host_clock_sample(void)
{
	return is_own ? 0 : device_clock_read(&line, ask, NULL);
}

uint64_t host_clock_ns(uint64_t device_ns)
{
	return is_own ? device_ns : brick_correlation_host_ns(&line.correlation, device_ns);
}

uint32_t host_clock_residual_ns(void)
{
	uint64_t residual = line.correlation.residual_ns + moved_ns;
	return residual > UINT32_MAX ? UINT32_MAX : (uint32_t)residual;
}

uint64_t host_clock_of_ticks(uint64_t ticks)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t now = monotonic_ns(), now_ticks = brick_ticks();

	return now_ticks > ticks ? now - brick_clock_duration_ns(clock, now_ticks - ticks)
				 : now + brick_clock_duration_ns(clock, ticks - now_ticks);
}

uint64_t host_clock_moved(uint64_t by_ns)
{
	if (by_ns > moved_ns)
		moved_ns = by_ns;
	return by_ns;
}
