/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a session that a profiled process left behind: tables, records, lanes, fed to a
 * sink. The same bytes feed every writer the same. For tests and the fuzzer. Header only.
 */
#pragma once

#include "tests/unit/trace_fake.h"
#include "lib/writer/sink.h"

struct trace_bytes {
	const uint8_t *at;
	size_t left;
};

/* The next bytes; zeros when there are no more. */
static inline void take(struct trace_bytes *in, void *to, size_t size)
{
	size_t n = size < in->left ? size : in->left;

	memset(to, 0, size);
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
}

static inline uint8_t take_byte(struct trace_bytes *in)
{
	uint8_t byte;

	take(in, &byte, 1);
	return byte;
}

/* A record, mostly such that it could be meant: wild ones are refused at once. */
static inline struct brick_record take_record(struct trace_bytes *in, uint64_t *now)
{
	struct brick_record r = {0};
	uint8_t kind = take_byte(in);

	if (kind >= 0xf0) {
		take(in, &r, sizeof r);
		return r;
	}
	r.kind = kind % 16;
	r.flags = kind >> 4;
	*now += (uint64_t)take_byte(in) << (take_byte(in) % 48);
	r.begin = *now;
	r.ticks = take_byte(in);
	r.wait = take_byte(in);
	r.brick = take_byte(in) % 40;
	r.layer = (int8_t)take_byte(in);
	r.source = take_byte(in) % 9;
	r.elements = take_byte(in) | (uint64_t)take_byte(in) << 32;
	if (r.kind == BRICK_RECORD_SAMPLE)
		*now += r.ticks + r.wait;
	return r;
}

static inline void feed_records(
	struct trace_writer *writer, struct fake *f, struct trace_bytes *in, int lanes)
{
	uint64_t now = FAKE_BASE_TICKS;
	struct brick_record records[64];

	while (in->left) {
		size_t n = take_byte(in) % 64 + 1u;
		for (size_t i = 0; i < n; i++)
			records[i] = take_record(in, &now);
		sink_records(writer, (int)(n % (size_t)lanes), records, n);
		if (n == 7)
			sink_flush(writer);
		if (n == 9)
			sink_lane_stats(writer, 0, &f->lane);
	}
	const struct sink_code code = {take_byte(in), f->sites[1].label, NULL, f->kernels[1].name,
		sizeof f->sites[1].label, 0, sizeof f->kernels[1].name, 1};
	sink_code(writer, &code);
	sink_notes(writer, 0, f->sites[1].label, sizeof f->sites[1].label);
	sink_process_end(writer, 0, now, 1);
}

static inline void feed_bytes(struct trace_writer *writer, const void *data, size_t size)
{
	static struct fake fake;
	struct trace_bytes in = {(const uint8_t *)data, size};

	fake_init(&fake, 1);
	int lanes = 1 + take_byte(&in) % 3;
	fake.tables.site_count = 1 + take_byte(&in) % 8;
	take(&in, &fake.bricks[33], sizeof fake.bricks[33]);
	take(&in, &fake.categories[11], sizeof fake.categories[11]);
	take(&in, &fake.sites[1], sizeof fake.sites[1] * 2);
	take(&in, fake.lane.name, sizeof fake.lane.name);
	take(&in, &fake.lane.stats[3], sizeof fake.lane.stats[3]);
	fake.tables.brick_count = 34;
	fake.tables.category_count = 12;
	take(&in, &fake.kernels[1], sizeof fake.kernels[1] * 2);
	fake.tables.kernel_count = 1 + take_byte(&in) % 3;
	if (take_byte(&in) & 1)
		take(&in, &fake.header.clock, sizeof fake.header.clock);
	sink_process(writer, &fake.header);
	sink_tables(writer, 0, &fake.tables);
	for (int i = 0; i < lanes; i++) {
		fake.lane.kind = i ? BRICK_LANE_QUEUE : BRICK_LANE_THREAD;
		sink_lane(writer, 0, &fake.lane);
	}
	feed_records(writer, &fake, &in, lanes);
}
