/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth of memory in runs by hand: all steps count, also those in which nothing changed, and only
 * the process's own; the place is the one that has grown at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/memory_accounts.h"
#include "tests/unit/run_builder.h"

enum { STEPS = 320, MIB = 1 << 20 };

/* Bytes that are alive at the end of a step, in two sites; the other has the rest of 64 MiB. */
typedef void (*memory_fn)(uint32_t step, uint64_t bytes[2]);

static void remember(struct run *run, uint32_t step, uint32_t kind, uint32_t site, uint64_t bytes)
{
	BUILDER_GROW(run->memories, run->memory_count);
	run->memories[run->memory_count++] = (struct run_memory){.ns = run->steps[step].end_ns,
		.lane = run->steps[step].lane,
		.step = step,
		.kind = kind,
		.site = site,
		.is_of_site = site != RUN_NONE,
		.live_bytes = bytes,
		.peak_bytes = bytes};
}

/* Steps of two processes in turn; of one of them memory is known, as it changes. */
static int find_in(struct memory_growth *growth, memory_fn memory, uint32_t steps)
{
	static uint8_t counts[2 * STEPS];
	uint64_t before[2] = {UINT64_MAX, UINT64_MAX};
	struct run run = {.complete = 1};
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t sites[] = {
		builder_site(&run, brick, 0, "a", NULL), builder_site(&run, brick, 1, "b", NULL)};
	uint32_t lanes[2];

	memset(counts, 1, sizeof(counts));
	for (uint32_t i = 0; i < 2; i++)
		lanes[i] = builder_lane(&run, builder_process(&run, i + 1), 7);
	for (uint32_t i = 0; i < steps; i++) {
		uint64_t ns = 1000 * (i + 1), now[2];
		uint32_t step = 0;
		for (int other = 1; other >= 0; other--, ns += 500) {
			builder_sample(&run, lanes[other], sites[0], ns, ns + 400, 0);
			step = builder_step(&run, lanes[other], 1);
		}
		memory(i, now);
		if (now[0] + now[1] != before[0] + before[1])
			remember(&run, step, BRICK_MEMORY_ALL, RUN_NONE, 4 * MIB + now[0] + now[1]);
		for (int k = 0; k < 2; k++)
			if (now[k] != before[k])
				remember(&run, step, BRICK_MEMORY_ACTIVATIONS, sites[k], now[k]);
		memcpy(before, now, sizeof(now));
	}
	int grows = memory_growth_find(growth, &run, counts);
	run_fini(&run);
	return grows;
}

static int find(struct memory_growth *growth, memory_fn memory)
{
	return find_in(growth, memory, STEPS);
}

static void grows_evenly(uint32_t step, uint64_t bytes[2])
{
	bytes[0] = 0;
	bytes[1] = (step + 1) * (uint64_t)MIB;
}

static void grows_once(uint32_t step, uint64_t bytes[2])
{
	bytes[0] = step / 9 * (uint64_t)(40 * MIB);
	bytes[1] = (step + 1) * (uint64_t)MIB;
}

static void grows_to_the_end(uint32_t step, uint64_t bytes[2])
{
	bytes[0] = step == STEPS / 2 ? 64 * MIB : 0;
	bytes[1] = step / 4 * (uint64_t)MIB;
}

static void grows_early(uint32_t step, uint64_t bytes[2])
{
	bytes[0] = 0;
	bytes[1] = (step < 80 ? step : 80) * (uint64_t)MIB;
}

static void growth(void **state)
{
	struct memory_growth growth;

	(void)state;
	assert_int_equal(find(&growth, grows_early), 0);
	assert_int_equal(find(&growth, grows_to_the_end), 1);
	assert_int_equal(growth.site, 1);
	/* from the first step behind the first eighth to the last eighth */
	assert_int_equal(growth.steps, (STEPS - STEPS / 8) / 8 * 7);
	assert_true(growth.last_bytes - growth.first_bytes == growth.steps / 4 * MIB);
	assert_int_equal(growth.owner_bytes, (STEPS - 1) / 4 * MIB - STEPS / 8 / 4 * MIB);
}

/* Of few steps, each makes the same growth: a cache that fills up, or lengths of input, do not. */
static void growth_in_few_steps(void **state)
{
	struct memory_growth growth;

	(void)state;
	assert_int_equal(find_in(&growth, grows_evenly, 15), 0);
	assert_int_equal(find_in(&growth, grows_evenly, 20), 1);
	assert_int_equal(growth.site, 1);
	assert_int_equal(find_in(&growth, grows_once, 20), 0);
	assert_int_equal(find_in(&growth, grows_once, 32), 1);
}

/*
 * An engine whose buffers stay as they are, in a process whose memory grows; the program saves
 * states meanwhile, so many times as much.
 */
/* So many steps, the system's count is read; each reading is larger, but only the first `growing`.
 */
static int find_read(
	struct memory_growth *growth, double saved, uint32_t steps, uint32_t each, double growing)
{
	static uint8_t counts[STEPS];
	struct run run = {.complete = 1};
	uint64_t grown = 0;
	uint32_t brick = builder_brick(&run, "Work", "Other");
	uint32_t site = builder_site(&run, brick, 0, "a", NULL);
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 7);

	memset(counts, 1, sizeof(counts));
	for (uint32_t i = 0; i < steps; i++) {
		builder_sample(&run, lane, site, 1000 * (i + 1), 1000 * (i + 1) + 400, 0);
		uint32_t step = builder_step(&run, lane, 1);
		if (i % each)
			continue;
		grown = i < growing * steps ? i : grown;
		remember(&run, step, BRICK_MEMORY_ALL, RUN_NONE, 64 * MIB);
		remember(&run, step, BRICK_MEMORY_COMPUTE, RUN_NONE, 64 * MIB);
		remember(&run, step, BRICK_MEMORY_SYSTEM, RUN_NONE, (500 + i) * (uint64_t)MIB);
		remember(&run, step, BRICK_MEMORY_ANONYMOUS, RUN_NONE,
			(100 + grown) * (uint64_t)MIB);
		if (saved > 0)
			remember(&run, step, BRICK_MEMORY_STATES, RUN_NONE,
				(uint64_t)(saved * i * MIB));
	}
	int grows = memory_growth_find(growth, &run, counts);
	run_fini(&run);
	return grows;
}

static int find_beside(struct memory_growth *growth, double saved)
{
	return find_read(growth, saved, STEPS, 16, 1);
}

static void growth_of_process(void **state)
{
	struct memory_growth growth;

	(void)state;
	assert_int_equal(find_beside(&growth, 1), 1);
	assert_true(growth.is_of_system);
	assert_int_equal(growth.site, RUN_NONE);
	assert_int_equal(growth.kind, BRICK_MEMORY_STATES);
	/* readings come in each 16th step: in the first of the parts, and to the end */
	assert_true(growth.owner_bytes >= growth.last_bytes - growth.first_bytes);
	/* none; too few, or most of them freed again */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(find_beside(&growth, (const double[]){0, 0.1, 4}[i]), 1);
		assert_true(growth.is_of_system && !growth.owner_bytes);
	}
}

/* The engine reads it in each 32nd step: fewer readings than parts suffice, if it grows to the end.
 */
static void few_readings(void **state)
{
	struct memory_growth growth;

	(void)state;
	assert_int_equal(find_read(&growth, 0, 208, 32, 1), 1);
	assert_true(growth.is_of_system);
	assert_int_equal(find_read(&growth, 0, 208, 32, 0.5), 0);
	assert_int_equal(find_read(&growth, 0, 100, 32, 1), 0); /* three readings */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(growth),
		cmocka_unit_test(growth_in_few_steps), cmocka_unit_test(growth_of_process),
		cmocka_unit_test(few_readings)};

	return cmocka_run_group_tests_name("memory_growth", tests, NULL, NULL);
}
