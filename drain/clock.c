/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a recording: lib/clock.c's method with a baseline of a second instead of its 2 ms,
 * which a process cannot wait for but a consumer can. A baseline shorter than that of the process's
 * own calibration is not used.
 */
#include "drain/clock.h"

#include <string.h>
#include "base/clock_ns.h"

enum { MIN_BASELINE_NS = 3000000 };

void drain_clock_start(struct drain_clock *c)
{
	memset(c, 0, sizeof *c);
	c->clock = *brick_clock_get();
	c->first = brick__clock_pair();
}

uint64_t drain_clock_baseline_ns(const struct drain_clock *c)
{
	return monotonic_ns() - c->first.ns;
}

const struct brick_clock *drain_clock_fit(struct drain_clock *c)
{
	struct brick_clock fitted = c->clock;

	if (c->fitted)
		return &c->clock;
	c->fitted = 1;
	if (c->clock.source == BRICK_CLOCK_MONOTONIC)
		return &c->clock;
	struct clock_pair last = brick__clock_pair();
	if (last.ns - c->first.ns >= MIN_BASELINE_NS &&
		brick__clock_fit(&fitted, &c->first, &last)) {
		fitted.residual_ns = 0;
		c->clock = fitted;
	}
	return &c->clock;
}

uint32_t drain_clock_check(struct drain_clock *c)
{
	if (!c->fitted || c->clock.source == BRICK_CLOCK_MONOTONIC)
		return c->residual_ns;
	struct clock_pair now = brick__clock_pair();
	uint64_t residual = brick__clock_residual(&c->clock, &now);
	if (residual > UINT32_MAX)
		residual = UINT32_MAX;
	if (residual > c->residual_ns)
		c->residual_ns = (uint32_t)residual;
	return c->residual_ns;
}
