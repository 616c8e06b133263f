/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: commands of queues, their launches, waits, kernels and programs, and tiles come back
 * from the reader as they went into the writer, however the records are cut into pieces.
 */
#include "tests/unit/trace_queue.h"

static const struct run_command *command_of(const struct scene *s, size_t i)
{
	assert_true(i < s->run->command_count);
	return &s->run->commands[i];
}

static const char *name_at(const struct scene *s, uint32_t lane, uint32_t sample)
{
	return s->run->bricks[s->run->sites[s->run->lanes[lane].samples[sample].site].brick].name;
}

/* The thread's and the queue's records of a scene with everything in it. */
static size_t thread_records(struct brick_record *to)
{
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 5, BRICK_DECODE, 1),
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_RMS_NORM, 0),
		fake_sample(20, 5, BRICK_INPUT_COPY, -1),
		about(BRICK_RECORD_FLOW, 7),
		fake_sample(30, 6, BRICK_INPUT_COPY, 3),
		about(BRICK_RECORD_FLOW, 8),
		about(BRICK_RECORD_FLOW, 9),
		fake_at(BRICK_RECORD_CLOSE, 40, BRICK_RMS_NORM, 0),
		fake_sample(50, 450, BRICK_SYNCHRONIZE, -1),
		about(BRICK_RECORD_AFTER, 9),
		about(BRICK_RECORD_AFTER, 8),
		fake_at(BRICK_RECORD_CLOSE, 510, BRICK_DECODE, 0),
	};
	memcpy(to, records, sizeof records);
	return COUNT(records);
}

static size_t queue_records(struct brick_record *to, uint32_t norm, uint32_t copy)
{
	struct brick_record last = device(400, 50, BRICK_RMS_NORM, 3);
	last.flags = BRICK_FLAG_ELEMENTS;
	last.elements = 4096;
	const struct brick_record records[] = {
		device(100, 100, BRICK_RMS_NORM, 3),
		launch(20, 5, norm, 7),
		times(22, 24),
		work(8192, 65536),
		device(210, 90, BRICK_RMS_NORM, 3),
		launch(30, 6, copy, 8),
		times(0, 33),
		about(BRICK_RECORD_AFTER, 7),
		last,
		launch(30, 6, norm, 9),
		about(BRICK_RECORD_AFTER, 7),
		about(BRICK_RECORD_AFTER, 8),
	};
	memcpy(to, records, sizeof records);
	return COUNT(records);
}

static void check_first(const struct scene *s)
{
	const struct run_command *c = command_of(s, 0);
	const struct run_kernel *kernel = &s->run->kernels[c->kernel];

	assert_int_equal(c->number, 7);
	assert_string_equal(kernel->name, "norm \"f32\"");
	assert_string_equal(kernel->backend, "null");
	assert_int_equal(kernel->kind, BRICK_KERNEL_COMPUTE);
	assert_int_equal(kernel->grid[0], 16);
	assert_int_equal(kernel->block[0], 256);
	assert_int_equal(kernel->block[2], 1);
	assert_int_equal(kernel->shared_bytes, 1024);
	assert_int_equal(kernel->registers, 32);
	assert_true(kernel->code == 0x8899aabbccddeeff);
	assert_int_equal(c->launch_ns, fake_ns(20));
	assert_int_equal(c->launch_end_ns, fake_ns(25));
	assert_int_equal(c->queued_ns, fake_ns(22));
	assert_int_equal(c->submitted_ns, fake_ns(24));
	assert_int_equal(c->bytes, 8192);
	assert_int_equal(c->flops, 65536);
	assert_int_equal(c->launch_lane, 0);
	assert_int_equal(c->launch_sample, 2);
	assert_int_equal(c->dependency_count, 0);
	assert_string_equal(name_at(s, c->lane, c->sample), "RmsNorm");
	const struct run_sample *sample = &s->run->lanes[c->lane].samples[c->sample];
	assert_int_equal(sample->begin_ns, fake_ns(100));
	assert_int_equal(sample->end_ns, fake_ns(200));
	assert_int_equal(sample->source, BRICK_SOURCE_DEVICE_EVENT);
	assert_int_equal(s->run->sites[sample->site].layer, 3);
}

static void check_others(const struct scene *s)
{
	const struct run_command *c = command_of(s, 1);

	assert_int_equal(s->run->command_count, 3);
	assert_int_equal(c->queued_ns, 0);
	assert_int_equal(c->submitted_ns, fake_ns(33));
	assert_int_equal(s->run->kernels[c->kernel].kind, BRICK_KERNEL_H2D);
	assert_int_equal(s->run->kernels[c->kernel].grid[0], 0);
	assert_int_equal(c->launch_sample, 3);
	assert_int_equal(c->dependency_count, 1);
	assert_int_equal(s->run->dependencies[c->dependency_first], 0);
	c = command_of(s, 2);
	assert_int_equal(c->launch_sample, 3);
	assert_int_equal(c->dependency_count, 2);
	assert_int_equal(s->run->dependencies[c->dependency_first], 0);
	assert_int_equal(s->run->dependencies[c->dependency_first + 1], 1);
	assert_int_equal(s->run->sites[s->run->lanes[1].samples[c->sample].site].elements, 4096);
	assert_int_equal(s->run->wait_count, 2);
	assert_int_equal(s->run->waits[0].command, 2);
	assert_int_equal(s->run->waits[1].command, 1);
	assert_string_equal(
		name_at(s, s->run->waits[0].lane, s->run->waits[0].sample), "Synchronize");
	assert_int_equal(s->run->kernel_count, 2);
	assert_string_equal(s->run->lanes[1].backend, "null");
	assert_int_equal(s->run->lanes[1].queue_flags, 1);
	assert_int_equal(s->run->lanes[0].sample_count, 5);
	assert_int_equal(s->run->lanes[1].sample_count, 3);
	/* a kernel's name is no brick */
	assert_int_equal(run_brick_find(s->run, "norm \"f32\""), RUN_NONE);
}

/* What a slice says must not come late, as long as nobody asked for the file in between. */
static int says_work(const char *path)
{
	static char data[1 << 16];
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t size = fread(data, 1, sizeof data, f);

	fclose(f);
	return memmem(data, size, "Work", 4) != NULL;
}

/* In pieces of every size, whose ends may lie between a slice and what is said of it. */
static void commands_in_pieces(void **state)
{
	struct brick_record thread[16], queue[16];
	(void)state;

	for (size_t round = 0; round < 26; round++) {
		const size_t piece = 1 + round % 13, compress = round / 13;
		struct scene s;
		open_scene(&s, (int)compress);
		uint32_t norm = fake_kernel(&s.fake, "norm \"f32\"", BRICK_KERNEL_COMPUTE);
		uint32_t copy = fake_kernel(&s.fake, "copy", BRICK_KERNEL_H2D);
		size_t threads = thread_records(thread), queues = queue_records(queue, norm, copy);
		assert_int_equal(add_queue(&s, "stream", 3), 1);
		for (size_t i = 0; i < threads || i < queues; i += piece) {
			if (i < threads)
				write_lane(&s, 0, thread + i,
					threads - i < piece ? threads - i : piece);
			if (i < queues)
				write_lane(
					&s, 1, queue + i, queues - i < piece ? queues - i : piece);
		}
		read_checked(&s);
		check_first(&s);
		check_others(&s);
		if (!compress)
			assert_false(says_work(s.path));
		close_scene(&s);
	}
}

/* What comes after the slice has been flushed to the file is not lost either. */
static void told_late(void **state)
{
	struct brick_record thread[16], queue[16];
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	uint32_t norm = fake_kernel(&s.fake, "norm \"f32\"", BRICK_KERNEL_COMPUTE);
	uint32_t copy = fake_kernel(&s.fake, "copy", BRICK_KERNEL_H2D);
	size_t threads = thread_records(thread), queues = queue_records(queue, norm, copy);
	add_queue(&s, "stream", 3);
	for (size_t i = 0; i < threads || i < queues; i++) {
		if (i < threads)
			write_lane(&s, 0, thread + i, 1);
		if (i < queues)
			write_lane(&s, 1, queue + i, 1);
		assert_int_equal(sink_flush(s.writer), 0);
	}
	read_checked(&s);
	check_first(&s);
	check_others(&s);
	close_scene(&s);
}

/* A command of more than 2^32 ticks is opened and closed. */
static void long_command(void **state)
{
	const uint64_t end = 100 + 6000000000;
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	uint32_t norm = fake_kernel(&s.fake, "norm", BRICK_KERNEL_COMPUTE);
	add_queue(&s, "stream", 3);
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 100, BRICK_RMS_NORM, 0),
		fake_at(BRICK_RECORD_CLOSE, end, BRICK_RMS_NORM, 0),
		launch(20, 5, norm, 1),
		times(30, 200), /* submitted after it began: clocks are only so good */
		device(end + 10, 5, BRICK_RMS_NORM, 2),
		launch(0, 0, norm, 2),
		about(BRICK_RECORD_AFTER, 1),
	};
	write_lane(&s, 1, records, COUNT(records));
	read_checked(&s);
	const struct run_command *c = command_of(&s, 0);
	assert_int_equal(s.run->command_count, 2);
	assert_int_equal(c->number, 1);
	assert_int_equal(c->launch_ns, fake_ns(20));
	assert_int_equal(c->launch_end_ns, fake_ns(25));
	assert_int_equal(c->queued_ns, fake_ns(30));
	assert_int_equal(c->submitted_ns, fake_ns(200));
	assert_string_equal(s.run->kernels[c->kernel].name, "norm");
	assert_string_equal(name_at(&s, 1, 0), "RmsNorm");
	c = command_of(&s, 1);
	assert_int_equal(c->launch_ns, 0);
	assert_int_equal(c->launch_lane, RUN_NONE);
	assert_int_equal(c->dependency_count, 1);
	close_scene(&s);
}

/* More links than fit one packet, and links to commands whose records are missing. */
static void many_links(void **state)
{
	struct brick_record records[200];
	struct scene s;
	size_t n = 0;
	(void)state;

	open_scene(&s, 1);
	uint32_t norm = fake_kernel(&s.fake, "norm", BRICK_KERNEL_COMPUTE);
	add_queue(&s, "stream", 3);
	records[n++] = fake_sample(10, 5, BRICK_INPUT_COPY, -1);
	for (uint64_t i = 1; i <= 40; i++)
		records[n++] = about(BRICK_RECORD_FLOW, i);
	records[n++] = fake_sample(20, 900, BRICK_SYNCHRONIZE, -1);
	for (uint64_t i = 1; i <= 40; i++)
		records[n++] = about(BRICK_RECORD_AFTER, i);
	records[n++] = about(BRICK_RECORD_AFTER, 0);
	records[n++] = about(BRICK_RECORD_AFTER, UINT64_MAX);
	write_lane(&s, 0, records, n);
	n = 0;
	for (uint64_t i = 1; i <= 40; i++) {
		records[n++] = device(100 + 10 * i, 5, BRICK_RMS_NORM, -1);
		records[n++] = launch(10, 5, norm, i);
		records[n++] = about(BRICK_RECORD_AFTER, i - 1);
	}
	write_lane(&s, 1, records, n);
	read_checked(&s);
	assert_int_equal(s.run->command_count, 40);
	assert_int_equal(s.run->wait_count, 40);
	assert_int_equal(s.run->dependency_count, 39);
	for (size_t i = 0; i < 40; i++) {
		assert_int_equal(s.run->commands[i].launch_sample, 0);
		assert_int_equal(s.run->commands[i].dependency_count, i > 0);
		assert_int_equal(s.run->waits[i].command, i);
	}
	close_scene(&s);
}

/* The same numbers in two processes are different commands, equal kernels are one. */
static void of_two_processes(void **state)
{
	static struct fake other;
	struct brick_record thread[16], queue[16];
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	fake_init(&other, 77);
	uint32_t norm = fake_kernel(&s.fake, "norm \"f32\"", BRICK_KERNEL_COMPUTE);
	uint32_t copy = fake_kernel(&s.fake, "copy", BRICK_KERNEL_H2D);
	uint32_t other_copy = fake_kernel(&other, "copy", BRICK_KERNEL_H2D);
	uint32_t other_norm = fake_kernel(&other, "norm \"f32\"", BRICK_KERNEL_COMPUTE);
	assert_int_equal(add_queue(&s, "stream", 3), 1);
	assert_int_equal(sink_process(s.writer, &other.header), 1);
	assert_int_equal(sink_tables(s.writer, 1, &other.tables), 0);
	assert_int_equal(sink_lane(s.writer, 1, &other.lane), 2);
	other.lane.kind = BRICK_LANE_QUEUE;
	assert_int_equal(sink_lane(s.writer, 1, &other.lane), 3);
	write_lane(&s, 0, thread, thread_records(thread));
	write_lane(&s, 1, queue, queue_records(queue, norm, copy));
	write_lane(&s, 2, thread, thread_records(thread));
	write_lane(&s, 3, queue, queue_records(queue, other_norm, other_copy));
	read_checked(&s);
	assert_int_equal(s.run->command_count, 6);
	assert_int_equal(s.run->kernel_count, 2);
	assert_int_equal(s.run->wait_count, 4);
	for (size_t i = 0; i < 6; i++) {
		const struct run_command *c = command_of(&s, i);
		assert_int_equal(c->launch_lane, c->lane - 1);
		assert_int_equal(c->number, 7 + i % 3);
		assert_int_equal(c->kernel, s.run->commands[i % 3].kernel);
		for (uint32_t k = 0; k < c->dependency_count; k++)
			assert_int_equal(
				s.run->commands[s.run->dependencies[c->dependency_first + k]].lane,
				c->lane);
	}
	close_scene(&s);
}

/*
 * The newest command of a queue where they overlap is not the one that a wait went on for. A wait
 * that ends shortly behind its command is for that.
 */
static void waits_for_the_last(void **state)
{
	enum { US = 1000 };
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	uint32_t norm = fake_kernel(&s.fake, "norm", BRICK_KERNEL_COMPUTE);
	add_queue(&s, "stream", 3);
	add_queue(&s, "stream", 3); /* another lane of the same queue */
	const struct brick_record thread[] = {
		fake_sample(10 * US, 500 * US, BRICK_SYNCHRONIZE, -1),
		about(BRICK_RECORD_AFTER, 2),
		fake_sample(600 * US, 140 * US, BRICK_SYNCHRONIZE, -1),
		about(BRICK_RECORD_AFTER, 4),
	};
	const struct brick_record first[] = {
		device(5 * US, 495 * US, BRICK_RMS_NORM, -1), /* ends at 500 */
		launch(1 * US, 5, norm, 1),
		device(600 * US, 130 * US, BRICK_RMS_NORM, -1), /* ends at 730 */
		launch(550 * US, 5, norm, 3),
	};
	const struct brick_record second[] = {
		device(6 * US, 20 * US, BRICK_RMS_NORM, -1), /* ends at 26 */
		launch(2 * US, 5, norm, 2),
		device(610 * US, 100 * US, BRICK_RMS_NORM, -1), /* ends at 710 */
		launch(560 * US, 5, norm, 4),
	};
	write_lane(&s, 0, thread, COUNT(thread));
	write_lane(&s, 1, first, COUNT(first));
	write_lane(&s, 2, second, COUNT(second));
	read_checked(&s);
	assert_int_equal(s.run->wait_count, 2);
	assert_int_equal(s.run->commands[s.run->waits[0].command].number, 1);
	assert_int_equal(s.run->commands[s.run->waits[1].command].number, 4);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_in_pieces),
		cmocka_unit_test(told_late),
		cmocka_unit_test(long_command),
		cmocka_unit_test(many_links),
		cmocka_unit_test(of_two_processes),
		cmocka_unit_test(waits_for_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
