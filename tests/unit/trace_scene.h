/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What round-trip tests share: a made-up session, a writer to a file of the test's own, and the run
 * read back. Header only.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/trace_fake.h"
#include "trace/load.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct scene {
	struct fake fake;
	struct trace_writer *writer;
	struct run *run;
	char path[64];
};

static inline void open_scene(struct scene *s, int compress)
{
	fake_init(&s->fake, 4242);
	snprintf(s->path, sizeof s->path, "trace-test-%d.pftrace", (int)getpid());
	s->run = NULL;
	assert_int_equal(fake_writer(&s->writer, &s->fake, s->path, compress), 0);
}

static inline void write_lane(
	struct scene *s, int lane, const struct brick_record *records, size_t count)
{
	assert_int_equal(sink_tables(s->writer, 0, &s->fake.tables), 0);
	assert_int_equal(sink_records(s->writer, lane, records, count), 0);
}

static inline void write_records(struct scene *s, const struct brick_record *records, size_t count)
{
	write_lane(s, 0, records, count);
}

static inline void read_back(struct scene *s)
{
	struct load_error error;

	assert_int_equal(trace_writer_finish(s->writer), 0);
	int result = run_load(&s->run, s->path, &error);
	if (result)
		print_error("%s at %llu\n", error.text, (unsigned long long)error.offset);
	assert_int_equal(result, 0);
	assert_int_equal(s->run->bad_packets, 0);
	assert_int_equal(s->run->truncated_bytes, 0);
	assert_true(s->run->complete);
}

/* The file goes, or stays under another name for whoever wants to look at it, too. */
static inline void close_scene(struct scene *s)
{
	static int kept;
	const char *directory = getenv("BRICK_KEEP_TRACES");
	char to[512];

	run_destroy(s->run);
	if (!directory) {
		unlink(s->path);
		return;
	}
	snprintf(to, sizeof to, "%s/%d.pftrace", directory, kept++);
	assert_int_equal(rename(s->path, to), 0);
}

static inline const struct run_sample *sample_of(const struct scene *s, size_t i)
{
	assert_true(i < s->run->lanes[0].sample_count);
	return &s->run->lanes[0].samples[i];
}

static inline const struct run_site *site_of(const struct scene *s, size_t i)
{
	return &s->run->sites[sample_of(s, i)->site];
}

static inline void check_sample(
	const struct scene *s, size_t i, const char *brick, uint64_t begin, uint64_t end, int depth)
{
	const struct run_sample *sample = sample_of(s, i);

	assert_string_equal(s->run->bricks[site_of(s, i)->brick].name, brick);
	assert_int_equal(sample->begin_ns, fake_ns(begin));
	assert_int_equal(sample->end_ns, fake_ns(end));
	assert_int_equal(sample->depth, depth);
}
