/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock: its source, conversion without overflow, never backwards, in step with the OS, forced
 * fall-back.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock_ns.h"
#include "brick/brick.h"
#include "lib/sys/clock_fit.h"

static uint64_t os_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* A reading converted to ns lies between two readings of the OS clock, give or take the residual.
 */
static void agrees_with_os(void **state)
{
	const struct brick_clock *clock = brick_clock_get();

	for (int i = 0; i < 1000; i++) {
		uint64_t before = os_now();
		uint64_t ns = brick_clock_ns(clock, brick_ticks());
		uint64_t after = os_now();
		assert_true(ns + 20000 >= before);
		assert_true(ns <= after + 20000);
	}
}

/* F141: the source that the clock names is one that this CPU has, by the kernel's own list. */
static void source_is_the_cpus(void **state)
{
	const struct brick_clock *clock = brick_clock_get();

	assert_int_equal(clock->source == BRICK_CLOCK_MONOTONIC, *brick_clock_reason() != 0);
#if defined(__x86_64__)
	assert_int_not_equal(clock->source, BRICK_CLOCK_CNTVCT);
	if (clock->source == BRICK_CLOCK_TSC) {
		char line[4096], *found = NULL;
		FILE *f = fopen("/proc/cpuinfo", "r");
		assert_non_null(f);
		while (!found && fgets(line, sizeof line, f))
			found = strstr(line, " nonstop_tsc") ? line : NULL;
		fclose(f);
		assert_non_null(found);
	}
#endif
}

/*
 * F152: a length by the counter is the length by the system's clock, within 1 %. Its ends lie
 * between readings of that clock, whatever comes between these.
 */
static void lengths_are_the_systems(void **state)
{
	uint64_t earliest = os_now(), begin = brick_ticks(), latest = os_now(), end, before, after;

	do {
		before = os_now();
		end = brick_ticks();
		after = os_now();
	} while (after - latest < 20000000);
	double own = (double)brick_clock_duration_ns(brick_clock_get(), end - begin);
	assert_true(own > 0.99 * (double)(before - latest));
	assert_true(own < 1.01 * (double)(after - earliest));
}

static void *never_back(void *argument)
{
	uint64_t last = 0;

	for (int i = 0; i < 1000000; i++) {
		uint64_t now = brick_ticks();
		assert_true(now >= last);
		last = now;
	}
	return NULL;
}

/* F109. */
static void monotonic(void **state)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, never_back, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* F151. */
static void monotonic_on_whatever_cpu(void **state)
{
	cpu_set_t before, one;
	uint64_t last = brick_ticks();

	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	for (int round = 0; round < 10; round++)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &before))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			if (sched_setaffinity(0, sizeof one, &one))
				continue;
			uint64_t now = brick_ticks();
			assert_true(now >= last);
			last = now;
		}
	sched_setaffinity(0, sizeof before, &before);
}

static void conversion(void **state)
{
	struct brick_clock clock = {0};
	struct clock_pair first = {1000, 5000, 0}, last = {1000 + 2600000000ull, 1000005000, 0};
	const uint64_t year_s = 31557600;

	assert_true(brick__clock_fit(&clock, &first, &last));
	assert_int_equal(clock.frequency, 2600000000);
	assert_int_equal(brick_clock_ns(&clock, 1000), 5000);
	assert_int_equal(brick_clock_duration_ns(&clock, 2600), 999); /* rounded down */
	/* 10 years on */
	uint64_t ns = brick_clock_ns(&clock, 1000 + 10 * year_s * 2600000000ull);
	uint64_t exact = 5000 + 10 * year_s * 1000000000ull;
	assert_true(exact - ns <= 2);
	/* before the base, too */
	assert_in_range(brick_clock_ns(&clock, 1000 - 26), 4989, 4990);
	assert_in_range(brick__clock_residual(&clock, &last), 0, 1);
}

static void bad_fits(void **state)
{
	struct brick_clock clock = {0};
	struct clock_pair a = {1000, 5000, 0}, back = {900, 6000, 0}, still = {2000, 5000, 0};

	assert_false(brick__clock_fit(&clock, &a, &back)); /* the counter ran back */
	assert_false(brick__clock_fit(&clock, &a, &still));
	assert_false(brick__clock_fit(&clock, &a, &a));
}

/* A clock that jumps is found by the check of a third reading. */
static void jump_is_seen(void **state)
{
	struct brick_clock clock = {0};
	struct clock_pair a = {0, 0, 0}, b = {2000000, 1000000, 0};
	struct clock_pair jumped = {4000000 + 50000, 2000000, 0};

	assert_true(brick__clock_fit(&clock, &a, &b));
	assert_in_range(brick__clock_residual(&clock, &jumped), 24000, 26000);
}

/* A new process image, so that the choice is made again. */
static void choose_anew(const char *wanted, const char *how)
{
	pid_t child = fork();

	if (!child) {
		setenv("BRICK_CLOCK", wanted, 1);
		execl("/proc/self/exe", "clock", how, NULL);
		_exit(9);
	}
	int status;
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct brick_clock offered;

static void offer(uint64_t age_ns, int64_t per_mille)
{
	struct clock_pair now = brick__clock_pair();
	uint64_t frequency = brick_clock_get()->frequency;

	offered = *brick_clock_get();
	offered.mult += (uint64_t)((int64_t)(offered.mult / 1000) * per_mille);
	offered.base_ns = now.ns - age_ns;
	offered.base_ticks = now.ticks - (uint64_t)((__int128)age_ns * frequency / 1000000000);
}

/* A recorder's clock is used, as long as it tells the time. */
static void offers(void **state)
{
	char text[sizeof(offered) * 2 + 1] = "";

	if (brick_clock_get()->source == BRICK_CLOCK_MONOTONIC)
		skip();
	for (int i = 0; i < 3; i++) {
		offer(i == 1 ? 3600000000000 : 1000000, i == 2 ? 10 : 0);
		for (size_t k = 0; k < sizeof(offered); k++)
			sprintf(text + 2 * k, "%02x", ((unsigned char *)&offered)[k]);
		setenv("OFFERED", text, 1);
		choose_anew("", i < 2 ? "--offer" : "--bad-offer");
	}
}

/* The base is the offered one if it was used. */
static int check_offer(int is_good)
{
	const char *text = getenv("OFFERED");

	for (size_t k = 0; k < sizeof(offered); k++) {
		unsigned byte;
		sscanf(text + 2 * k, "%2x", &byte);
		((unsigned char *)&offered)[k] = (unsigned char)byte;
	}
	brick__clock_offer(&offered);
	const struct brick_clock *clock = brick_clock_get();
	if ((clock->base_ticks == offered.base_ticks) != is_good)
		return 1;
	uint64_t before = os_now(), ns = brick_clock_ns(clock, brick_ticks()), after = os_now();
	return ns + 20000 < before || ns > after + 20000 ? 2 : 0;
}

static void fallback(void **state)
{
	choose_anew("monotonic", "--fallback");
}

/* A clock that stands still, as where the C library has none of its own, ends the calibration. */
static void standstill(void **state)
{
	choose_anew("", "--standstill");
}

static int check_fallback(void)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t before = os_now(), ticks = brick_ticks(), after = os_now();

	if (clock->source != BRICK_CLOCK_MONOTONIC || !*brick_clock_reason())
		return 1;
	if (ticks < before || ticks > after)
		return 2;
	return brick_clock_ns(clock, ticks) != ticks ? 3 : 0;
}

static int read_moment(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){1000, (long)clock};
	return 0;
}

static int check_standstill(void)
{
	alarm(60); /* it would wait for ever */
	clock_read = read_moment;
	return brick_clock_get()->source == BRICK_CLOCK_MONOTONIC ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--standstill"))
		return check_standstill();
	if (argc > 1 && !strcmp(argv[1], "--fallback"))
		return check_fallback();
	if (argc > 1 && strstr(argv[1], "offer"))
		return check_offer(!strcmp(argv[1], "--offer"));
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_os),
		cmocka_unit_test(source_is_the_cpus),
		cmocka_unit_test(lengths_are_the_systems),
		cmocka_unit_test(monotonic),
		cmocka_unit_test(monotonic_on_whatever_cpu),
		cmocka_unit_test(conversion),
		cmocka_unit_test(bad_fits),
		cmocka_unit_test(jump_is_seen),
		cmocka_unit_test(fallback),
		cmocka_unit_test(standstill),
		cmocka_unit_test(offers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
