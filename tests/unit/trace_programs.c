/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles, programs of kernels, and commands of which little is known, in recordings.
 */
#include "tests/unit/trace_queue.h"

static void unknown_things(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	uint32_t odd = fake_kernel(&s.fake, "odd\xff\n", 77);
	add_queue(&s, "stream", 3);
	const struct brick_record records[] = {
		device(100, 10, BRICK_RMS_NORM, -1), /* no command */
		device(120, 10, BRICK_RMS_NORM, -1),
		launch(10, 5, 0, 1), /* the table of kernels was full */
		device(140, 10, BRICK_RMS_NORM, -1), launch(10, 5, 60000, 2),
		device(160, 10, BRICK_RMS_NORM, -1),
		launch(10, 5, odd, UINT64_MAX), /* a number beyond those of flows */
		device(180, 10, BRICK_RMS_NORM, -1),
		launch(10, 5, odd, 2), /* a number that is taken */
	};
	write_lane(&s, 1, records, COUNT(records));
	read_checked(&s);
	assert_int_equal(s.run->lanes[1].sample_count, 5);
	assert_int_equal(s.run->command_count, 4);
	assert_int_equal(s.run->commands[0].sample, 1);
	assert_string_equal(s.run->kernels[s.run->commands[0].kernel].name, "RmsNorm");
	assert_int_equal(s.run->commands[0].kernel, s.run->commands[1].kernel);
	assert_string_equal(s.run->kernels[s.run->commands[2].kernel].name, "odd?\n");
	assert_int_equal(s.run->kernels[s.run->commands[2].kernel].kind, BRICK_KERNEL_OTHER);
	assert_int_equal(s.run->commands[2].number, 0);
	assert_int_equal(s.run->commands[2].launch_ns, fake_ns(10));
	close_scene(&s);
}

/* Records that say more of nothing, or of what was bad itself, are counted. */
static void more_of_nothing(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	add_queue(&s, "stream", 3);
	const struct brick_record records[] = {
		launch(10, 5, 0, 1),
		about(BRICK_RECORD_FLOW, 3),
		device(100, 10, BRICK_RMS_NORM, -1),
		device(50, 10, BRICK_RMS_NORM, -1), /* back in time */
		launch(10, 5, 0, 1),
		times(1, 2),
		fake_at(BRICK_RECORD_INSTANT, 120, BRICK_RMS_NORM, 0),
		work(1, 1),
	};
	write_lane(&s, 1, records, COUNT(records));
	read_back(&s);
	assert_int_equal(s.run->bad_records, 6);
	assert_int_equal(s.run->lanes[1].sample_count, 1);
	assert_int_equal(s.run->command_count, 0);
	close_scene(&s);
}

static void tiles(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	struct brick_record counted = fake_sample(20, 5, BRICK_EMBEDDING, 7);
	counted.flags = BRICK_FLAG_ELEMENTS;
	counted.elements = 99;
	struct brick_record where = {
		.kind = BRICK_RECORD_TILE, .begin = 12ull << 32 | 34, .elements = 1};
	struct brick_record far = {.kind = BRICK_RECORD_TILE, .begin = UINT64_MAX, .elements = 2};
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_EMBEDDING, 0),
		counted,
		work(0, 1000),
		where,
		fake_sample(40, 5, BRICK_EMBEDDING, 7),
		fake_at(BRICK_RECORD_CLOSE, 60, BRICK_EMBEDDING, 0),
		far,
	};
	write_records(&s, records, COUNT(records));
	read_checked(&s);
	assert_int_equal(s.run->tile_count, 2);
	assert_int_equal(s.run->tiles[0].sample, 0);
	assert_int_equal(s.run->tiles[0].row, UINT32_MAX);
	assert_int_equal(s.run->tiles[0].column, UINT32_MAX);
	assert_int_equal(s.run->tiles[0].level, 2);
	assert_int_equal(s.run->tiles[1].sample, 1);
	assert_int_equal(s.run->tiles[1].row, 12);
	assert_int_equal(s.run->tiles[1].column, 34);
	assert_int_equal(s.run->tiles[1].elements, 99);
	assert_int_equal(s.run->tiles[1].flops, 1000);
	close_scene(&s);
}

static void programs(void **state)
{
	const size_t large = 300000; /* more than a chunk */
	struct scene s;
	char *text = malloc(large);
	(void)state;

	open_scene(&s, 1);
	assert_non_null(text);
	memset(text, 'x', large);
	const struct sink_code codes[] = {
		{1, "a.cl", "/src/a.cl", "__kernel\tvoid f()\n{\n}\n", 4, 9, 22, 0},
		{2, "", NULL, text, 0, 0, large, 1},
		{1, "again", NULL, "another text", 5, 0, 12, 0},
		{3, "bad", NULL, "\xff\xfe", 3, 0, 2, 0},
	};
	for (size_t i = 0; i < COUNT(codes); i++)
		assert_int_equal(sink_code(s.writer, &codes[i]), 0);
	read_checked(&s);
	assert_int_equal(s.run->code_count, 3);
	assert_string_equal(s.run->codes[0].name, "a.cl");
	assert_string_equal(s.run->codes[0].path, "/src/a.cl");
	assert_string_equal(s.run->codes[0].source, "__kernel\tvoid f()\n{\n}\n");
	assert_int_equal(strlen(s.run->codes[1].source), large);
	assert_string_equal(s.run->codes[2].source, "??");
	free(text);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_things),
		cmocka_unit_test(more_of_nothing),
		cmocka_unit_test(tiles),
		cmocka_unit_test(programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
