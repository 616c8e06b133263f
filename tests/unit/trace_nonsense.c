/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that no writer of ours makes: numbers out of order, compressed nonsense, strangers'
 * packets, values that are none, times that overflow or run back.
 */
#include "tests/unit/trace_packets.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
