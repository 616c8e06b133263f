/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of queues: queues, commands and their launches, and the records that they leave in a
 * session. The clock is CLOCK_MONOTONIC, so that ticks are the nanoseconds that went in.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "tests/unit/peek.h"

static inline struct brick_queue *make_queue(const char *name, uint32_t flags)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *queue;

	options.name = name;
	options.backend = "test";
	options.flags = flags;
	assert_int_equal(brick_queue_create(&queue, &options), 0);
	return queue;
}

static inline struct brick_launch launch_here(void)
{
	struct brick_launch launch;

	brick_launch_begin(&launch);
	brick_launch_end(&launch);
	return launch;
}

/* A command of `launch` that ran from..to. */
static inline struct brick_command command_of(
	struct brick_launch launch, uint64_t from, uint64_t to)
{
	return (struct brick_command){.size = sizeof(struct brick_command),
		.launch = launch,
		.source = BRICK_SOURCE_DEVICE_EVENT,
		.begin_ns = from,
		.end_ns = to};
}

static inline void record(struct brick_queue *queue, uint64_t from, uint64_t to, uint32_t residual)
{
	struct brick_command command = command_of(launch_here(), from, to);

	command.residual_ns = residual;
	assert_int_equal(brick_queue_record(queue, &command), 0);
}

/* The n-th lane of that kind. */
static inline struct brick_lane *lane_of(struct peek *p, uint32_t kind, uint32_t n)
{
	for (uint32_t i = 0; i < peek_header(p)->lane_count; i++)
		if (peek_lane(p, i)->kind == kind && !n--)
			return peek_lane(p, i);
	fail_msg("no such lane");
	return NULL;
}

static inline struct brick_record *find(struct brick_lane *lane, uint32_t kind, uint32_t n)
{
	for (uint64_t i = 0; i < lane->head; i++)
		if (peek_record(lane, i)->kind == kind && !n--)
			return peek_record(lane, i);
	fail_msg("no such record");
	return NULL;
}

static inline uint32_t kernel_named(const char *name)
{
	const struct brick_kernel kernel = {
		.size = sizeof(struct brick_kernel), .name = name, .backend = "test"};
	return brick_kernel_register(&kernel);
}
