/* SPDX-License-Identifier: Apache-2.0 */
/* Description: files cut off anywhere, damaged anywhere, or of somebody else: a run or an error. */
#include "format/perfetto.h"
#include "brick/error.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_scene.h"
#include "format/format.h"
#include "base/pb_write.h"
#ifdef BRICK_HAVE_ZLIB
#include <zlib.h>
#endif

struct file {
	uint8_t *data;
	size_t size;
};

static struct file take_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	struct file file = {malloc(1 << 16), 0};
	file.size = fread(file.data, 1, 1 << 16, f);
	fclose(f);
	unlink(path);
	assert_true(file.size > 500 && file.size < 1 << 16);
	return file;
}

/* A small recording that has some of everything, in several chunks. */
static struct file make(int compress)
{
	struct scene s;
	static struct ticks_histogram buckets;
	struct sink_account account = {.end_ns = fake_ns(700),
		.consumer_cpu_ns = 1,
		.program_cpu_ns = 2,
		.cpus = 2,
		.clock_residual_ns = 1};
	(void)account;

	open_scene(&s, compress);
	uint32_t site = fake_site(&s.fake, BRICK_RMS_NORM, 3, 512, "RMS_NORM", "norm-3");
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 5, BRICK_DECODE, 1),
		fake_sited(&s.fake, 10, 50, site, 20, 5),
		fake_at(BRICK_RECORD_INSTANT, 100, BRICK_SAMPLING, 0),
		fake_at(BRICK_RECORD_COUNTER, 110, FAKE_CUSTOM_BRICK, 0),
		fake_at(BRICK_RECORD_OPEN, 120, BRICK_GRAPH_COMPUTE, 0),
		fake_sited(&s.fake, 130, 50, site, 0, 0),
		fake_at(BRICK_RECORD_CLOSE, 200, BRICK_GRAPH_COMPUTE, 0),
		fake_at(BRICK_RECORD_DROP, 210, 0, 3),
		fake_sample(212, 3, BRICK_INPUT_COPY, -1),
		{.kind = BRICK_RECORD_FLOW, .elements = 1},
		fake_sample(216, 3, BRICK_SYNCHRONIZE, -1),
		{.kind = BRICK_RECORD_AFTER, .elements = 1},
		fake_at(BRICK_RECORD_CLOSE, 220, BRICK_DECODE, 0),
		{.kind = BRICK_RECORD_TILE, .begin = 1ull << 32, .elements = 1},
	};
	const struct brick_record commands[] = {
		fake_sample(215, 2, BRICK_RMS_NORM, 1),
		{.kind = BRICK_RECORD_LAUNCH, .begin = 212, .ticks = 3, .brick = 1, .elements = 1},
		{.kind = BRICK_RECORD_TIMES, .begin = 212, .elements = 213},
		fake_sample(217, 1, BRICK_RMS_NORM, 1),
		{.kind = BRICK_RECORD_LAUNCH, .begin = 212, .ticks = 3, .brick = 1, .elements = 2},
		{.kind = BRICK_RECORD_AFTER, .elements = 1},
	};
	const struct sink_code code = {5, "a", "b", "source", 1, 1, 6, 0};
	for (size_t i = 0; i < COUNT(records); i++) {
		write_records(&s, &records[i], 1);
		if (i % 2)
			assert_int_equal(sink_flush(s.writer), 0);
	}
	fake_kernel(&s.fake, "kernel", BRICK_KERNEL_COMPUTE);
	s.fake.lane.kind = BRICK_LANE_QUEUE;
	assert_int_equal(sink_lane(s.writer, 0, &s.fake.lane), 1);
	write_lane(&s, 1, commands, COUNT(commands));
	assert_int_equal(sink_code(s.writer, &code), 0);
	buckets.of_ticks[7] = 9;
	s.fake.lane.stats[BRICK_RMS_NORM] = (struct brick_stat){.count = 1, .total = 5};
	assert_int_equal(sink_lane_stats(s.writer, 0, &s.fake.lane), 0);
	assert_int_equal(sink_histogram(s.writer, 0, 0, &buckets), 0);
	assert_int_equal(sink_notes(s.writer, 0, "a=b\n", 4), 0);
	assert_int_equal(sink_account(s.writer, &account), 0);
	assert_int_equal(sink_process_end(s.writer, 0, fake_ticks(300), 1), 0);
	assert_int_equal(trace_writer_finish(s.writer), 0);

	return take_file(s.path);
}

/* How much of the recording a run holds. */
static size_t amount(const struct run *run)
{
	size_t n = run->process_count + run->note_count + run->point_count + run->brick_count +
		   run->kernel_count + run->command_count + run->code_count + run->tile_count;

	for (size_t i = 0; i < run->lane_count; i++) {
		n += 1 + run->lanes[i].sample_count + (run->lanes[i].stats != NULL);
		for (size_t k = 0; k < run->lanes[i].sample_count; k++)
			n += !(run->lanes[i].samples[k].flags & RUN_SAMPLE_OPEN);
	}
	return n + (size_t)run->complete;
}

/* Load a copy of exactly that size, so that reading beyond it is seen. */
static int load_copy(struct run **run, const uint8_t *data, size_t size, struct load_error *error)
{
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, data, size);
	int result = run_load_memory(run, copy, size, "copy", error);
	free(copy);
	return result;
}

static void cut_at_every_byte(void **state)
{
	(void)state;

	for (int compress = 0; compress < 2; compress++) {
		struct file file = make(compress);
		size_t last = 0, loaded = 0;
		for (size_t size = 0; size <= file.size; size++) {
			struct run *run;
			struct load_error error;
			int result = load_copy(&run, file.data, size, &error);
			if (result) {
				/* only before the run's own first event is there nothing to say */
				assert_int_equal(result, BRICK_EFORMAT);
				assert_int_equal(last, 0);
				assert_true(error.text[0]);
				continue;
			}
			loaded++;
			assert_null(check_run(run));
			assert_int_equal(run->bad_packets, 0);
			assert_int_equal(run->complete, size == file.size);
			assert_true(amount(run) >= last);
			assert_true(run->truncated_bytes < size);
			last = amount(run);
			run_destroy(run);
		}
		assert_true(loaded > file.size / 2);
		free(file.data);
	}
}

#ifdef BRICK_SANITIZED
enum { DAMAGES = 4000 }; /* fuzz-load goes on from here */
#else
enum { DAMAGES = 20000 };
#endif

static void damaged_anywhere(void **state)
{
	uint64_t random = 88172645463325252ull;
	size_t loaded = 0;
	(void)state;

	for (int compress = 0; compress < 2; compress++) {
		struct file file = make(compress);
		uint8_t *copy = malloc(file.size);
		for (int round = 0; round < DAMAGES; round++) {
			struct run *run;
			struct load_error error;
			memcpy(copy, file.data, file.size);
			for (int i = 0; i <= round % 4; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				copy[random % file.size] = (uint8_t)(random >> 32);
			}
			int result = run_load_memory(&run, copy, file.size, "damaged", &error);
			if (result) {
				assert_true(result == BRICK_EFORMAT || result == BRICK_EVERSION);
				continue;
			}
			loaded++;
			const char *wrong = check_run(run);
			if (wrong)
				print_error("round %d: %s\n", round, wrong);
			assert_null(wrong);
			run_destroy(run);
		}
		free(copy);
		free(file.data);
	}
	assert_true(loaded > DAMAGES / 2);
}

static void check_refused(const void *data, size_t size, int expected, uint64_t offset)
{
	struct run *run = NULL;
	struct load_error error;

	assert_int_equal(load_copy(&run, data, size, &error), expected);
	assert_null(run);
	assert_true(error.text[0]);
	assert_int_equal(error.offset, offset);
}

static void of_somebody_else(void **state)
{
	/* a sequence's packet with a timestamp and an event of another tracer */
	static const uint8_t foreign[] = {
		0x0a, 0x08, 0x08, 0x05, 0x50, 0x01, 0x68, 0x01, 0x58, 0x00};
	static const uint8_t endless[] = {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00};
	(void)state;

	check_refused("", 0, BRICK_EFORMAT, 0);
	check_refused("GGUF....", 8, BRICK_EFORMAT, 0);
	check_refused("{\"traceEvents\":[]}", 18, BRICK_EFORMAT, 0);
	check_refused(foreign, sizeof foreign, BRICK_EFORMAT, sizeof foreign);
	check_refused(endless, sizeof endless, BRICK_EFORMAT, 0);
}

static void of_a_later_version(void **state)
{
	struct file file = make(0);
	const uint8_t member[] = {0x52, 6, 'f', 'o', 'r', 'm', 'a', 't', 0x18, FORMAT_VERSION};
	uint8_t *at = memmem(file.data, file.size, member, sizeof member);
	(void)state;

	assert_non_null(at);
	at[sizeof member - 1] = FORMAT_VERSION + 1;
	struct run *run;
	struct load_error error;
	assert_int_equal(run_load_memory(&run, file.data, file.size, "x", &error), BRICK_EVERSION);
	assert_true(error.offset > 0 && error.offset < file.size);
	free(file.data);
}

/* Under UBSan: no arithmetic with the null pointer that stands for no sample. */
static void stacks_without_a_time(void **state)
{
	struct file file = make(1);
	struct pb_buffer b = {0};
	struct run *run;
	struct load_error error;
	(void)state;

	size_t packet = pb_open(&b, TRACE_PACKET);
	pb_varint(&b, PACKET_SEQUENCE_ID, FORMAT_STACK_SEQUENCE);
	pb_close(&b, packet);
	uint8_t *both = malloc(file.size + b.size);
	assert_non_null(both);
	memcpy(both, file.data, file.size);
	memcpy(both + file.size, b.data, b.size);
	assert_int_equal(run_load_memory(&run, both, file.size + b.size, "x", &error), 0);
	assert_int_equal(run->bad_packets, 0);
	run_destroy(run);
	free(both);
	pb_buffer_fini(&b);
	free(file.data);
}

#ifdef BRICK_HAVE_ZLIB
/* Packets that say nothing, as many as fill so many bytes, compressed by zlib into one packet. */
static struct file make_bomb(size_t bytes)
{
	static const uint8_t nothing[] = {0x0a, 0x02, 0x50, 0x05};
	struct pb_buffer b = {0};
	uint8_t *plain = malloc(bytes);
	uLongf size = compressBound(bytes);
	uint8_t *packed = malloc(size);

	assert_non_null(plain);
	assert_non_null(packed);
	for (size_t i = 0; i < bytes; i++)
		plain[i] = nothing[i % sizeof nothing];
	assert_int_equal(compress2(packed, &size, plain, bytes, 9), Z_OK);
	size_t packet = pb_open(&b, TRACE_PACKET);
	pb_string(&b, PACKET_COMPRESSED, (char *)packed, size);
	pb_close(&b, packet);
	assert_false(b.failed);
	free(plain);
	free(packed);
	return (struct file){b.data, b.size};
}

/* Load a bomb in front of a good file; returns how many packets were refused. */
static uint64_t refused(size_t bytes)
{
	struct file file = make(1), bomb = make_bomb(bytes);
	uint8_t *both = malloc(file.size + bomb.size);
	struct run *run;
	struct load_error error;

	assert_non_null(both);
	memcpy(both, bomb.data, bomb.size);
	memcpy(both + bomb.size, file.data, file.size);
	assert_int_equal(run_load_memory(&run, both, file.size + bomb.size, "bomb", &error), 0);
	assert_true(run->complete);
	assert_int_equal(run->lanes[0].sample_count, 6);
	uint64_t bad = run->bad_packets;
	run_destroy(run);
	free(both);
	free(bomb.data);
	free(file.data);
	return bad;
}

/* What inflates a thousandfold is refused; what follows is still read. */
static void inflates_without_end(void **state)
{
	(void)state;
	assert_int_equal(refused(1000000), 0);
	assert_int_equal(refused(40000000), 1);
}
#else
static void inflates_without_end(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(damaged_anywhere),
		cmocka_unit_test(of_somebody_else),
		cmocka_unit_test(of_a_later_version),
		cmocka_unit_test(stacks_without_a_time),
		cmocka_unit_test(inflates_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
