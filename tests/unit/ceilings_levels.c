/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where caches end is seen from bandwidth, not told; of several measurements the best stays; what
 * a recording has reached is a ceiling as far as its working set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/machine/ceilings.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* A machine whose CPU tells of 512 MiB of L3 for two CPUs, and that gives so much of it. */
static struct ceilings *machine(uint64_t l3_bytes, uint64_t most_bytes, double scale)
{
	static const struct ceilings_level levels[] = {
		{"L1", 32 * KIB, 1}, {"L2", MIB, 1}, {"L3", 512ull * MIB, 2}, {"memory", 0, 2}};
	struct ceilings *c = calloc(1, sizeof(*c));

	c->levels = malloc(sizeof(levels));
	memcpy(c->levels, levels, sizeof(levels));
	c->level_count = 4;
	c->bandwidth = calloc(256, sizeof(*c->bandwidth));
	for (uint32_t threads = 1; threads <= 2; threads++)
		for (uint64_t bytes = 4 * KIB; bytes <= most_bytes; bytes *= 2) {
			struct ceilings_bandwidth *row = &c->bandwidth[c->bandwidth_count++];
			double rate = bytes <= 32 * KIB * threads ? 200
				      : bytes <= MIB * threads	  ? 100
				      : bytes <= l3_bytes	  ? 70
								  : 15;
			rate *= scale * threads;
			strcpy(row->kernel, "read");
			strcpy(row->isa, "X");
			row->threads = threads;
			row->bytes = bytes;
			row->rate = (struct ceilings_figure){
				rate, rate * 0.9, rate * 0.8, 7, rate * 0.98};
		}
	assert_int_equal(ceilings_find_levels(c), 0);
	return c;
}

static const char *level_of(const struct ceilings *c, uint32_t threads, uint64_t bytes)
{
	return c->levels[ceilings_level_of(c, threads, bytes)].name;
}

static void caches_end_where_bandwidth_falls(void **state)
{
	struct ceilings *c = machine(16 * MIB, 2048ull * MIB, 1);

	(void)state;
	assert_int_equal(ceilings_usable_bytes(c, 0, 1), 32 * KIB);
	assert_int_equal(ceilings_usable_bytes(c, 1, 1), MIB);
	assert_int_equal(ceilings_usable_bytes(c, 1, 2), 2 * MIB);
	assert_int_equal(ceilings_usable_bytes(c, 2, 2), 16 * MIB); /* of 512 that it tells */
	assert_string_equal(level_of(c, 1, 20 * KIB), "L1");
	assert_string_equal(level_of(c, 2, 60 * KIB), "L1");
	assert_string_equal(level_of(c, 1, 60 * KIB), "L2");
	assert_string_equal(level_of(c, 1, 8 * MIB), "L3");
	assert_string_equal(level_of(c, 1, 46 * MIB), "memory");
	assert_true(ceilings_fastest(c, "memory", 1)->rate.best == 15);
	assert_true(ceilings_fastest(c, "L3", 2)->rate.best == 140);
	ceilings_destroy(c);
}

/* Less memory than the cache's size: the fall alone says that there is memory behind it. */
static void little_memory(void **state)
{
	struct ceilings *c = machine(16 * MIB, 256 * MIB, 1);

	(void)state;
	assert_string_equal(level_of(c, 1, 46 * MIB), "memory");
	ceilings_destroy(c);
	c = machine(512ull * MIB, 256 * MIB, 1); /* no fall: all of it may lie in the cache */
	assert_string_equal(level_of(c, 1, 46 * MIB), "L3");
	assert_null(ceilings_fastest(c, "memory", 1));
	assert_string_equal(level_of(c, 1, 600ull * MIB), "memory"); /* of which nothing is known */
	ceilings_destroy(c);
}

static void a_worse_measurement_changes_nothing(void **state)
{
	struct ceilings *good = machine(16 * MIB, 1024 * MIB, 1);
	struct ceilings *loaded = machine(4 * MIB, 2048ull * MIB, 0.5);
	const struct ceilings_figure *figure;
	size_t rows = loaded->bandwidth_count;

	(void)state;
	good->most_threads = 2;
	good->devices = calloc(1, sizeof(*good->devices));
	good->device_count = 1;
	strcpy(good->devices[0].name, "GPU");
	good->devices[0].can.bandwidth = calloc(1, sizeof(*good->bandwidth));
	good->devices[0].can.bandwidth_count = 1;
	good->devices[0].can.bandwidth[0] = good->bandwidth[0];
	assert_int_equal(ceilings_keep_best(loaded, good), 0);
	assert_int_equal(loaded->bandwidth_count, rows); /* the same working sets */
	assert_true(ceilings_bandwidth_at(loaded, 2, 512ull * MIB, &figure) == 30);
	assert_false(ceilings_is_wide(figure));
	assert_int_equal(ceilings_usable_bytes(loaded, 2, 1), 16 * MIB);
	assert_int_equal(loaded->most_threads, 2);
	/* a device that was not measured again stays */
	assert_int_equal(loaded->device_count, 1);
	assert_string_equal(loaded->devices[0].name, "GPU");
	assert_int_equal(loaded->devices[0].can.bandwidth_count, 1);
	assert_int_equal(ceilings_keep_best(loaded, good), 0);
	assert_int_equal(loaded->device_count, 1);
	/* of memory beyond what the good one has measured, the other one says something */
	assert_true(ceilings_bandwidth_at(loaded, 1, 2048ull * MIB, &figure) == 7.5);
	ceilings_destroy(good);
	ceilings_destroy(loaded);
}

/* Two measurements that agree leave no doubt, each of which had one good repetition. */
static void best_repetitions(void **state)
{
	double rates[] = {5, 9.9, 5, 4}, again[] = {5, 10, 5, 4}, times[] = {7, 3, 3.1};
	struct ceilings_figure f = ceilings_figure_of(rates, 4, false);

	(void)state;
	assert_true(f.best == 9.9 && f.second == 5 && f.median == 5);
	assert_true(ceilings_is_wide(&f));
	struct ceilings *a = machine(MIB, 4 * KIB, 1), *b = machine(MIB, 4 * KIB, 1);
	a->bandwidth[0].rate = f;
	b->bandwidth[0].rate = ceilings_figure_of(again, 4, false);
	assert_int_equal(ceilings_keep_best(a, b), 0);
	f = a->bandwidth[0].rate;
	assert_true(f.best == 10 && f.second == 9.9 && f.median == 5);
	assert_false(ceilings_is_wide(&f));
	f = ceilings_figure_of(times, 3, true);
	assert_true(f.best == 3 && f.second == 3.1 && !ceilings_is_wide(&f));
	f = ceilings_figure_of(times, 1, true);
	assert_true(ceilings_is_wide(&f)); /* one repetition */
	ceilings_destroy(a);
	ceilings_destroy(b);
}

static void what_was_reached_is_a_ceiling(void **state)
{
	struct ceilings *c = machine(16 * MIB, 1024 * MIB, 1);
	struct ceilings_reached reached = {.level = "memory",
		.brick = "LmHead",
		.threads = 1,
		.bytes = 46 * MIB,
		.rate = {18, 18, 18, 1}};
	const struct ceilings_figure *figure;
	bool added;

	(void)state;
	assert_int_equal(ceilings_reach(c, &reached, &added), 0);
	assert_true(added);
	assert_true(ceilings_bandwidth_at(c, 1, 40 * MIB, &figure) == 18);
	assert_true(ceilings_bandwidth_at(c, 1, 60 * MIB, &figure) == 15); /* larger: not known */
	assert_true(ceilings_bandwidth_at(c, 2, 40 * MIB, &figure) == 30);
	reached.rate.best = 17;
	assert_int_equal(ceilings_reach(c, &reached, &added), 0);
	assert_false(added);
	assert_int_equal(c->reached_count, 1);
	ceilings_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(caches_end_where_bandwidth_falls),
		cmocka_unit_test(little_memory),
		cmocka_unit_test(a_worse_measurement_changes_nothing),
		cmocka_unit_test(best_repetitions),
		cmocka_unit_test(what_was_reached_is_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
