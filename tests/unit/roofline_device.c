/* SPDX-License-Identifier: Apache-2.0 */
/* Bricks on a device stand under the ceilings of that device, with the work of all of a node's
 * commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/roofline_kit.h"

static void add_note(struct run *run, const char *key, const char *value)
{
	run->notes = realloc(run->notes, (run->note_count + 1) * sizeof(*run->notes));
	run->notes[run->note_count++] = (struct run_note){0, strdup(key), strdup(value)};
}

/*
 * The first command of a node tells of its work: 4000 bytes by 40 + 60 ns; another brick's between
 * two of them ends it. Under the ceilings of the device that the notes name.
 */
static void devices_have_roofs_of_their_own(void **state)
{
	struct ceilings_compute f32 = {"kernel", "f32", 1, FIGURE(1000.0)};
	struct ceilings_bandwidth reads[] = {{"L1", "read", "kernel", 1, 1000, FIGURE(500.0)},
		{"memory", "read", "kernel", 1, 1 << 28, FIGURE(80.0)}};
	struct ceilings_latency empty = {"kernel", "kernel", 1, {10, 10, 10, 3, 10}};
	struct ceilings_device devices[] = {{"vulkan", "GPU",
						    {.levels = levels,
							    .level_count = 2,
							    .compute = &f32,
							    .compute_count = 1,
							    .bandwidth = reads,
							    .bandwidth_count = 2,
							    .latency = &empty,
							    .latency_count = 1}},
		{"opencl", "GPU", {.quick = 1}}};
	static const struct {
		const char *key, *value;
		int is_found;
	} notes[] = {{"backend", "vulkan GPU", 1}, {"vulkan.device", "GPU", 1},
		{"backend", "vulkan other", 0}, {"backend", "opencl GPU", 0}};
	struct ceilings all = machine;

	all.devices = devices;
	all.device_count = 2;
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
		struct run run;
		uint32_t lane = start(&run), site = work_site(&run, "B", NULL, 4000, 4000);
		uint32_t bare = builder_site(&run, run.sites[site].brick, 0, NULL, NULL);
		uint32_t other = builder_site(&run, builder_brick(&run, "C", "X"), 0, NULL, NULL);
		run.lanes[lane].kind = BRICK_LANE_QUEUE;
		run.lanes[lane].backend = strdup("vulkan");
		builder_sample(&run, lane, site, 0, 40, 0);
		builder_sample(&run, lane, bare, 40, 100, 0);
		builder_sample(&run, lane, other, 100, 200, 0);
		builder_sample(&run, lane, bare, 200, 300, 0);
		again(&run);
		add_note(&run, notes[i].key, notes[i].value);
		add_note(&run, "backend", "CPU");
		struct roofline *r = make(&run, &all);
		assert_int_equal(r->row_count, 1);
		assert_int_equal(r->rows[0].count, 2);
		assert_int_equal(r->rows[0].silent, 2);
		assert_near(r->rows[0].bytes_per_ns, 40);
		assert_int_equal(r->device == &devices[0], notes[i].is_found);
		assert_near(r->rows[0].distance, notes[i].is_found ? 0.5 : -1);
		assert_int_equal(r->rows[0].bound == ROOFLINE_MEMORY, notes[i].is_found);
		finish(r, &run);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_have_roofs_of_their_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
