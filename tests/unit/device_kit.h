/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of devices: one that is simulated and tells what really happened, in a session that is
 * looked at as a consumer sees it. The clock of the host is CLOCK_MONOTONIC, so that ticks are ns.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "lib/backends/null/null_device.h"
#include "lib/backends/device_inside.h"
#include "tests/unit/peek.h"

enum { US = 1000, MS = 1000000 };

struct setup {
	struct peek peek;
	struct brick_null *sim;
	struct brick_device *device;
};

static inline struct brick_null_config manual(void)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;

	config.offset_ns = 7000000000000ull;
	config.rate_ppb = 50000;
	config.latency_ns = 2 * US;
	config.completion_ns = 5 * US;
	config.manual = 1;
	return config;
}

static inline void open_device(
	struct setup *s, const struct brick_null_config *config, uint32_t pairs)
{
	struct brick_backend_options options = {.size = sizeof options, .pairs = pairs};
	char reason[128] = "";

	assert_int_equal(brick_null_create(&s->sim, config), 0);
	options.native[0] = s->sim;
	assert_int_equal(brick_device_open(&s->device, brick_backend_find("null"), &options, reason,
				 sizeof reason),
		0);
}

static inline void begin(struct setup *s, const struct brick_null_config *config, uint32_t pairs)
{
	memset(s, 0, sizeof *s);
	peek_start(&s->peek, 16384);
	open_device(s, config, pairs);
}

static inline void end(struct setup *s)
{
	brick_device_close(s->device);
	brick_null_destroy(s->sim);
	peek_stop(&s->peek);
}

static inline void run_on(struct setup *s, void *queue, uint32_t brick, int layer, uint64_t ns)
{
	brick_device_span span = brick_device_begin(s->device, queue, brick, layer);

	brick_null_submit(s->sim, queue, ns);
	brick_device_end(s->device, queue, span, 0, 0, 0);
}

static inline void run(struct setup *s, uint32_t brick, int layer, uint64_t ns)
{
	run_on(s, NULL, brick, layer, ns);
}

static inline void settle(struct setup *s)
{
	brick_null_advance(s->sim, 50 * MS);
	brick__device_correlate(s->device, 4);
}

static inline struct brick_lane *queue_lane(struct setup *s, uint32_t n)
{
	if (s->peek.base)
		munmap(s->peek.base, s->peek.bytes);
	peek_map(&s->peek);
	for (uint32_t i = 0; i < peek_header(&s->peek)->lane_count; i++)
		if (peek_lane(&s->peek, i)->kind == BRICK_LANE_QUEUE && !n--)
			return peek_lane(&s->peek, i);
	return NULL;
}

static inline struct brick_record *nth(struct brick_lane *lane, uint32_t kind, uint64_t n)
{
	for (uint64_t i = 0; i < lane->head; i++)
		if (peek_record(lane, i)->kind == kind && !n--)
			return peek_record(lane, i);
	return NULL;
}

static inline uint64_t count_of(struct brick_lane *lane, uint32_t kind)
{
	uint64_t count = 0;

	for (uint64_t i = 0; lane && i < lane->head; i++)
		count += peek_record(lane, i)->kind == kind;
	return count;
}

static inline struct brick_losses losses(void)
{
	struct brick_losses l = BRICK_LOSSES_INIT;

	assert_int_equal(brick_losses_get(&l), 0);
	return l;
}
