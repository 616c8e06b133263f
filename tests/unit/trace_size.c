/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what a begin/end pair takes in the file, also where a site comes again only beyond
 * deflate's window; and that sites keep apart, however many a layer has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "bench/trace_demo.h"
#include "trace/load.h"
#include "trace/run.h"

static struct demo demo;

static const char *write_demo(
	uint32_t lanes, uint64_t samples, int waits, int compress, struct demo_result *result)
{
	static char path[64];

	snprintf(path, sizeof path, "trace-size-test-%d.pftrace", (int)getpid());
	assert_int_equal(demo_write(&demo, path, lanes, samples, waits, compress, result), 0);
	return path;
}

static void check(uint32_t layers, uint32_t lanes, int waits, int compress, double most)
{
	struct demo_result result;

	demo_init(&demo, layers);
	unlink(write_demo(lanes, 300000, waits, compress, &result));
	double pair = (double)result.bytes / (double)result.pairs;
	if (pair > most)
		print_error("%u layers, %u threads: %.2f bytes a pair\n", layers, lanes, pair);
	assert_true(pair <= most);
}

static void bytes_of_a_pair(void **state)
{
	(void)state;
	check(DEMO_LAYERS, 1, 0, 1, 7.0);
	check(DEMO_LAYERS, 2, 1, 1, 5.4);
	check(80, 2, 1, 1, 6.8);
	check(160, 2, 1, 1, 7.0);
	check(DEMO_LAYERS, 1, 0, 0, 37.2);
	check(80, 2, 1, 0, 34);
}

/* Each site that a slice has is one of the demo's, whole, and all are there. */
static void check_sites(const char *path)
{
	static uint8_t seen[DEMO_MAX_NODES + 1];
	struct load_error error;
	struct run *run = NULL;

	memset(seen, 0, sizeof seen);
	assert_int_equal(run_load(&run, path, &error), 0);
	unlink(path);
	assert_int_equal(run->bad_packets, 0);
	for (uint32_t i = 0; i < run->site_count; i++) {
		uint64_t site = (run->sites[i].bytes - 4096) / 1000;
		if (!run->sites[i].operation)
			continue;
		assert_true(site >= 1 && site <= demo.nodes && !seen[site]++);
		assert_int_equal(run->sites[i].layer, demo.sites[site].layer);
		assert_string_equal(run->sites[i].label, demo.sites[site].label);
	}
	for (uint32_t i = 1; i <= demo.nodes; i++)
		assert_true(seen[i]);
	run_destroy(run);
}

/* More than numbers of one layer can tell in two bytes, and layers that share them. */
static void many_sites(void **state)
{
	enum { SITES = 3000 };
	struct demo_result result;
	(void)state;

	demo_init(&demo, 1);
	for (uint32_t i = 1; i <= SITES; i++)
		demo_site(&demo, i, i < 1000 ? 7 : i < 2000 ? -1 : (int)(i % 1000), 3, "ADD", "x");
	demo.nodes = SITES;
	demo.tables.site_count = SITES + 1;
	for (int compress = 0; compress < 2; compress++)
		check_sites(write_demo(1, 2 * SITES + 4, 0, compress, &result));
}

/*
 * Sites of processes have numbers of their own: here each executes half of the demo's, which the
 * second one has one place further on.
 */
static void sites_of_processes(void **state)
{
	static struct brick_session_site moved[DEMO_MAX_NODES + 1];
	struct trace_writer *w;
	static struct brick_lane lane = {.kind = BRICK_LANE_THREAD, .start_ticks = 1, .tid = 7};
	struct trace_writer_options options = {
		.path = "trace-size-test-two.pftrace", .start_unix_ns = 1, .start_ns = 1000000000};
	(void)state;

	for (options.compress = 0; options.compress < 2; options.compress++) {
		demo_init(&demo, 12);
		assert_int_equal(trace_writer_create(&w, &options), 0);
		struct trace_writer *writer = w;
		struct sink_tables tables[2] = {demo.tables, demo.tables};
		tables[1].sites = moved;
		for (uint32_t i = 1; i <= demo.nodes; i++)
			moved[i] = demo.sites[i % demo.nodes + 1];
		for (int process = 0; process < 2; process++) {
			assert_int_equal(sink_process(writer, &demo.header), process);
			sink_tables(writer, process, &tables[process]);
			assert_int_equal(sink_lane(writer, process, &lane), process);
		}
		for (uint32_t i = 1; i <= demo.nodes; i++) {
			struct brick_record r = {.kind = BRICK_RECORD_SAMPLE,
				.begin = 1000 * i,
				.ticks = 500,
				.source = BRICK_SOURCE_TSC,
				.brick = demo.sites[i].brick,
				.layer = demo.sites[i].layer,
				.flags = BRICK_FLAG_SITE,
				.site = i % 2 == 0 ? i
					: i == 1   ? demo.nodes
						   : i - 1};
			assert_int_equal(sink_records(writer, i % 2, &r, 1), 0);
		}
		assert_int_equal(trace_writer_finish(w), 0);
		check_sites(options.path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_a_pair),
		cmocka_unit_test(many_sites),
		cmocka_unit_test(sites_of_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
