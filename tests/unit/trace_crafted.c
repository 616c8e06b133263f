/* SPDX-License-Identifier: Apache-2.0 */
/* Description: packets that Brick's writer never makes: read if they make sense, else counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/unit/trace_check.h"
#include "trace/format.h"
#include "trace/load.h"
#include "trace/pb_write.h"

enum { LANE = 2, TRACK = 77 };

static struct pb_buffer b;

static void text(uint32_t field, const char *value)
{
	pb_string(&b, field, value, strlen(value));
}

static size_t packet_open(uint64_t sequence, uint64_t flags)
{
	size_t packet = pb_open(&b, TRACE_PACKET);

	pb_varint(&b, PACKET_SEQUENCE_ID, sequence);
	pb_varint(&b, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

static void annotation_uint(const char *name, uint64_t value)
{
	size_t a = pb_open(&b, EVENT_ANNOTATIONS);

	text(ANNOTATION_NAME, name);
	pb_varint(&b, ANNOTATION_UINT, value);
	pb_close(&b, a);
}

/* One of the run's own events: up to three annotations, the last one with name NULL. */
static void own_event(const char *name, const char *const *names, const uint64_t *values)
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

static void intern(uint32_t field, uint64_t iid, const char *value)
{
	size_t entry = pb_open(&b, field);

	pb_varint(&b, ENTRY_IID, iid);
	text(ENTRY_TEXT, value);
	pb_close(&b, entry);
}

/* A packet of the lane that only interns one thing. */
static void intern_packet(uint32_t field, uint64_t iid, const char *value)
{
	size_t packet = packet_open(LANE, SEQUENCE_NEEDS_STATE);
	size_t interned = pb_open(&b, PACKET_INTERNED_DATA);

	intern(field, iid, value);
	pb_close(&b, interned);
	pb_close(&b, packet);
}

static void lane_start(uint64_t ns)
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
static void start(void)
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

static void slice(enum layout layout, uint64_t delta, uint64_t type, uint64_t name)
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

static void begin(uint64_t delta, uint64_t name)
{
	slice(TIME_LAST, delta, EVENT_BEGIN, name);
}

static void end(uint64_t delta)
{
	slice(TIME_FIRST, delta, EVENT_END, 0);
}

/* Load what has been made; it must be a sound run with so many bad packets. */
static struct run *load(uint64_t bad_packets)
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

static const char *brick_of(const struct run *run, size_t i)
{
	assert_true(i < run->lanes[0].sample_count);
	return run->bricks[run->sites[run->lanes[0].samples[i].site].brick].name;
}

static void every_layout(void **state)
{
	(void)state;

	start();
	for (int round = 0; round < 3; round++)
		for (enum layout layout = TIME_FIRST; layout <= WITH_UNKNOWN; layout++) {
			slice(layout, 10, EVENT_BEGIN, 1);
			slice(layout, 5, EVENT_END, 0);
		}
	struct run *run = load(0);
	assert_int_equal(run->lanes[0].sample_count, 12);
	for (size_t i = 0; i < 12; i++) {
		assert_int_equal(run->lanes[0].samples[i].begin_ns, 1010 + i * 15);
		assert_int_equal(run->lanes[0].samples[i].end_ns, 1015 + i * 15);
		assert_string_equal(brick_of(run, i), "One");
	}
	run_destroy(run);
}

/* The same bytes mean something else once their names do. */
static void names_that_change(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 3; i++) {
		begin(1, 1);
		end(1);
	}
	intern_packet(INTERNED_EVENT_NAMES, 1, "Two");
	for (int i = 0; i < 3; i++) {
		begin(1, 1);
		end(1);
	}
	struct run *run = load(0);
	assert_string_equal(brick_of(run, 2), "One");
	assert_string_equal(brick_of(run, 3), "Two");
	assert_string_equal(brick_of(run, 5), "Two");
	run_destroy(run);
}

/* Packets of equal bytes, but for where the timestamp is, are of equal meaning. */
static void time_first_or_last(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 4; i++) {
		slice(i % 2 ? TIME_FIRST : TIME_LAST, 3, EVENT_BEGIN, 1);
		slice(i % 2 ? TIME_LAST : TIME_FIRST, 4, EVENT_END, 0);
	}
	struct run *run = load(0);
	assert_int_equal(run->lanes[0].sample_count, 4);
	assert_int_equal(run->lanes[0].samples[3].end_ns, 1028);
	run_destroy(run);
}

static void waits_and_what_is_none(void **state)
{
	(void)state;

	start();
	begin(1, 1);
	end(1); /* 1002 */
	begin(0, 2);
	end(5); /* its wait */
	begin(0, 2);
	end(6); /* none: the sample ended before */
	begin(10, 1);
	end(1); /* 1024 */
	begin(3, 2);
	end(7); /* none: does not follow at once */
	begin(0, 2);
	begin(1, 1); /* bad, with its end: inside of what has become a wait */
	end(1);
	end(1);
	struct run *run = load(2);
	const struct run_sample *samples = run->lanes[0].samples;
	assert_int_equal(run->lanes[0].sample_count, 4);
	assert_int_equal(samples[0].wait_ns, 5);
	assert_string_equal(brick_of(run, 1), "BarrierWait");
	assert_int_equal(samples[1].end_ns - samples[1].begin_ns, 6);
	assert_int_equal(samples[2].wait_ns, 0);
	assert_string_equal(brick_of(run, 3), "BarrierWait");
	assert_int_equal(samples[3].wait_ns, 3);
	run_destroy(run);
}

static void unbalanced(void **state)
{
	(void)state;

	start();
	end(1);	     /* bad */
	begin(1, 9); /* bad: no such name */
	begin(1, 1); /* bad: inside of a bad one */
	end(1);	     /* bad: the inner's */
	end(1);	     /* bad: the outer's */
	begin(1, 1);
	end(1);
	begin(1, 1);
	struct run *run = load(5);
	assert_int_equal(run->lanes[0].sample_count, 2);
	assert_int_equal(run->lanes[0].samples[0].begin_ns, 1006);
	assert_int_equal(run->open_samples, 1);
	assert_int_equal(run->lanes[0].samples[1].flags, RUN_SAMPLE_OPEN);
	run_destroy(run);
}

static void too_deep(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 300; i++)
		begin(1, 1);
	for (int i = 0; i < 300; i++)
		end(1);
	begin(1, 1);
	end(1);
	struct run *run = load(100);
	assert_int_equal(run->lanes[0].sample_count, 251);
	assert_int_equal(run->lanes[0].samples[250].depth, 0);
	assert_int_equal(run->lanes[0].samples[0].end_ns, 1600);
	run_destroy(run);
}

static void time_that_overflows(void **state)
{
	(void)state;

	start();
	begin(UINT64_MAX - 2000, 1);
	end(500);
	begin(1000, 1); /* bad: beyond 64 bits */
	end(1);		/* bad, then: it has no begin */
	struct run *run = load(2);
	assert_int_equal(run->lanes[0].sample_count, 1);
	run_destroy(run);
}

static void clock_that_runs_back(void **state)
{
	(void)state;

	start();
	begin(500, 1);
	lane_start(900); /* bad: earlier than the sample; the clock stays */
	end(10);
	lane_start(5000);
	begin(1, 1);
	end(1);
	struct run *run = load(1);
	assert_int_equal(run->lanes[0].samples[0].end_ns, 1510);
	assert_int_equal(run->lanes[0].samples[1].begin_ns, 5001);
	run_destroy(run);
}

/* A sequence belongs to one lane, and a lane to one sequence. */
static void lanes_that_move(void **state)
{
	(void)state;

	start();
	begin(1, 1);
	begin(1, 1);
	own_event(FORMAT_LANE, (const char *[]){"lane", "process", "sequence", NULL},
		(uint64_t[]){1, 0, LANE});
	end(1);
	end(1);
	struct run *run = load(1);
	assert_int_equal(run->lane_count, 1);
	assert_int_equal(run->lanes[0].sample_count, 2);
	run_destroy(run);
}

static void numbers_out_of_order(void **state)
{
	const char *const process[] = {"process", NULL}, *const lane[] = {"lane", NULL};
	const char *const whole[] = {"lane", "process", "sequence", NULL};
	(void)state;

	start();
	own_event(FORMAT_PROCESS, process, (uint64_t[]){7});
	own_event(FORMAT_LANE, whole, (uint64_t[]){5, 0, 9});
	own_event(FORMAT_LANE, whole, (uint64_t[]){1, 3, 9});
	own_event(FORMAT_LANE, whole, (uint64_t[]){1, 0, 0});
	own_event(FORMAT_STATISTICS, lane, (uint64_t[]){1});
	own_event(FORMAT_HISTOGRAM, process, (uint64_t[]){1});
	own_event(FORMAT_NOTES, process, (uint64_t[]){1});
	own_event(FORMAT_PROCESS_END, process, (uint64_t[]){1});
	struct run *run = load(8);
	assert_int_equal(run->process_count, 1);
	assert_int_equal(run->lane_count, 1);
	run_destroy(run);
}

/* Compressed packets that hold nothing, or no zlib stream. */
static void compressed_nonsense(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 10; i++) {
		size_t packet = pb_open(&b, TRACE_PACKET);
		pb_string(&b, PACKET_COMPRESSED, "x\x01\x03 no stream", (size_t)i);
		pb_close(&b, packet);
	}
	begin(1, 1);
	end(1);
	struct run *run = load(10);
	assert_int_equal(run->lanes[0].sample_count, 1);
	run_destroy(run);
}

/* Packets of other tracers, of sequences that never began, and of none. */
static void strangers(void **state)
{
	(void)state;

	start();
	size_t packet = packet_open(500, SEQUENCE_STATE_CLEARED);
	size_t event = pb_open(&b, PACKET_TRACK_EVENT);
	pb_varint(&b, EVENT_TYPE, EVENT_BEGIN);
	pb_close(&b, event);
	pb_close(&b, packet);
	pb_close(&b, packet_open(501, SEQUENCE_NEEDS_STATE));
	pb_close(&b, pb_open(&b, TRACE_PACKET));
	begin(1, 1);
	end(1);
	struct run *run = load(0);
	assert_int_equal(run->lanes[0].sample_count, 1);
	run_destroy(run);
}

/* Annotations whose interned value is missing, or is no site. */
static void values_that_are_none(void **state)
{
	(void)state;

	start();
	intern_packet(INTERNED_STRING_VALUES, 5, "{\"layer\":1");
	for (uint64_t iid = 4; iid <= 5; iid++) {
		size_t packet = packet_open(LANE, SEQUENCE_NEEDS_STATE);
		size_t event = pb_open(&b, PACKET_TRACK_EVENT);
		pb_varint(&b, EVENT_TYPE, EVENT_BEGIN);
		pb_varint(&b, EVENT_NAME_IID, 1);
		size_t a = pb_open(&b, EVENT_ANNOTATIONS);
		pb_varint(&b, ANNOTATION_NAME_IID, 1);
		pb_varint(&b, ANNOTATION_STRING_IID, iid);
		pb_close(&b, a);
		pb_close(&b, event);
		pb_varint(&b, PACKET_TIMESTAMP, 1);
		pb_close(&b, packet);
		end(1);
	}
	struct run *run = load(4);
	assert_int_equal(run->lanes[0].sample_count, 0);
	run_destroy(run);
}

static int finish(void **state)
{
	(void)state;
	pb_buffer_fini(&b);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout),
		cmocka_unit_test(names_that_change),
		cmocka_unit_test(time_first_or_last),
		cmocka_unit_test(waits_and_what_is_none),
		cmocka_unit_test(unbalanced),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(time_that_overflows),
		cmocka_unit_test(clock_that_runs_back),
		cmocka_unit_test(lanes_that_move),
		cmocka_unit_test(numbers_out_of_order),
		cmocka_unit_test(compressed_nonsense),
		cmocka_unit_test(strangers),
		cmocka_unit_test(values_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}
