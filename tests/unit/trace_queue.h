/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of commands in recordings: records of launches and queues, written and read again.
 */
#pragma once

#include "tests/unit/trace_check.h"
#include "tests/unit/trace_scene.h"

static inline struct brick_record launch(uint64_t at, uint64_t ns, uint32_t kernel, uint64_t number)
{
	return (struct brick_record){.begin = at ? fake_ticks(at) : 0,
		.ticks = (uint32_t)(ns * FAKE_TICKS),
		.kind = BRICK_RECORD_LAUNCH,
		.wait = 1,
		.brick = (uint16_t)kernel,
		.elements = number};
}

static inline struct brick_record times(uint64_t queued, uint64_t submitted)
{
	return (struct brick_record){.begin = queued ? fake_ticks(queued) : 0,
		.kind = BRICK_RECORD_TIMES,
		.elements = submitted ? fake_ticks(submitted) : 0};
}

static inline struct brick_record about(uint8_t kind, uint64_t number)
{
	return (struct brick_record){.kind = kind, .elements = number};
}

static inline struct brick_record work(uint64_t bytes, uint64_t flops)
{
	return (struct brick_record){.begin = bytes, .kind = BRICK_RECORD_WORK, .elements = flops};
}

static inline struct brick_record device(uint64_t begin, uint64_t ns, uint16_t brick, int16_t layer)
{
	struct brick_record r = fake_sample(begin, ns, brick, layer);

	r.source = BRICK_SOURCE_DEVICE_EVENT;
	return r;
}

/* A queue beside the scene's thread; returns its number, 1. */
static inline int add_queue(struct scene *s, const char *name, uint64_t number)
{
	s->fake.lane.kind = BRICK_LANE_QUEUE;
	s->fake.lane.tid = number;
	s->fake.lane.queue_flags = 1;
	strcpy(s->fake.lane.name, name);
	strcpy(s->fake.lane.backend, "null");
	return sink_lane(s->writer, 0, &s->fake.lane);
}

static inline void read_checked(struct scene *s)
{
	read_back(s);
	const char *wrong = check_run(s->run);
	if (wrong)
		print_error("%s\n", wrong);
	assert_null(wrong);
	assert_int_equal(s->run->bad_records, 0);
}
