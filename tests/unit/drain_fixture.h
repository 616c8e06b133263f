/* SPDX-License-Identifier: Apache-2.0 */
/* A session of this very process, its consumer, and a recording that is read back. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/brick.h"
#include "lib/drain/drain.h"
#include "trace/load.h"
#include "lib/writer/writer.h"

enum { AT_ONCE = 4096 };

struct fixture {
	char directory[64], session[128], trace[128];
	int fd;
	struct drain *drain;
	struct trace_writer *writer;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->directory, "/tmp/brick-unit-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->session, sizeof f->session, "%s/%d.session", f->directory, (int)getpid());
	snprintf(f->trace, sizeof f->trace, "%s/run.pftrace", f->directory);
	f->fd = -1;
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	drain_close(f->drain);
	trace_writer_abandon(f->writer);
	if (f->fd >= 0)
		close(f->fd);
	brick_session_stop();
	unlink(f->session);
	unlink(f->trace);
	rmdir(f->directory);
	free(f);
	return 0;
}

static inline void start_session(struct fixture *f, uint32_t ring_records)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;

	o.directory = f->directory;
	o.ring_records = ring_records;
	assert_int_equal(brick_session_start(&o), 0);
	f->fd = open(f->session, O_RDWR | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static inline void open_drain_by(struct fixture *f, const struct brick_clock *clock)
{
	struct trace_writer_options o = {.path = f->trace, .start_unix_ns = 1, .start_ns = 1};
	const char *why = NULL;

	assert_int_equal(drain_open(&f->drain, f->fd, NULL, &why), 0);
	assert_int_equal(trace_writer_create(&f->writer, &o), 0);
	assert_int_equal(sink_clock(f->writer, clock), 0);
}

/* By the process's clock, which was drawn over 2 ms: what lies far behind these is not for it. */
static inline void open_drain(struct fixture *f)
{
	open_drain_by(f, brick_clock_get());
}

static inline size_t emit_all(struct fixture *f, size_t at_once)
{
	static struct brick_record records[AT_ONCE];
	size_t n, total = 0;

	for (uint32_t i = 0; i < drain_lanes(f->drain); i++)
		while ((n = drain_consume(f->drain, i, records, at_once))) {
			assert_int_equal(drain_emit(f->drain, f->writer, i, records, n), 0);
			total += n;
		}
	return total;
}

static inline struct run *finish(struct fixture *f, enum drain_end end)
{
	struct load_error error;
	struct run *run = NULL;

	assert_int_equal(drain_finish(f->drain, f->writer, end, brick_ticks()), 0);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	if (run_load(&run, f->trace, &error))
		fail_msg("%s at %llu", error.text, (unsigned long long)error.offset);
	return run;
}

static inline void leaves(uint32_t brick, int count)
{
	for (int i = 0; i < count; i++)
		brick_end(brick_begin(brick));
}

static inline uint64_t samples_of(const struct run *run, const char *name)
{
	uint32_t brick = run_brick_find(run, name);
	uint64_t count = 0;

	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t i = 0; i < run->lanes[l].sample_count; i++)
			count += run->sites[run->lanes[l].samples[i].site].brick == brick;
	return count;
}

static inline uint64_t counted(const struct run *run, const char *name)
{
	uint32_t brick = run_brick_find(run, name);
	uint64_t count = 0;

	for (size_t l = 0; l < run->lane_count; l++)
		count += run->lanes[l].stats ? run->lanes[l].stats[brick].count : 0;
	return count;
}

static inline uint64_t in_histogram(const struct run *run, const char *name)
{
	uint32_t brick = run_brick_find(run, name);
	uint64_t count = 0;

	for (uint32_t i = 0; run->histograms[brick] && i < BRICK_HISTOGRAM_BUCKETS; i++)
		count += ticks_lengths_at(run->histograms[brick], i);
	return count;
}

static inline void assert_all(const struct run *run, const char *name, uint64_t count)
{
	assert_int_equal(samples_of(run, name), count);
	assert_int_equal(counted(run, name), count);
	assert_int_equal(in_histogram(run, name), count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
