/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reuse distances of planted orders of steps: a step's weights lie as far away as the step is
 * large; a node that is executed twice in a step is near; what passes through is as near as the
 * node before it; what was not touched before, or cannot be told apart, is not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/roofline/reuse.h"
#include "tests/unit/run_builder.h"

enum { KIB = 1024, NS = 100 };

struct engine {
	struct run run;
	uint32_t lane, decode, prefill, warm_up;
	uint64_t now;
};

static void start(struct engine *e)
{
	memset(e, 0, sizeof(*e));
	e->run.complete = 1;
	e->run.clock = (struct brick_clock){.mult = 1};
	e->lane = builder_lane(&e->run, builder_process(&e->run, 1), 1);
	e->decode = builder_site(&e->run, builder_known(&e->run, BRICK_DECODE), -1, NULL, NULL);
	e->prefill = builder_site(&e->run, builder_known(&e->run, BRICK_PREFILL), -1, NULL, NULL);
	e->warm_up = builder_site(&e->run, builder_known(&e->run, BRICK_WARM_UP), -1, NULL, NULL);
}

/* A product of a vector of `length` with so many bytes of weights, for one token. */
static uint32_t product(struct engine *e, const char *brick, int32_t layer, uint64_t bytes,
	uint64_t rows, uint64_t length)
{
	uint32_t site = builder_site(&e->run, builder_brick(&e->run, brick, "X"), layer, "MUL_MAT",
		layer < 0 ? NULL : "t");

	e->run.sites[site].flags =
		BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	e->run.sites[site].elements = rows;
	e->run.sites[site].flops = 2 * rows * length;
	e->run.sites[site].bytes = bytes + 4 * (rows + length);
	return site;
}

/* Each element of its result is one of its input. */
static uint32_t element_wise(struct engine *e, const char *brick, uint64_t bytes)
{
	uint32_t site = product(e, brick, 0, bytes, bytes / 8, 0);

	e->run.sites[site].bytes = bytes;
	e->run.sites[site].flops = bytes / 8;
	return site;
}

/* A step that executes these in turn. */
static void step(struct engine *e, uint32_t kind, const uint32_t *sites, size_t count)
{
	struct run_sample *outer =
		builder_sample(&e->run, e->lane, kind, e->now, e->now + (count + 2) * NS, 0);
	uint32_t sample = (uint32_t)e->run.lanes[e->lane].sample_count - 1;

	builder_step(&e->run, e->lane, 1);
	e->run.steps[e->run.step_count - 1].sample = sample;
	(void)outer;
	for (size_t i = 0; i < count; i++)
		builder_sample(&e->run, e->lane, sites[i], e->now + (i + 1) * NS,
			e->now + (i + 2) * NS - 1, 1);
	e->now += (count + 10) * NS;
}

static void steps(struct engine *e, int count, const uint32_t *sites, size_t site_count)
{
	while (count-- > 0)
		step(e, e->decode, sites, site_count);
}

/* The distance of a brick's parts of a kind, all the same; their share of its bytes in *share. */
static uint64_t distance(struct engine *e, const char *brick, int phase, bool own, double *share)
{
	struct step_index index;
	struct reuse reuse;
	uint64_t found = 0;
	double bytes = 0, all = 0;
	size_t count;

	assert_int_equal(step_index_init(&index, &e->run), 0);
	assert_int_equal(reuse_init(&reuse, &e->run, &index), 0);
	const struct reuse_part *parts =
		reuse_parts(&reuse, run_brick_find(&e->run, brick), phase, false, &count);
	for (size_t i = 0; i < count; i++) {
		all += parts[i].bytes;
		if (parts[i].own != own)
			continue;
		assert_true(!found || found == parts[i].distance);
		found = parts[i].distance;
		bytes += parts[i].bytes;
	}
	if (share)
		*share = all > 0 ? bytes / all : 0;
	reuse_fini(&reuse);
	step_index_fini(&index);
	return found;
}

/* What nodes pass on lies in the same memory again and again: the largest counts once. */
static void weights_are_a_step_away(void **state)
{
	struct engine e;
	double share;

	(void)state;
	start(&e);
	uint32_t sites[] = {product(&e, "Up", 0, 100 * KIB, 64, 64),
		product(&e, "Down", 0, 200 * KIB, 128, 64), product(&e, "Up", 1, 100 * KIB, 64, 64),
		product(&e, "Down", 1, 200 * KIB, 128, 64)};
	steps(&e, 5, sites, 4);
	uint64_t all = 600 * KIB + 4 * (128 + 64);
	assert_int_equal(distance(&e, "Up", STEP_DECODE, true, &share), all);
	assert_true(share > 0.99 && share < 1);
	assert_int_equal(distance(&e, "Down", STEP_DECODE, true, NULL), all);
	/* what is passed on: as near as the product before it */
	assert_int_equal(distance(&e, "Down", STEP_DECODE, false, NULL),
		300 * KIB + 4 * (64 + 64 + 128 + 64));
	assert_int_equal(distance(&e, "Up", STEP_PREFILL, true, NULL), 0); /* no such step */
	run_fini(&e.run);
}

/* Order decides, not size: B comes at once again, A only after all else. */
static void planted_orders(void **state)
{
	struct engine e;

	(void)state;
	start(&e);
	uint32_t a = product(&e, "A", 0, 64 * KIB, 0, 0), b = product(&e, "B", 0, 32 * KIB, 0, 0);
	uint32_t c = product(&e, "C", 0, 512 * KIB, 0, 0);
	uint32_t order[] = {a, b, c};
	steps(&e, 2, order, 3);
	assert_int_equal(distance(&e, "A", STEP_DECODE, true, NULL), 608 * KIB);
	assert_int_equal(distance(&e, "B", STEP_DECODE, true, NULL), 608 * KIB);
	run_fini(&e.run);

	start(&e);
	a = product(&e, "A", 0, 64 * KIB, 0, 0), b = product(&e, "B", 0, 32 * KIB, 0, 0);
	c = product(&e, "C", 0, 512 * KIB, 0, 0);
	uint32_t sites[] = {a, c, b, a}; /* A is found again by the next step's first */
	step(&e, e.warm_up, sites, 4);
	step(&e, e.prefill, &sites[1], 3); /* C B A */
	assert_int_equal(distance(&e, "C", STEP_PREFILL, true, NULL), 608 * KIB);
	step(&e, e.decode, sites, 1); /* A alone: it was the last before that */
	assert_int_equal(distance(&e, "A", STEP_DECODE, true, NULL), 64 * KIB);
	run_fini(&e.run);
}

static void passing_through(void **state)
{
	struct engine e;
	double share;

	(void)state;
	start(&e);
	uint32_t sites[] = {product(&e, "Big", 0, 4096 * KIB, 0, 0),
		element_wise(&e, "Norm", 16 * KIB), element_wise(&e, "Add", 8 * KIB)};
	steps(&e, 4, sites, 3);
	assert_int_equal(distance(&e, "Add", STEP_DECODE, false, &share), 24 * KIB);
	assert_true(share == 1);
	assert_int_equal(distance(&e, "Norm", STEP_DECODE, false, NULL), 4112 * KIB);
	run_fini(&e.run);
}

static void not_known(void **state)
{
	struct engine e;

	(void)state;
	start(&e);
	uint32_t one = product(&e, "One", 0, 64 * KIB, 0, 0);
	uint32_t many =
		product(&e, "Many", -1, 64 * KIB, 0, 0); /* stands for any number of nodes */
	uint32_t sites[] = {one, many, many};
	step(&e, e.prefill, sites, 3); /* touched for the first time */
	assert_true(distance(&e, "One", STEP_PREFILL, true, NULL) == REUSE_UNKNOWN);
	assert_true(distance(&e, "Many", STEP_PREFILL, true, NULL) == REUSE_UNKNOWN);
	run_fini(&e.run);

	start(&e); /* a decode that nothing is known before comes after one like it */
	one = product(&e, "One", 0, 64 * KIB, 0, 0);
	step(&e, e.decode, &one, 1);
	assert_int_equal(distance(&e, "One", STEP_DECODE, true, NULL), 64 * KIB);
	run_fini(&e.run);
}

/* The steps of a model that drafts are not before those of the model that checks. */
static void drafts(void **state)
{
	struct engine e;

	(void)state;
	start(&e);
	uint32_t small = product(&e, "Draft", 0, 10 * KIB, 0, 0);
	uint32_t large = product(&e, "Target", 0, 500 * KIB, 0, 0);
	for (int i = 0; i < 12; i++) {
		step(&e, e.decode, i % 4 ? &small : &large, 1);
		e.run.steps[e.run.step_count - 1].is_draft = i % 4 != 0;
	}
	assert_int_equal(distance(&e, "Target", STEP_DECODE, true, NULL), 510 * KIB);
	run_fini(&e.run);
}

/* Lanes of one process are one order; those of another process are not between. */
static void lanes_are_merged(void **state)
{
	struct engine e;

	(void)state;
	start(&e);
	uint32_t a = product(&e, "A", 0, 64 * KIB, 0, 0), b = product(&e, "B", 0, 32 * KIB, 0, 0);
	uint32_t beside = builder_lane(&e.run, 0, 2);
	uint32_t elsewhere = builder_lane(&e.run, builder_process(&e.run, 2), 3);
	for (uint64_t i = 0; i < 4; i++) {
		builder_sample(&e.run, e.lane, a, i * 1000, i * 1000 + NS, 0);
		builder_sample(&e.run, beside, b, i * 1000 + 200, i * 1000 + 300, 0);
		builder_sample(&e.run, elsewhere, a, i * 1000 + 400, i * 1000 + 500, 0);
	}
	struct step_index index;
	struct reuse reuse;
	size_t count;
	assert_int_equal(step_index_init(&index, &e.run), 0);
	assert_int_equal(reuse_init(&reuse, &e.run, &index), 0);
	const struct reuse_part *parts =
		reuse_parts(&reuse, run_brick_find(&e.run, "A"), STEP_PHASES, false, &count);
	assert_int_equal(count, 6); /* three each: the first touch is nobody's */
	for (size_t i = 0; i < count; i++)
		assert_int_equal(parts[i].distance, i < 3 ? 96 * KIB : 64 * KIB);
	reuse_fini(&reuse);
	step_index_fini(&index);
	run_fini(&e.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_a_step_away),
		cmocka_unit_test(planted_orders),
		cmocka_unit_test(passing_through),
		cmocka_unit_test(not_known),
		cmocka_unit_test(drafts),
		cmocka_unit_test(lanes_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
