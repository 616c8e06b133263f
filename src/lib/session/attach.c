/* SPDX-License-Identifier: Apache-2.0 */
/* What interposers need of the library beyond probes (include/brick/attach.h). */
#include "brick/attach.h"

#include <errno.h>
#include "brick/abi/overhead.h"
#include "brick/probe.h"
#include "brick/registry.h"
#include "lib/session/lane_thread.h"
#include "lib/sys/ticks.h"

static int has_lane(void)
{
	return brick_enabled() && brick__thread.serial == brick__on;
}

/* A new lane takes milliseconds, for which others may wait at the next barrier. */
static void record_new(const struct brick_lane *lane)
{
	int brick = brick_register(BRICK_READY_NAME, BRICK_CATEGORY_ENGINE);

	if (brick >= 0)
		brick_record_sample(&(struct brick_sample){.begin = lane->start_ticks,
			.end = brick__now(),
			.brick = (uint32_t)brick,
			.layer = -1,
			.source = BRICK_SOURCE_TSC});
}

int brick_thread_ready(void)
{
	if (has_lane())
		return 0;
	const struct brick_lane *lane = brick_enabled() ? brick__thread_attach() : NULL;
	if (lane && lane->owners == 1)
		record_new(lane);
	return lane ? 0 : -ENOENT;
}

brick_span brick_begin_from(uint32_t brick, int layer, enum brick_source source)
{
	brick_span span = brick_enabled() ? brick__begin_layer(brick, layer) : 0;

	if (span)
		brick__thread.lane->frames[(span & 0xff) - 1].source = (uint8_t)source;
	return span;
}

void brick_hook_cost(uint64_t calls, uint64_t ticks)
{
	if (!has_lane())
		return;
	struct brick_lane *lane = brick__thread.lane;
	lane->hook_calls += calls;
	lane->hook_timed++;
	lane->hook_ticks += ticks;
}
