/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of CLOCK_MONOTONIC in ticks, for device times. The process's clock was calibrated over two
 * milliseconds, so hours later its rate would put a device far away from the host's own ticks.
 * Therefore both clocks are read together now and then, and lines between these readings are used.
 * This runs for every command of a queue.
 */
#include <pthread.h>
#include "base/lock.h"
#include "brick/clock.h"
#include "brick/correlation.h"
#include "lib/sys/clock_fit.h"
#include "lib/device/queue_clock.h"
#include "base/scope.h"
#include "lib/sys/ticks.h"

enum {
	READINGS_PER_SECOND = 20, /* at least */
	MAX_RESIDUALS = 3,	  /* the largest error of a line at its end (brick/correlation.h) */
};

static pthread_mutex_t queue_clock_lock = PTHREAD_MUTEX_INITIALIZER;

/* A correlation whose "device" times are CLOCK_MONOTONIC, and whose "host" times are ticks. */
static struct brick_correlation queue_clock_line;

void brick__queue_clock_lock(void)
{
	lock_take(&queue_clock_lock);
}

void brick__queue_clock_unlock(void)
{
	lock_give(&queue_clock_lock);
}

static void queue_clock_add_pair(uint64_t ticks, uint64_t ns, uint64_t width)
{
	const struct brick_reading reading = {ticks - width / 2, ns, ticks + width / 2};
	brick_correlation_add(&queue_clock_line, &reading, 1);
}

/* The readings of the process's clock: it predicted a third one within its residual. */
static void add_base(const struct brick_clock *clock, const struct clock_pair *now)
{
	uint64_t off = (uint64_t)clock->residual_ns * clock->frequency / 1000000000u;

	queue_clock_add_pair(clock->base_ticks, clock->base_ns, now->width + 2 * off);
}

/* Under the lock: makes sure that the line has two anchors, and that the last one is recent. */
static void queue_clock_refresh(const struct brick_clock *clock)
{
	uint64_t longest = clock->frequency / READINGS_PER_SECOND;

	if (queue_clock_line.count > 1 &&
		brick__now() - queue_clock_line.anchors[queue_clock_line.count - 1].host_ns <
			brick_correlation_period_ns(&queue_clock_line, longest))
		return;
	struct clock_pair pair = brick__clock_pair();
	if (!queue_clock_line.count)
		add_base(clock, &pair);
	queue_clock_add_pair(pair.ticks, pair.ns, pair.width);
}

struct brick__ticks brick__ticks_of_ns(uint64_t ns)
{
	const struct brick_clock *clock = brick_clock_get();

	if (clock->source == BRICK_CLOCK_MONOTONIC)
		return (struct brick__ticks){ns, 0};
	HOLD_UNCANCELLED(&queue_clock_lock);
	queue_clock_refresh(clock);
	struct brick__ticks ticks = {brick_correlation_host_ns(&queue_clock_line, ns),
		MAX_RESIDUALS * queue_clock_line.residual_ns};
	return ticks;
}

uint64_t brick__ns_of_ticks(uint64_t ticks)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t ns = brick_clock_ns(clock, ticks);

	if (clock->source == BRICK_CLOCK_MONOTONIC)
		return ticks;
	HOLD_UNCANCELLED(&queue_clock_lock);
	queue_clock_refresh(clock);
	/* the process's own rate is right to some parts in a million, so the second step is exact
	 */
	for (int i = 0; i < 2; i++) {
		uint64_t at = brick_correlation_host_ns(&queue_clock_line, ns);
		ns = at < ticks ? ns + brick_clock_duration_ns(clock, ticks - at)
				: ns - brick_clock_duration_ns(clock, at - ticks);
	}
	return ns;
}
