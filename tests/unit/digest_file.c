/* SPDX-License-Identifier: Apache-2.0 */
/* Description: what makes a digest in a file unusable: such events are counted and left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "trace/load.h"
#include "lib/writer/writer.c" /* a recording of which single events are made up */

/* What a file may say instead of a digest. */
enum fault {
	FAULT_NONE,
	FAULT_NO_SKETCH,
	FAULT_SHORT_SKETCH,
	FAULT_LONG_SKETCH,
	FAULT_NO_BASE64,
	FAULT_NAN_SKETCH,
	FAULT_TYPE,
	FAULT_SHAPE,
	FAULT_NO_SHAPE,
	FAULT_NAN_COUNT,
	FAULT_NO_BRICK,
	FAULT_PROCESS,
	FAULT_NO_SUM,
	FAULT_NEGATIVE_SQUARES,
	FAULTS,
};

static void put_double(struct trace_writer *w, const char *name, double value)
{
	size_t opened = pb_open(&w->packets.scratch, EVENT_ANNOTATIONS);

	pb_string(&w->packets.scratch, ANNOTATION_NAME, name, strlen(name));
	pb_double(&w->packets.scratch, ANNOTATION_DOUBLE, value);
	pb_close(&w->packets.scratch, opened);
}

static void put_crafted(struct trace_writer *w, enum fault fault)
{
	char sketch[2736] = "";
	size_t bytes = fault == FAULT_SHORT_SKETCH  ? 1000
		       : fault == FAULT_LONG_SKETCH ? 2736
						    : 2732;

	memset(sketch, 'A', bytes);
	sketch[bytes - 1] = '=';
	if (fault == FAULT_NO_BASE64)
		sketch[100] = '!';
	if (fault == FAULT_NAN_SKETCH)
		memcpy(sketch + 8, "8H8", 3);
	event_open(w, FORMAT_DIGEST, w->last_ns);
	event_uint(w, "process", fault == FAULT_PROCESS ? 7 : 0);
	if (fault != FAULT_NO_BRICK)
		event_text(w, "brick", "LmHead", 6);
	event_uint(w, "dtype", fault == FAULT_TYPE ? 9 : BRICK_DTYPE_F32);
	if (fault == FAULT_NAN_COUNT)
		event_uint(w, "nan", 99);
	if (fault != FAULT_NO_SHAPE) {
		size_t list = event_array(w, "ne");
		for (int i = 0; i < (fault == FAULT_SHAPE ? 5 : 4); i++)
			event_uint(w, NULL, i ? 1 : 8);
		event_end_nested(w, list);
	}
	put_double(w, "min", 0);
	put_double(w, "max", 0);
	if (fault != FAULT_NO_SUM)
		put_double(w, "sum", 0);
	put_double(w, "square_sum", fault == FAULT_NEGATIVE_SQUARES ? -1 : 0);
	if (fault != FAULT_NO_SKETCH)
		event_text(w, "sketch", sketch, bytes);
	assert_int_equal(event_close(w), 0);
}

static void test_crafted(void **state)
{
	char path[64];

	snprintf(path, sizeof path, "brick-digest-file-%d.pftrace", (int)getpid());
	const struct trace_writer_options options = {
		.path = path, .start_unix_ns = 1, .start_ns = 1, .host = "h"};
	struct brick_session_header header = {.pid = 1, .rank = -1, .world = -1};
	struct load_error error;

	(void)state;
	for (int fault = FAULT_NONE; fault < FAULTS; fault++) {
		struct trace_writer *w;
		struct run *run;
		assert_int_equal(trace_writer_create(&w, &options), 0);
		assert_int_equal(sink_process(w, &header), 0);
		put_crafted(w, (enum fault)fault);
		assert_int_equal(trace_writer_finish(w), 0);
		assert_int_equal(run_load(&run, path, &error), 0);
		if (run->digest_count != (fault == FAULT_NONE))
			fail_msg("fault %d: %zu digests", fault, run->digest_count);
		assert_int_equal(run->bad_packets, fault != FAULT_NONE);
		run_destroy(run);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crafted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
