/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing a clock with another offset, rate and drift on the host's, from readings with a width;
 * what is unusable; and the same for ticks, which queues use.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include "brick/brick.h"
#include "lib/sys/clock_fit.h"
#include "lib/device/correlation_residual.h"
#include "lib/device/queue_clock.h"

#define MS 1000000ull

/* A device whose clock runs 37 parts per million fast, and faster by 2 more each second. */
static uint64_t device_of(uint64_t host)
{
	double t = (double)host / 1e9;
	return 5000000000ull + host + (uint64_t)(37e3 * t + 1e3 * t * t);
}

static int add(struct brick_correlation *c, uint64_t host, uint64_t width)
{
	struct brick_reading r = {host - width / 2, device_of(host), host + width / 2};
	return brick_correlation_add(c, &r, 1);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void nothing_yet(void **state)
{
	struct brick_correlation c;

	brick_correlation_init(&c);
	assert_int_equal(brick_correlation_host_ns(&c, 123), 0);
	assert_int_equal(add(&c, 1000 * MS, 100), 0);
	assert_int_equal(brick_correlation_host_ns(&c, device_of(1000 * MS) + 5), 1000 * MS + 5);
	assert_int_equal(brick_correlation_host_ns(&c, device_of(1000 * MS) - 5), 1000 * MS - 5);
	assert_int_equal(c.residual_ns, 50);
	assert_int_equal(brick_correlation_host_ns(&c, 0), 1); /* before the host began to count */
}

/*
 * Two readings 6 ms apart and 1 us wide, each at the edge of its interval, and a time 60 ms behind:
 * the line is off by more than ten widths there, and says so.
 */
static void beyond_the_last(void **state)
{
	struct brick_correlation c;
	uint64_t at = 1000 * MS;
	struct brick_reading first = {at - 1000, at, at},
			     second = {at + 6 * MS, at + 6 * MS, at + 6 * MS + 1000};

	brick_correlation_init(&c);
	assert_int_equal(brick__correlation_residual_ns(&c, at), 0);
	assert_int_equal(brick_correlation_add(&c, &first, 1), 0);
	assert_int_equal(brick__correlation_residual_ns(&c, at + 10 * MS), 500 + 5000);
	assert_int_equal(brick_correlation_add(&c, &second, 1), 0);
	assert_int_equal(c.count, 2);
	assert_int_equal(brick__correlation_residual_ns(&c, at + MS), 500);
	for (uint64_t t = at - 60 * MS; t <= at + 66 * MS; t += MS) {
		uint64_t off = distance(brick_correlation_host_ns(&c, t), t);
		uint64_t stated = brick__correlation_residual_ns(&c, t);
		assert_in_range(stated + 1, off, off < 1000 ? 2000 : 2 * off);
	}
	assert_true(distance(brick_correlation_host_ns(&c, at + 66 * MS), at + 66 * MS) > 10000);
}

/* What is recent is placed within the residual, which is small, although the clock drifts. */
static void drift(void **state)
{
	struct brick_correlation c;

	brick_correlation_init(&c);
	for (uint64_t t = 1000; t <= 61000; t += 100) /* more than there is room for */
		assert_int_equal(add(&c, t * MS, 200), 0);
	assert_in_range(c.count, BRICK_CORRELATION_ANCHORS / 2, BRICK_CORRELATION_ANCHORS);
	assert_in_range(c.residual_ns, 100, 5000);
	for (uint64_t t = 60000; t <= 61000; t += 7)
		assert_true(distance(brick_correlation_host_ns(&c, device_of(t * MS)), t * MS) <=
			    c.residual_ns);
	/* a millisecond beyond the ends still holds to the rate found there */
	assert_true(distance(brick_correlation_host_ns(&c, device_of(61001 * MS)), 61001 * MS) <=
		    c.residual_ns);
	assert_true(distance(brick_correlation_host_ns(&c, device_of(999 * MS)), 999 * MS) <= 1000);
	/* and never runs back */
	uint64_t last = 0;
	for (uint64_t d = device_of(990 * MS); d < device_of(61010 * MS); d += 333333) {
		uint64_t host = brick_correlation_host_ns(&c, d);
		assert_true(host >= last);
		last = host;
	}
}

/* A jump of the device's clock shows up as residual. */
static void jumps_are_seen(void **state)
{
	struct brick_correlation c;

	brick_correlation_init(&c);
	for (uint64_t t = 1; t <= 5; t++) {
		uint64_t host = t * 100 * MS, jump = t >= 4 ? 70000 : 0;
		struct brick_reading r = {host - 10, host + jump, host + 10};
		assert_int_equal(brick_correlation_add(&c, &r, 1), 0);
	}
	assert_in_range(c.residual_ns, 30000, 70000);
}

static void narrowest_reading(void **state)
{
	struct brick_correlation c;
	const struct brick_reading readings[4] = {
		{1000, 77, 900}, /* impossible */
		{1000, 500, 9000},
		{2000, 600, 2100},
		{3000, 700, 3400},
	};

	brick_correlation_init(&c);
	assert_int_equal(brick_correlation_add(&c, readings, 0), -EINVAL);
	assert_int_equal(brick_correlation_add(&c, readings, 1), -EINVAL);
	assert_int_equal(brick_correlation_add(&c, readings, 4), 0);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.anchors[0].device_ns, 600);
	assert_int_equal(c.anchors[0].host_ns, 2050);
	assert_int_equal(c.residual_ns, 50);
}

static void anchors_keep_their_distance(void **state)
{
	struct brick_correlation c;

	brick_correlation_init(&c);
	assert_int_equal(add(&c, 10 * MS, 1000), 0);
	assert_int_equal(add(&c, 10 * MS + MS / 2, 2000), 0); /* wider: not taken */
	assert_int_equal(c.anchors[0].host_ns, 10 * MS);
	assert_int_equal(add(&c, 10 * MS + MS / 2, 200), 0); /* narrower: instead */
	assert_int_equal(c.count, 1);
	assert_int_equal(c.anchors[0].host_ns, 10 * MS + MS / 2);
	assert_int_equal(c.residual_ns, 100);
	assert_int_equal(add(&c, 20 * MS, 5000), 0); /* too close for its width: not taken */
	assert_int_equal(c.count, 1);
	assert_int_equal(add(&c, 40 * MS, 5000), 0);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.residual_ns, 2500);
	/* neither clock may run back or stand still */
	struct brick_reading back = {50 * MS, device_of(40 * MS) - 1, 50 * MS};
	assert_int_equal(brick_correlation_add(&c, &back, 1), -EINVAL);
	back.device_ns++;
	assert_int_equal(brick_correlation_add(&c, &back, 1), -EINVAL);
	assert_int_equal(add(&c, 39 * MS, 10), -EINVAL);
	assert_int_equal(c.count, 2);
}

/* Two readings close together and wide carry no rate: a third, further away, does. */
static void close_anchors_do_not_lead_astray(void **state)
{
	struct brick_correlation c;
	const struct brick_reading readings[3] = {
		{1000 * MS, 1000 * MS, 1000 * MS}, {2000 * MS, 2000 * MS, 2000 * MS + 10},
		{2001 * MS, 2001 * MS + 9000, 2001 * MS + 20000}, /* a late read of the device */
	};

	brick_correlation_init(&c);
	for (int i = 0; i < 3; i++)
		assert_int_equal(brick_correlation_add(&c, &readings[i], 1), 0);
	assert_true(distance(brick_correlation_host_ns(&c, 2100 * MS), 2100 * MS) < 10000);
}

static void wild_values(void **state)
{
	struct brick_correlation c;

	brick_correlation_init(&c);
	assert_int_equal(add(&c, 1000 * MS, 10), 0);
	assert_int_equal(add(&c, 2000 * MS, 10), 0);
	assert_true(brick_correlation_host_ns(&c, 0) >= 1);
	assert_true(brick_correlation_host_ns(&c, UINT64_MAX) >= 2000 * MS);
}

/*
 * Readings as far off as their widths allow, in turn to either side, no more often than they are
 * due: beyond the last one the line still holds within three residuals.
 */
static void readings_when_they_are_due(void **state)
{
	static const uint64_t widths[] = {40, 200, 5000, 60000};

	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct brick_correlation c;
		uint64_t half = widths[i] / 2, host = 1000 * MS;
		uint32_t count = 0;
		brick_correlation_init(&c);
		assert_int_equal(brick_correlation_period_ns(&c, 50 * MS), 0);
		for (; host < 5000 * MS; count++) {
			uint64_t within = count % 2 ? host + half : host - half;
			struct brick_reading r = {
				host - half, within + within / 50000, host + half};
			assert_int_equal(brick_correlation_add(&c, &r, 1), 0);
			uint64_t period = brick_correlation_period_ns(&c, 50 * MS);
			assert_in_range(period, 2 * MS, 50 * MS);
			uint64_t due = host + period, device = due + due / 50000;
			uint64_t off = distance(brick_correlation_host_ns(&c, device), due);
			/* a single anchor knows no rate: 20 parts per million until the next */
			uint64_t slope = c.count == 1 ? period / 50000 : 0;
			assert_true(off <= 3 * c.residual_ns + slope + 2);
			host = due;
		}
		assert_in_range(count, 80, 90); /* soon they are as far apart as they may be */
	}
}

/*
 * What a rate through a calibration that is off by a millisecond may add to an error until readings
 * made here replace it: it grows with the time since the pair, which is long for a preempted
 * thread.
 */
static uint64_t spoilt_by(const struct brick_clock *clock, const struct clock_pair *pair)
{
	return (brick__clock_pair().ticks - pair->ticks) * MS / (pair->ns - clock->base_ns);
}

/*
 * Ticks of the process's clock for times of CLOCK_MONOTONIC hold long after its calibration, and
 * if that was poor: here it is spoilt by a millisecond before anybody uses it.
 */
static void ticks(void **state)
{
	struct brick_clock *clock = (struct brick_clock *)brick_clock_get();
	uint64_t tolerance = clock->frequency / 50000; /* 20 us */

	clock->base_ns += MS;
	for (int i = 0; i < 5; i++) {
		struct clock_pair pair = brick__clock_pair();
		uint64_t there = brick__ticks_of_ns(pair.ns).at;
		uint64_t later = brick__ticks_of_ns(pair.ns + MS).at;
		uint64_t spoilt = i > 1 ? 0 : spoilt_by(clock, &pair);
		assert_true(distance(there, pair.ticks) < tolerance + spoilt);
		assert_true(brick__ticks_of_ns(pair.ns + 1).at >= there);
		if (i > 1) /* by now the rate is that of readings made here */
			assert_true(distance(later - there, clock->frequency / 1000) <
				    clock->frequency / 1000000);
		nanosleep(&(struct timespec){.tv_nsec = 60 * MS}, NULL);
	}
	clock->base_ns -= MS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_yet),
		cmocka_unit_test(beyond_the_last),
		cmocka_unit_test(drift),
		cmocka_unit_test(jumps_are_seen),
		cmocka_unit_test(narrowest_reading),
		cmocka_unit_test(anchors_keep_their_distance),
		cmocka_unit_test(close_anchors_do_not_lead_astray),
		cmocka_unit_test(readings_when_they_are_due),
		cmocka_unit_test(wild_values),
		cmocka_unit_test(ticks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
