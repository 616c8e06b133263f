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
	uint32_t lanes, uint64_t samples, int waits, struct demo_result *result)
{
	static char path[64];

	snprintf(path, sizeof path, "trace-size-test-%d.pftrace", (int)getpid());
	assert_int_equal(demo_write(&demo, path, lanes, samples, waits, 1, result), 0);
	return path;
}

static void check(uint32_t layers, uint32_t lanes, int waits, double most)
{
	struct demo_result result;

	demo_init(&demo, layers);
	unlink(write_demo(lanes, 300000, waits, &result));
	double pair = (double)result.bytes / (double)result.pairs;
	if (pair > most)
		print_error("%u layers, %u threads: %.2f bytes a pair\n", layers, lanes, pair);
	assert_true(pair <= most);
}

static void bytes_of_a_pair(void **state)
{
	(void)state;
	check(DEMO_LAYERS, 1, 0, 7.2);
	check(DEMO_LAYERS, 2, 1, 6.0);
	check(80, 2, 1, 7.4);
	check(160, 2, 1, 7.6);
}

/* More than ids of one layer can tell, and layers that share them. */
static void many_sites(void **state)
{
	enum { SITES = 3000 };
	uint8_t seen[SITES + 1] = {0};
	struct demo_result result;
	struct load_error error;
	struct run *run = NULL;
	(void)state;

	demo_init(&demo, 1);
	for (uint32_t i = 1; i <= SITES; i++)
		demo_site(&demo, i, i < 1000 ? 7 : i < 2000 ? -1 : (int)(i % 1000), 3, "ADD", "x");
	demo.nodes = SITES;
	demo.tables.site_count = SITES + 1;
	const char *path = write_demo(1, 2 * SITES + 4, 0, &result);
	assert_int_equal(run_load(&run, path, &error), 0);
	unlink(path);
	assert_int_equal(run->bad_packets, 0);
	for (uint32_t i = 0; i < run->site_count; i++) {
		uint64_t site = (run->sites[i].bytes - 4096) / 1000;
		if (!run->sites[i].operation)
			continue;
		assert_true(site >= 1 && site <= SITES && !seen[site]++);
		assert_int_equal(run->sites[i].layer, demo.sites[site].layer);
		assert_string_equal(run->sites[i].label, demo.sites[site].label);
	}
	for (uint32_t i = 1; i <= SITES; i++)
		assert_true(seen[i]);
	run_destroy(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_a_pair),
		cmocka_unit_test(many_sites),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
