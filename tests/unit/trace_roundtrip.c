/* SPDX-License-Identifier: Apache-2.0 */
/* Description: what the trace writer is given comes back from the reader, record by record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "brick/error.h"
#include "tests/unit/trace_fake.h"
#include "trace/load.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What all tests share: a session, a writer to a file of its own, and the run read back. */
struct scene {
	struct fake fake;
	struct trace_writer *writer;
	struct run *run;
	char path[64];
};

static void open_scene(struct scene *s, int compress)
{
	fake_init(&s->fake, 4242);
	snprintf(s->path, sizeof s->path, "trace-roundtrip-%d.pftrace", (int)getpid());
	s->run = NULL;
	assert_int_equal(fake_writer(&s->writer, &s->fake, s->path, compress), 0);
}

static void write_records(struct scene *s, const struct brick_record *records, size_t count)
{
	assert_int_equal(trace_writer_tables(s->writer, 0, &s->fake.tables), 0);
	assert_int_equal(trace_writer_records(s->writer, 0, records, count), 0);
}

static void read_back(struct scene *s)
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

static void close_scene(struct scene *s)
{
	run_destroy(s->run);
	unlink(s->path);
}

static const struct run_site *site_of(const struct scene *s, size_t lane, size_t i)
{
	return &s->run->sites[s->run->lanes[lane].samples[i].site];
}

static const char *brick_of(const struct scene *s, size_t lane, size_t i)
{
	return s->run->bricks[site_of(s, lane, i)->brick].name;
}

static void check_sample(const struct scene *s, size_t i, const char *brick, uint64_t begin,
	uint64_t end, int depth)
{
	assert_true(i < s->run->lanes[0].sample_count);
	const struct run_sample *sample = &s->run->lanes[0].samples[i];
	assert_string_equal(brick_of(s, 0, i), brick);
	assert_int_equal(sample->begin_ns, fake_ns(begin));
	assert_int_equal(sample->end_ns, fake_ns(end));
	assert_int_equal(sample->depth, depth);
}

static void sites_and_waits(void **state)
{
	struct scene s;
	(void)state;

	for (int compress = 0; compress < 2; compress++) {
		open_scene(&s, compress);
		uint32_t norm = fake_site(&s.fake, BRICK_RMS_NORM, 3, 512, "RMS_NORM", "a\"\\\n");
		uint32_t gate = fake_site(&s.fake, BRICK_GATE_PROJECTION, 3, 1408, "MUL_MAT", "");
		s.fake.sites[gate].flags = BRICK_SITE_UNKNOWN_OPERATION;
		const struct brick_record records[] = {
			fake_sited(&s.fake, 100, 50, norm, 0, 0),
			fake_sited(&s.fake, 160, 40, gate, 25, 13),
			fake_sited(&s.fake, 225, 0, norm, 5, 0),
		};
		write_records(&s, records, COUNT(records));
		read_back(&s);

		assert_int_equal(s.run->lanes[0].sample_count, 3);
		check_sample(&s, 0, "RmsNorm", 100, 150, 0);
		check_sample(&s, 1, "GateProjection", 160, 200, 0);
		check_sample(&s, 2, "RmsNorm", 225, 225, 0);
		const struct run_sample *samples = s.run->lanes[0].samples;
		assert_int_equal(samples[0].wait_ns, 0);
		assert_int_equal(samples[1].wait_ns, 25);
		assert_int_equal(samples[1].inner_ns, 13);
		assert_int_equal(samples[2].wait_ns, 5);
		assert_int_equal(samples[0].site, samples[2].site);
		assert_int_equal(samples[0].source, BRICK_SOURCE_TSC);
		const struct run_site *site = site_of(&s, 0, 0);
		assert_int_equal(site->layer, 3);
		assert_int_equal(site->elements, 512);
		assert_int_equal(site->bytes, 2048);
		assert_int_equal(site->flops, 1536);
		assert_string_equal(site->operation, "RMS_NORM");
		assert_string_equal(site->label, "a\"\\\n");
		assert_int_equal(site->flags,
			BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS);
		site = site_of(&s, 0, 1);
		assert_int_equal(site->flags, BRICK_SITE_UNKNOWN_OPERATION);
		assert_null(site->label);
		assert_int_equal(s.run->bricks[site->brick].well_known, BRICK_GATE_PROJECTION);
		assert_string_equal(
			s.run->categories[s.run->bricks[site->brick].category].name, "FFN");
		close_scene(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_and_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
