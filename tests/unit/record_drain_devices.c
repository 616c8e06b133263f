/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, kernels and programs of a session: emitted as they are, and harmless where they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock_ns.h"
#include "lib/drain/clock_line.h"
#include "tests/unit/drain_fixture.h"

static int add_at(struct brick_queue *queue, uint32_t kernel, uint64_t begin_ns, uint64_t end_ns)
{
	struct brick_command c = {
		.size = sizeof c, .kernel = kernel, .begin_ns = begin_ns, .end_ns = end_ns};

	brick_launch_begin(&c.launch);
	brick_launch_end(&c.launch);
	c.source = BRICK_SOURCE_DEVICE_EVENT;
	c.bytes = 4096;
	return brick_queue_record(queue, &c);
}

/* A command of a queue, from 20 to 10 us ago. */
static int add_command(struct brick_queue *queue, uint32_t kernel)
{
	uint64_t now = monotonic_ns();

	return add_at(queue, kernel, now - 20000, now - 10000);
}

static struct brick_queue *make_queue(uint32_t flags)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *queue = NULL;

	options.name = "a\x1bqueue";
	options.backend = "null";
	options.flags = flags;
	assert_int_equal(brick_queue_create(&queue, &options), 0);
	return queue;
}

static const char source_text[] = "kernel void f()\n{\n}\n";

static uint32_t make_kernel(const char *name)
{
	const struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = name,
		.backend = "null",
		.grid = {2, 1, 1},
		.block = {64, 1, 1},
		.code = brick_code_register(source_text, sizeof source_text - 1, "f.cl", NULL)};
	uint32_t index = brick_kernel_register(&kernel);

	assert_true(index > 0);
	return index;
}

static void queues_kernels_and_code(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	struct brick_queue *queue = make_queue(0);
	uint32_t kernel = make_kernel("f");
	brick_span span = brick_begin_layer(BRICK_RMS_NORM, 5);
	for (int i = 0; i < 10; i++) {
		usleep(30); /* commands must not overlap */
		assert_int_equal(add_command(queue, kernel), 0);
	}
	brick_end(span);
	assert_true(emit_all(f, 7) > 0);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_null(drain_fault(f->drain));
	assert_int_equal(run->command_count, 10);
	assert_int_equal(run->bad_records, 0);
	for (size_t i = 0; i < 10; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *s = &run->lanes[c->lane].samples[c->sample];
		assert_string_equal(run->kernels[c->kernel].name, "f");
		assert_int_equal(run->kernels[c->kernel].block[0], 64);
		assert_int_equal(run->sites[s->site].layer, 5);
		assert_int_equal(c->bytes, 4096);
		assert_int_not_equal(c->launch_lane, RUN_NONE);
		assert_in_range(s->end_ns - s->begin_ns, 9990, 10010);
	}
	const struct run_lane *lane = &run->lanes[run->commands[0].lane];
	assert_int_equal(lane->kind, BRICK_LANE_QUEUE);
	assert_string_equal(lane->name, "a?queue");
	assert_string_equal(lane->backend, "null");
	assert_int_equal(run->code_count, 1);
	assert_string_equal(run->codes[0].source, source_text);
	assert_true(run->codes[0].hash == run->kernels[run->commands[0].kernel].code);
	/* exact counts of both, and lengths of the host only */
	assert_int_equal(counted(run, "RmsNorm"), 11);
	assert_int_equal(in_histogram(run, "RmsNorm"), 1);
	run_destroy(run);
	brick_queue_destroy(queue);
}

static int by_begin(const void *a, const void *b)
{
	const struct run_sample *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

enum { AT_THE_SAME_TIME = 600, TOO_MANY = 5000, BASELINE_NS = 20000000 };

/* Of an out-of-order queue any number run at once, in any order: all are there, as they were. */
static void commands_that_overlap(void **state)
{
	struct fixture *f = *state;
	static struct run_sample found[AT_THE_SAME_TIME];
	struct drain_clock clock; /* as a recorder's: over all of it */
	size_t count = 0;

	drain_clock_start(&clock);
	start_session(f, 1 << 16);
	struct brick_queue *queue = make_queue(BRICK_QUEUE_OUT_OF_ORDER);
	uint32_t kernel = make_kernel("f");
	uint64_t now = monotonic_ns();
	for (uint64_t i = 0; i < AT_THE_SAME_TIME; i++) { /* 7 and 600 have no divisor in common */
		uint64_t k = 7 * i % AT_THE_SAME_TIME;
		assert_int_equal(add_at(queue, kernel, now + 1000 * k, now + 1000000 + k), 0);
	}
	assert_int_equal(add_at(queue, kernel, now + 2000000, now + 2000100), 0);
	while (drain_clock_baseline_ns(&clock) < BASELINE_NS)
		;
	open_drain_by(f, drain_clock_fit(&clock));
	assert_true(emit_all(f, 7) > 0);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_null(drain_fault(f->drain));
	assert_int_equal(run->command_count, AT_THE_SAME_TIME + 1);
	assert_int_equal(run->bad_records, 0);
	uint64_t counted_ = 0, queues = 0, number = 0;
	for (size_t l = 0; l < run->lane_count; l++) {
		const struct run_lane *lane = &run->lanes[l];
		if (lane->kind != BRICK_LANE_QUEUE)
			continue;
		number = queues++ ? number : lane->tid;
		assert_int_equal(lane->tid, number);
		assert_int_equal(lane->ledger.clamped, 0);
		for (size_t i = 0; i < lane->sample_count && count < AT_THE_SAME_TIME; i++)
			if (lane->samples[i].begin_ns < now + 1500000)
				found[count++] = lane->samples[i];
		for (size_t b = 0; b < run->brick_count; b++)
			counted_ += lane->stats ? lane->stats[b].count : 0;
	}
	assert_int_equal(queues, AT_THE_SAME_TIME);
	assert_int_equal(count, AT_THE_SAME_TIME);
	assert_int_equal(counted_, AT_THE_SAME_TIME + 1);
	qsort(found, count, sizeof *found, by_begin);
	for (uint64_t k = 0; k < count; k++) {
		assert_in_range(found[k].begin_ns + 500, now + 1000 * k, now + 1000 * k + 999);
		assert_in_range(found[k].end_ns + 500, now + 1000000 + k, now + 1000000 + k + 999);
	}
	run_destroy(run);
	brick_queue_destroy(queue);
}

/* Whoever fills rings by hand may say that millions overlap: what is too much is dropped. */
static void more_than_there_are_lanes_for(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1 << 16);
	open_drain(f);
	struct brick_queue *queue = make_queue(BRICK_QUEUE_OUT_OF_ORDER);
	uint64_t now = monotonic_ns();
	for (uint64_t i = 0; i < TOO_MANY; i++)
		assert_int_equal(add_at(queue, 0, now + i, now + 1000000), 0);
	emit_all(f, 100);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	uint64_t dropped = 0, count = 0;
	for (size_t l = 0; l < run->lane_count; l++) {
		dropped += run->lanes[l].ledger.dropped;
		if (run->lanes[l].kind == BRICK_LANE_QUEUE)
			count += run->lanes[l].sample_count;
	}
	assert_true(count >= AT_THE_SAME_TIME && dropped > 0);
	assert_int_equal(count + dropped, TOO_MANY);
	assert_int_equal(run->bad_records, 0);
	run_destroy(run);
	brick_queue_destroy(queue);
}

/* What somebody wrote over the tables: the rest comes through. */
static void bad_kernels_and_code(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	struct brick_queue *queue = make_queue(0);
	uint32_t kernel = make_kernel("f");
	assert_int_equal(add_command(queue, kernel), 0);
	struct brick_session_header h;
	assert_int_equal(pread(f->fd, &h, sizeof h, 0), sizeof h);
	struct brick_session_kernel wild;
	memset(&wild, 0xfe, sizeof wild);
	off_t at = (off_t)(h.kernel_offset + kernel * sizeof wild);
	assert_int_equal(pwrite(f->fd, &wild, sizeof wild, at), sizeof wild);
	struct brick_session_code entry = {.name_bytes = UINT32_MAX, .source_bytes = UINT32_MAX};
	assert_int_equal(pwrite(f->fd, &entry, sizeof entry, (off_t)h.code_offset), sizeof entry);
	open_drain(f);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_non_null(drain_fault(f->drain));
	assert_string_equal(run_note_find(run, "session.bad_entries"), "2");
	assert_int_equal(run->command_count, 1);
	assert_int_equal(run->kernels[run->commands[0].kernel].kind, BRICK_KERNEL_OTHER);
	assert_int_equal(run->code_count, 0);
	run_destroy(run);
	brick_queue_destroy(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queues_kernels_and_code),
		TEST(commands_that_overlap),
		TEST(more_than_there_are_lanes_for),
		TEST(bad_kernels_and_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
