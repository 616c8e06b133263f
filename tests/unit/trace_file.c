/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the file on its way from PATH.part to PATH, and what happens when that fails. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "brick/error.h"
#include "tests/unit/trace_scene.h"

static char part[80];

static int exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static void open_and_name(struct scene *s)
{
	open_scene(s, 1);
	snprintf(part, sizeof part, "%s.part", s->path);
}

static void some_samples(struct scene *s, uint64_t from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct brick_record record =
			fake_sample(from + i * 10, 5, BRICK_SAMPLING, (int16_t)(i % 100));
		write_records(s, &record, 1);
	}
}

static void grows_as_part(void **state)
{
	struct scene s;
	uint64_t bytes, pairs;
	(void)state;

	open_and_name(&s);
	assert_false(exists(s.path));
	some_samples(&s, 0, 100);
	assert_int_equal(sink_flush(s.writer), 0);
	trace_writer_counts(s.writer, &bytes, &pairs);
	assert_int_equal(pairs, 100);
	struct stat st;
	assert_int_equal(stat(part, &st), 0);
	assert_int_equal(st.st_size, bytes);

	/* what a reader finds when the writer is killed here */
	struct load_error error;
	assert_int_equal(run_load(&s.run, s.path, &error), 0);
	assert_string_equal(s.run->path, part);
	assert_false(s.run->complete);
	assert_int_equal(s.run->truncated_bytes, 0);
	assert_int_equal(s.run->lanes[0].sample_count, 100);
	run_destroy(s.run);

	some_samples(&s, 1000, 50);
	read_back(&s);
	assert_false(exists(part));
	assert_string_equal(s.run->path, s.path);
	assert_int_equal(s.run->lanes[0].sample_count, 150);
	close_scene(&s);
}

static void abandoned(void **state)
{
	struct scene s;
	struct load_error error;
	(void)state;

	open_and_name(&s);
	some_samples(&s, 0, 10);
	trace_writer_abandon(s.writer);
	trace_writer_abandon(NULL);
	assert_false(exists(s.path));
	assert_false(exists(part));
	assert_int_equal(run_load(&s.run, s.path, &error), -ENOENT);
	assert_string_equal(error.text, strerror(ENOENT));
}

static void replaces_an_older_one(void **state)
{
	struct scene s;
	(void)state;

	open_and_name(&s);
	FILE *old = fopen(s.path, "w");
	assert_non_null(old);
	fputs("old", old);
	fclose(old);
	some_samples(&s, 0, 10);
	read_back(&s);
	assert_int_equal(s.run->lanes[0].sample_count, 10);
	close_scene(&s);
}

static void cannot_be_created(void **state)
{
	struct trace_writer *w = NULL;
	struct trace_writer_options options = {.path = "no/such/directory/x", .compress = 1};
	(void)state;

	assert_int_equal(trace_writer_create(&w, &options), -ENOENT);
	assert_null(w);
}

/* Records until the writer says that it cannot go on; the first error stays. */
static int write_until_error(struct scene *s)
{
	int result = 0;

	for (uint64_t i = 0; i < 2000000 && !result; i++) {
		const struct brick_record record =
			fake_sample(i * 1000, i * 7919 % 997, BRICK_SAMPLING, -1);
		result = sink_records(s->writer, 0, &record, 1);
	}
	return result;
}

static void check_error_state(struct scene *s, int error)
{
	const struct sink_account account = {0};

	assert_int_equal(sink_flush(s->writer), error);
	assert_int_equal(sink_tables(s->writer, 0, &s->fake.tables), error);
	assert_int_equal(sink_process(s->writer, &s->fake.header), error);
	assert_int_equal(sink_lane(s->writer, 0, &s->fake.lane), error);
	assert_int_equal(sink_lane_stats(s->writer, 0, &s->fake.lane), error);
	assert_int_equal(sink_notes(s->writer, 0, "a=b\n", 4), error);
	assert_int_equal(sink_account(s->writer, &account), error);
	assert_int_equal(sink_process_end(s->writer, 0, 0, 1), error);
	assert_int_equal(trace_writer_finish(s->writer), error);
	assert_false(exists(s->path));
}

/* What was written until then is there, and nothing torn behind it. */
static void check_what_is_left(struct scene *s)
{
	struct load_error error;

	assert_int_equal(run_load(&s->run, part, &error), 0);
	assert_int_equal(s->run->truncated_bytes, 0);
	assert_true(s->run->lanes[0].sample_count > 100);
	run_destroy(s->run);
	unlink(part);
}

static void file_too_large(void **state)
{
	struct scene s;
	struct rlimit old, small;
	(void)state;

	open_and_name(&s);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 300000;
	setrlimit(RLIMIT_FSIZE, &small);
	int result = write_until_error(&s);
	check_error_state(&s, result);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(result, -EFBIG);
	check_what_is_left(&s);
}

static void wrong_numbers(void **state)
{
	struct scene s;
	struct brick_record record = fake_sample(0, 1, BRICK_SAMPLING, -1);
	struct brick_clock broken = {0};
	(void)state;

	open_and_name(&s);
	for (int wrong = -1; wrong <= 1; wrong += 2) {
		assert_int_equal(sink_records(s.writer, wrong, &record, 1), -EINVAL);
		assert_int_equal(sink_lane_stats(s.writer, wrong, &s.fake.lane), -EINVAL);
		assert_int_equal(sink_lane(s.writer, wrong, &s.fake.lane), -EINVAL);
		assert_int_equal(sink_notes(s.writer, wrong, "", 0), -EINVAL);
		assert_int_equal(sink_process_end(s.writer, wrong, 0, 1), -EINVAL);
		assert_int_equal(sink_tables(s.writer, wrong, &s.fake.tables), -EINVAL);
		assert_int_equal(sink_histogram(s.writer, wrong, 0, NULL), -EINVAL);
		assert_int_equal(sink_process_state(s.writer, wrong, &s.fake.header), -EINVAL);
	}
	assert_int_equal(sink_clock(s.writer, &broken), -EINVAL);
	/* a mistake of the caller is no failure of the writer */
	write_records(&s, &record, 1);
	read_back(&s);
	assert_int_equal(s.run->lanes[0].sample_count, 1);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_as_part),
		cmocka_unit_test(abandoned),
		cmocka_unit_test(replaces_an_older_one),
		cmocka_unit_test(cannot_be_created),
		cmocka_unit_test(file_too_large),
		cmocka_unit_test(wrong_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
