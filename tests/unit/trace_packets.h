/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the reader: recordings made packet by packet.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "format/perfetto.h"
#include "tests/unit/trace_check.h"
#include "format/format.h"
#include "trace/load.h"
#include "base/pb_write.h"

enum { LANE = 2, TRACK = 77 };

static struct pb_buffer b;

static inline void text(uint32_t field, const char *value)
{
	pb_string(&b, field, value, strlen(value));
}

static inline size_t packet_open(uint64_t sequence, uint64_t flags)
{
	size_t packet = pb_open(&b, TRACE_PACKET);

	pb_varint(&b, PACKET_SEQUENCE_ID, sequence);
	pb_varint(&b, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

static inline void annotation_uint(const char *name, uint64_t value)
{
	size_t a = pb_open(&b, EVENT_ANNOTATIONS);

	text(ANNOTATION_NAME, name);
	pb_varint(&b, ANNOTATION_UINT, value);
	pb_close(&b, a);
}

/* One of the run's own events: up to three annotations, the last one with name NULL. */
static inline void own_event(const char *name, const char *const *names, const uint64_t *values)
{
	size_t packet = packet_open(FORMAT_OWN_SEQUENCE, SEQUENCE_STATE_CLEARED);
	size_t event = pb_open(&b, PACKET_TRACK_EVENT);

	pb_varint(&b, EVENT_TYPE, EVENT_INSTANT);
	text(EVENT_NAME, name);
	for (int i = 0; names[i]; i++)
		annotation_uint(names[i], values[i]);
	pb_close(&b, event);
	pb_close(&b, packet);
}

static inline void intern(uint32_t field, uint64_t iid, const char *value)
{
	size_t entry = pb_open(&b, field);

	pb_varint(&b, ENTRY_IID, iid);
	text(ENTRY_TEXT, value);
	pb_close(&b, entry);
}

/* A packet of the lane that only interns one thing. */
static inline void intern_packet(uint32_t field, uint64_t iid, const char *value)
{
	size_t packet = packet_open(LANE, SEQUENCE_NEEDS_STATE);
	size_t interned = pb_open(&b, PACKET_INTERNED_DATA);

	intern(field, iid, value);
	pb_close(&b, interned);
	pb_close(&b, packet);
}

static inline void lane_start(uint64_t ns)
{
	size_t packet = packet_open(LANE, SEQUENCE_STATE_CLEARED);
	size_t defaults = pb_open(&b, PACKET_DEFAULTS);

	pb_varint(&b, DEFAULTS_CLOCK_ID, CLOCK_ID_LANE);
	pb_close(&b, defaults);
	size_t snapshot = pb_open(&b, PACKET_CLOCK_SNAPSHOT), clock = pb_open(&b, SNAPSHOT_CLOCKS);
	pb_varint(&b, CLOCK_ID, CLOCK_ID_LANE);
	pb_varint(&b, CLOCK_TIMESTAMP, ns);
	pb_close(&b, clock);
	pb_close(&b, snapshot);
	size_t interned = pb_open(&b, PACKET_INTERNED_DATA);
	intern(INTERNED_EVENT_NAMES, 1, "One");
	intern(INTERNED_EVENT_NAMES, 2, "BarrierWait");
	intern(INTERNED_CATEGORIES, 1, "Kind");
	intern(INTERNED_ANNOTATION_NAMES, 1, "site");
	pb_close(&b, interned);
	pb_close(&b, packet);
}

/* A run with a process and a lane whose clock stands at 1000. */
static inline void start(void)
{
	b.size = 0;
	own_event(FORMAT_RUN, (const char *[]){"format", NULL}, (uint64_t[]){FORMAT_VERSION});
	own_event(FORMAT_PROCESS, (const char *[]){"process", NULL}, (uint64_t[]){0});
	own_event(FORMAT_LANE, (const char *[]){"lane", "process", "sequence", NULL},
		(uint64_t[]){0, 0, LANE});
	lane_start(1000);
}

/* How a slice's packet is laid out: where its timestamp is, and what else is in it. */
enum layout { TIME_FIRST, TIME_LAST, TIME_MIDDLE, WITH_UNKNOWN };

static inline void slice(enum layout layout, uint64_t delta, uint64_t type, uint64_t name)
{
	size_t packet = pb_open(&b, TRACE_PACKET);

	if (layout == TIME_FIRST)
		pb_varint(&b, PACKET_TIMESTAMP, delta);
	pb_varint(&b, PACKET_SEQUENCE_ID, LANE);
	if (layout == TIME_MIDDLE)
		pb_varint(&b, PACKET_TIMESTAMP, delta);
	pb_varint(&b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t event = pb_open(&b, PACKET_TRACK_EVENT);
	pb_varint(&b, EVENT_TYPE, type);
	if (name) {
		pb_varint(&b, EVENT_CATEGORY_IIDS, 1);
		pb_varint(&b, EVENT_NAME_IID, name);
	}
	if (layout == WITH_UNKNOWN) {
		pb_double(&b, 900, 1.5);
		text(901, "whatever");
	}
	pb_close(&b, event);
	if (layout == WITH_UNKNOWN)
		text(133, "more");
	if (layout == TIME_LAST || layout == WITH_UNKNOWN)
		pb_varint(&b, PACKET_TIMESTAMP, delta);
	pb_close(&b, packet);
}

static inline void begin(uint64_t delta, uint64_t name)
{
	slice(TIME_LAST, delta, EVENT_BEGIN, name);
}

static inline void end(uint64_t delta)
{
	slice(TIME_FIRST, delta, EVENT_END, 0);
}

/* Load what has been made; it must be a sound run with so many bad packets. */
static inline struct run *load(uint64_t bad_packets)
{
	struct run *run;
	struct load_error error;

	assert_false(b.failed);
	assert_int_equal(run_load_memory(&run, b.data, b.size, "crafted", &error), 0);
	const char *wrong = check_run(run);
	if (wrong)
		print_error("%s\n", wrong);
	assert_null(wrong);
	assert_int_equal(run->bad_packets, bad_packets);
	return run;
}

static inline int finish(void **state)
{
	(void)state;
	pb_buffer_fini(&b);
	return 0;
}
