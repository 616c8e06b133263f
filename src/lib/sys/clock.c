/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's clock: chosen once, calibrated against CLOCK_MONOTONIC, checked by predicting a
 * third reading, and given up for CLOCK_MONOTONIC itself when the prediction fails. BRICK_CLOCK in
 * the environment ("monotonic") forces the fall-back. Under a recorder, which has calibrated the
 * same counter before, two readings suffice: its own and one of this process.
 */
#include "brick/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/lock.h"
#include "base/scope.h"
#include "base/time_namespace.h"
#include "lib/sys/clock_fit.h"
#include "lib/sys/environment.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"

enum {
	BASELINE_NS = 2000000, /* between the two readings of a calibration */
	CHECK_NS = 500000,     /* from there to the reading that is predicted */
	TOLERANCE_NS = 2000,   /* how far the prediction may be off */
	ATTEMPTS = 4,
	MAX_SPINS = 10000000, /* of some 20 ns at least */
	DRIFT_PART = 5000,    /* so little may an offered clock have gone wrong since it was made */
};

uint32_t brick__counter_used;

static struct brick_clock process_clock;
static char fallback_reason[96];
static pthread_once_t clock_is_calibrated = PTHREAD_ONCE_INIT;
static bool clock_is_chosen;
static const struct brick_clock *offered;
static bool is_frozen;
static uint64_t frozen_at;

uint64_t brick__monotonic_slow(void)
{
	return __atomic_load_n(&is_frozen, __ATOMIC_ACQUIRE) ? frozen_at : brick__monotonic_ns();
}

void brick__clock_freeze(void)
{
	if (is_frozen)
		return;
	frozen_at = clock_is_chosen && !brick__sys_counter_faults() ? brick__now() : 0;
	__atomic_store_n(&is_frozen, true, __ATOMIC_RELEASE);
	__atomic_store_n(&brick__counter_used, 0, __ATOMIC_RELEASE);
}

bool brick__clock_is_frozen(void)
{
	if (!is_frozen && brick__sys_counter_faults())
		brick__clock_freeze();
	return is_frozen;
}

void brick__clock_offer(const struct brick_clock *clock)
{
	offered = clock;
}

struct clock_pair brick__clock_pair(void)
{
	struct clock_pair best = {0, 0, UINT64_MAX};

	for (int i = 0; i < 8; i++) {
		uint64_t before = brick__counter();
		uint64_t ns = brick__monotonic_ns();
		uint64_t after = brick__counter();
		if (after - before < best.width) {
			best.width = after - before;
			best.ticks = before + (after - before) / 2;
			best.ns = ns;
		}
	}
	return best;
}

int brick__clock_fit(
	struct brick_clock *clock, const struct clock_pair *first, const struct clock_pair *last)
{
	uint64_t ticks = last->ticks - first->ticks;
	uint64_t ns = last->ns - first->ns;

	if ((int64_t)ticks <= 0 || (int64_t)ns <= 0)
		return 0;
	/* A multiplier of 62 bits: times 63 bits of ticks it fits 128, and costs no precision. */
	unsigned __int128 mult = ((unsigned __int128)ns << 61) / ticks;
	clock->shift = 61;
	while (mult >> 62) {
		mult >>= 1;
		clock->shift--;
	}
	clock->mult = (uint64_t)mult;
	clock->frequency = (uint64_t)((unsigned __int128)ticks * 1000000000u / ns);
	clock->base_ticks = first->ticks;
	clock->base_ns = first->ns;
	return clock->mult != 0;
}

int64_t brick__clock_off(const struct brick_clock *clock, const struct clock_pair *pair)
{
	return (int64_t)(brick_clock_ns(clock, pair->ticks) - pair->ns);
}

uint64_t brick__clock_residual(const struct brick_clock *clock, const struct clock_pair *pair)
{
	return (uint64_t)llabs(brick__clock_off(clock, pair));
}

/* 0: the clock stands still. */
static bool spin_until(uint64_t ns)
{
	for (int i = 0; i < MAX_SPINS; i++)
		if (brick__monotonic_ns() >= ns)
			return true;
	return false;
}

/*
 * Mean distance of readings that differ: the counter's step, or the time that a reading takes.
 */
static uint32_t clock_measure_step(void)
{
	uint64_t first = brick__now(), last = first, changes = 0;

	for (int i = 0; i < 4096; i++) {
		uint64_t now = brick__now();
		changes += now - last > 1; /* steps may be uneven by one tick */
		last = now;
	}
	return changes ? (uint32_t)((last - first) / changes) : 0;
}

static int clock_calibrate(struct brick_clock *clock)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		struct clock_pair first = brick__clock_pair();
		if (!spin_until(first.ns + BASELINE_NS))
			return 0;
		struct clock_pair last = brick__clock_pair();
		if (!brick__clock_fit(clock, &first, &last))
			continue;
		if (!spin_until(last.ns + CHECK_NS))
			return 0;
		struct clock_pair check = brick__clock_pair();
		uint64_t residual = brick__clock_residual(clock, &check);
		clock->residual_ns = (uint32_t)residual;
		if (residual <= TOLERANCE_NS)
			return 1;
	}
	return 0;
}

/*
 * The line through the recorder's base and a reading of now: longer than what could be waited for.
 */
static bool use_offered(struct brick_clock *clock)
{
	struct brick_clock theirs = {0};

	if (offered)
		theirs = *offered;
	if (theirs.source == BRICK_CLOCK_MONOTONIC || !theirs.mult || theirs.shift > 63)
		return false;
	theirs.base_ns += (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	const struct clock_pair first = {theirs.base_ticks, theirs.base_ns, 0};
	const struct clock_pair now = brick__clock_pair();
	uint64_t residual = brick__clock_residual(&theirs, &now), age = now.ns - first.ns;
	if ((int64_t)age <= 0 || residual > TOLERANCE_NS + age / DRIFT_PART)
		return false;
	theirs.residual_ns = residual < TOLERANCE_NS ? (uint32_t)residual : TOLERANCE_NS;
	if (age > BASELINE_NS && !brick__clock_fit(&theirs, &first, &now))
		return false;
	*clock = theirs;
	return true;
}

static void use_monotonic(const char *reason)
{
	memset(&process_clock, 0, sizeof(process_clock));
	process_clock.source = BRICK_CLOCK_MONOTONIC;
	process_clock.mult = 1;
	process_clock.frequency = 1000000000;
	if (reason != fallback_reason)
		snprintf(fallback_reason, sizeof(fallback_reason), "%s", reason);
}

static void measure_clock(void)
{
	uint32_t kind = brick__sys_counter_kind(fallback_reason, sizeof(fallback_reason));

	if (kind == BRICK_CLOCK_MONOTONIC)
		use_monotonic(fallback_reason);
	else if (!clock_calibrate(&process_clock))
		use_monotonic("the counter does not keep pace with CLOCK_MONOTONIC");
	else {
		process_clock.source = kind;
		__atomic_store_n(&brick__counter_used, 1, __ATOMIC_RELEASE);
	}
	process_clock.step_ticks = clock_measure_step();
}

static void clock_choose(void)
{
	const char *wanted = brick__environment("BRICK_CLOCK");

	if (brick__clock_is_frozen()) {
		use_monotonic("the program has switched the counter off");
	} else if (wanted && !strcmp(wanted, "monotonic")) {
		use_monotonic("BRICK_CLOCK=monotonic asks for the OS clock");
		process_clock.step_ticks = clock_measure_step();
	} else if (use_offered(&process_clock)) {
		__atomic_store_n(&brick__counter_used, 1, __ATOMIC_RELEASE);
	} else {
		measure_clock();
	}
	__atomic_store_n(&clock_is_chosen, true, __ATOMIC_RELEASE);
}

/* A handler of a signal that leaves by siglongjmp() would leave it half chosen. */
static void choose_once(void)
{
	if (BRICK_LIKELY(__atomic_load_n(&clock_is_chosen, __ATOMIC_ACQUIRE)))
		return;
	BETWEEN(lock_still_begin, lock_still_end);
	pthread_once(&clock_is_calibrated, clock_choose);
}

void brick__clock_abandon(void)
{
	static const pthread_once_t fresh = PTHREAD_ONCE_INIT;

	if (!clock_is_chosen)
		clock_is_calibrated = fresh;
}

const struct brick_clock *brick_clock_get(void)
{
	choose_once();
	return &process_clock;
}

const char *brick_clock_reason(void)
{
	brick_clock_get();
	return fallback_reason;
}

uint64_t brick_ticks(void)
{
	choose_once();
	return brick__now();
}

const char *brick_clock_source_name(uint32_t source)
{
	static const char *const names[] = {"monotonic", "tsc", "cntvct"};
	return source < sizeof(names) / sizeof(*names) ? names[source] : "unknown";
}
