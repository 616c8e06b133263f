/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the writer and the reader with every allocation failing in turn: an error or a
 * result, nothing lost in between. Needs an allocator that can be replaced: skipped with
 * sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/stack_fixture.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_fake.h"
#include "trace/load.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define REPLACED 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define REPLACED 0
#endif
#ifndef REPLACED
#define REPLACED 1
#endif

static long until_failure = -1; /* allocations until one fails; -1: none does */
static int once;		/* only that one fails, not all that follow, too */
static int failed_once;
static long blocks; /* in use since counting began */

/* Also for libc itself, whatever the build hides by default. */
#define EVERYWHERE __attribute__((visibility("default")))

#if REPLACED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

/* The reader inflates on a thread of its own. */
static void count_blocks(long by)
{
	__atomic_add_fetch(&blocks, by, __ATOMIC_RELAXED);
}

static int fails(void)
{
	if (until_failure > 0)
		until_failure--;
	if (until_failure)
		return 0;
	failed_once = 1;
	if (once)
		until_failure = -1;
	return 1;
}

EVERYWHERE void *malloc(size_t size)
{
	void *block = fails() ? NULL : __libc_malloc(size);

	count_blocks(block != NULL);
	if (!block)
		errno = ENOMEM;
	return block;
}

EVERYWHERE void *calloc(size_t count, size_t size)
{
	void *block = fails() ? NULL : __libc_calloc(count, size);

	count_blocks(block != NULL);
	if (!block)
		errno = ENOMEM;
	return block;
}

EVERYWHERE void *realloc(void *old, size_t size)
{
	void *block = fails() ? NULL : __libc_realloc(old, size);

	count_blocks(block != NULL && !old);
	if (!block)
		errno = ENOMEM;
	return block;
}

EVERYWHERE void free(void *block)
{
	count_blocks(-(block != NULL));
	__libc_free(block);
}
#endif

static char path[64], part[72];

static void fail_from(long n)
{
	failed_once = 0;
	until_failure = n;
}

/* Of two samples each. */
static uint32_t rounds = 99;
static size_t sample_bytes = SIZE_MAX;

static struct pb_buffer stacks; /* as packets */

/* A recording with some of everything; 0 or the first error. */
static int record(void)
{
	static struct fake fake;
	static struct ticks_histogram buckets = {{[5] = 1}};
	struct trace_writer *w = NULL;

	fake_init(&fake, 1);
	struct trace_writer_options options = {.path = path, .compress = 1};
	int error = trace_writer_create(&w, &options);
	if (error)
		return error;
	for (int i = 0; i < 100; i++)
		fake_site(&fake, BRICK_RMS_NORM, (int16_t)i, 5, "X", "y");
	sink_process(w, &fake.header);
	sink_tables(w, 0, &fake.tables);
	sink_lane(w, 0, &fake.lane);
	for (uint32_t i = 0; i < rounds; i++) {
		const struct brick_record records[] = {
			fake_sited(&fake, i * 100, 5, i % 99 + 1, 5, 0),
			fake_sample(i * 100 + 50, 5, BRICK_DECODE, (int16_t)(i % 99)),
			fake_at(BRICK_RECORD_COUNTER, i * 100 + 60, BRICK_SAMPLING, 0),
		};
		sink_records(w, 0, records, 3);
	}
	sink_lane_stats(w, 0, &fake.lane);
	sink_histogram(w, 0, 0, &buckets);
	sink_notes(w, 0, "a=b\n", 4);
	trace_writer_packets(w, stacks.data, stacks.size);
	sink_process_end(w, 0, fake_ticks(100000), 1);
	return trace_writer_finish(w);
}

/* 0 or the error. *samples: of the run. */
static int load(size_t *samples)
{
	struct run *run;
	struct load_error error;
	int result = run_load_within(&run, path, sample_bytes, &error);

	if (result)
		return result;
	*samples = run->lane_count ? run->lanes[0].sample_count : 0;
	result = check_run(run) || run->stack_count != 3 ? 1 : 0;
	run_destroy(run);
	return result;
}

static void write_until_none_fails(void)
{
	long n = 0;
	int error;

	do {
		long before = blocks;
		fail_from(++n);
		error = record();
		until_failure = -1;
		assert_int_equal(blocks, before);
		assert_int_equal(error, failed_once ? -ENOMEM : 0);
		assert_int_equal(access(path, F_OK), error ? -1 : 0);
		unlink(part);
	} while (failed_once);
	assert_true(n > 15);
	unlink(path);
}

static void writing(void **state)
{
	(void)state;
	if (!REPLACED)
		skip();
	for (once = 0; once < 2; once++)
		write_until_none_fails();
}

static void read_until_none_fails(void)
{
	long n = 0, errors = 0;
	size_t samples = 0;
	int error;

	assert_int_equal(record(), 0);
	do {
		long before = blocks;
		fail_from(++n);
		error = load(&samples);
		until_failure = -1;
		assert_int_equal(blocks, before);
		assert_true(error == 0 || (error == -ENOMEM && failed_once));
		errors += error != 0;
		/* some memory is only to be faster: then all is read without it */
		if (!error)
			assert_int_equal(samples, 2 * rounds);
	} while (failed_once);
	assert_true(errors > 100);
	unlink(path);
}

static void reading(void **state)
{
	(void)state;
	if (!REPLACED)
		skip();
	for (once = 0; once < 2; once++)
		read_until_none_fails();
}

/* More samples than may be in memory. */
static void spilling(void **state)
{
	(void)state;
	if (!REPLACED)
		skip();
	rounds = 3000;
	sample_bytes = 0;
	once = 0;
	read_until_none_fails();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writing),
		cmocka_unit_test(reading),
		cmocka_unit_test(spilling),
	};

	snprintf(path, sizeof path, "trace-memory-%d.pftrace", (int)getpid());
	snprintf(part, sizeof part, "%s.part", path);
	stacks = stack_fixture();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	pb_buffer_fini(&stacks);
	return failed;
}
