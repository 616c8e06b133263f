/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far one clock is ahead of another: the true line is never further away than the bound that is
 * stated, whatever offset, drift and delays are drawn; the bound is not much more than the delays;
 * no line breaks a limit that some line keeps; and clocks that no line explains are found out.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/ranks/offset_line.h"

static uint64_t seed;

/* In [0, 1). */
static double chance(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* Mostly short, sometimes ten times as long. */
static double delay(double typical)
{
	return typical * (0.2 + chance()) * (chance() < 0.05 ? 10 : 1);
}

struct pair {
	struct offset_line truth;
	struct offset_points points;
	struct offset_limits limits;
	struct offset_line line;
	double residual, bound, end;
};

/* The other clock says x when ours says x + truth. */
static double other_of(const struct pair *p, double ours)
{
	return (ours - p->truth.offset) / (1 + p->truth.drift);
}

static void add(double x, double v, struct offset_points *points)
{
	assert_int_equal(array_push(&points->about, ((struct offset_point){x, v})), 0);
}

/* Both come to `meetings` collectives of 10 ms steps, wait for each other, and leave late by
 * chance. */
static void meet(struct pair *p, int meetings, double late_ours, double late_other, double leave)
{
	for (int i = 0; i < meetings; i++) {
		double ours = i * 1e7 + late_ours * chance(),
		       other = i * 1e7 + late_other * chance();
		double over = fmax(ours, other) + 2e3;
		double our_end = over + delay(leave), other_end = over + delay(leave);
		double x = other_of(p, other), x_end = other_of(p, other_end);
		assert_int_equal(
			array_push(&p->points.above, ((struct offset_point){x, our_end - x})), 0);
		assert_int_equal(
			array_push(&p->points.below, ((struct offset_point){x_end, ours - x_end})),
			0);
		add(x_end, our_end - x_end, &p->points);
		p->end = x_end;
	}
}

static void open_pair(struct pair *p, double offset, double drift)
{
	*p = (struct pair){.truth = {offset, drift}};
}

static void fit(struct pair *p)
{
	offset_limits_measure(&p->limits, &p->points, 0, p->end);
	assert_int_equal(offset_line_fit(&p->line, &p->residual, &p->points, &p->limits), 0);
	p->bound = offset_line_bound(&p->line, &p->limits);
}

static double off_at(const struct pair *p, double x)
{
	return fabs(offset_line_at(&p->line, x) - offset_line_at(&p->truth, x));
}

static void check_limits_kept(const struct pair *p)
{
	for (size_t i = 0; i < p->points.above.count; i++)
		assert_true(offset_line_at(&p->line, p->points.above.items[i].x) <=
			    p->points.above.items[i].v + 1);
	for (size_t i = 0; i < p->points.below.count; i++)
		assert_true(offset_line_at(&p->line, p->points.below.items[i].x) >=
			    p->points.below.items[i].v - 1);
}

static void the_truth_is_within_the_bound(void **state)
{
	(void)state;
	for (int i = 0; i < 400; i++) {
		struct pair p;
		seed = (uint64_t)i + 1;
		open_pair(&p, (chance() - 0.5) * 1e12, (chance() - 0.5) * 1e-3);
		meet(&p, 2 + (int)(300 * chance()), 1e6 * chance(), 1e6 * chance(), 1e4);
		fit(&p);
		assert_true(p.limits.is_possible);
		assert_true(off_at(&p, 0) <= p.bound + 1 && off_at(&p, p.end) <= p.bound + 1);
		check_limits_kept(&p);
		offset_points_fini(&p.points);
	}
}

/* Both wait for each other at times: limits from both sides are as near as the delays are short. */
static void the_bound_is_small_where_both_wait(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct pair p;
		seed = 1000 + (uint64_t)i;
		open_pair(&p, -3e9, 80e-6);
		meet(&p, 500, 1e6, 1e6, 1e4);
		fit(&p);
		assert_true(p.bound < 3e4);
		assert_true(p.residual < 2e4);
		offset_points_fini(&p.points);
	}
}

/* One side always comes last: one limit is far, and the common ends tell where the line is. */
static void common_ends_place_the_line_between_far_limits(void **state)
{
	struct pair p;

	(void)state;
	seed = 5;
	open_pair(&p, 7e8, -150e-6);
	for (int i = 0; i < 500; i++) {
		double over = i * 1e7 + 5e6, our_end = over + delay(1e4), end = over + delay(1e4);
		double x = other_of(&p, i * 1e7), x_end = other_of(&p, end);
		assert_int_equal(
			array_push(&p.points.above, ((struct offset_point){x, our_end - x})), 0);
		assert_int_equal(
			array_push(&p.points.below, ((struct offset_point){x_end, over - x_end})),
			0);
		add(x_end, our_end - x_end, &p.points);
		p.end = x_end;
	}
	fit(&p);
	assert_true(p.bound > 4e6);
	assert_true(off_at(&p, 0) < 1e4 && off_at(&p, p.end) < 1e4);
	offset_points_fini(&p.points);
}

/* Messages in both directions alone, without anything that ends together. */
static void limits_alone_give_their_middle(void **state)
{
	struct pair p;

	(void)state;
	seed = 9;
	open_pair(&p, 1e6, 40e-6);
	for (int i = 0; i < 200; i++) {
		double sent = i * 1e7, there = sent + 1000 + delay(2e4);
		double x = other_of(&p, there);
		assert_int_equal(
			array_push(&p.points.below, ((struct offset_point){x, sent - x})), 0);
		x = other_of(&p, sent);
		assert_int_equal(
			array_push(&p.points.above, ((struct offset_point){x, there - x})), 0);
		p.end = x;
	}
	fit(&p);
	assert_true(isnan(p.residual));
	assert_true(p.bound < 4e4 && off_at(&p, 0) <= p.bound && off_at(&p, p.end) <= p.bound);
	check_limits_kept(&p);
	offset_points_fini(&p.points);
}

static void without_limits_from_both_sides_no_bound_is_stated(void **state)
{
	struct pair p;

	(void)state;
	seed = 11;
	open_pair(&p, 1e6, 0);
	meet(&p, 50, 1e6, 1e6, 1e4);
	p.points.below.count = 0;
	fit(&p);
	assert_true(isinf(p.bound));
	assert_true(off_at(&p, p.end / 2) < 1e4);
	offset_points_fini(&p.points);
}

/* The other clock jumps by 5 ms in the middle: no line keeps all limits, and none is promised. */
static void a_clock_that_jumps_is_found_out(void **state)
{
	struct pair p;

	(void)state;
	seed = 13;
	open_pair(&p, 1e6, 0);
	meet(&p, 100, 1e6, 1e6, 1e4);
	double end = p.end;
	for (int i = 50; i < 100; i++) {
		p.points.above.items[i].v += i < 75 ? 5e6 : 0;
		p.points.below.items[i].v += i < 75 ? 5e6 : 0;
	}
	fit(&p);
	assert_false(p.limits.is_possible);
	assert_true(p.limits.broken > 1e6 && p.limits.broken < 4e6);
	assert_true(isinf(p.bound));
	assert_true(end > 0);
	offset_points_fini(&p.points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_is_within_the_bound),
		cmocka_unit_test(the_bound_is_small_where_both_wait),
		cmocka_unit_test(common_ends_place_the_line_between_far_limits),
		cmocka_unit_test(limits_alone_give_their_middle),
		cmocka_unit_test(without_limits_from_both_sides_no_bound_is_stated),
		cmocka_unit_test(a_clock_that_jumps_is_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
