/* SPDX-License-Identifier: Apache-2.0 */
/* Timers as engines need them: what was measured, what is open, handles in any order, passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "brick/queue.h"
#include "tests/unit/drain_fixture.h"

static struct brick_stats stats_of(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	if (brick_stats_get(brick, &stats))
		stats = (struct brick_stats){0};
	return stats;
}

static void spin_us(uint64_t us)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t begin = brick_ticks();

	while (brick_clock_duration_ns(clock, brick_ticks() - begin) < us * 1000)
		;
}

static void end_and_elapsed(void **state)
{
	start_session(*state, 1024);
	brick_span outer = brick_begin(BRICK_SAMPLING), inner = brick_begin(BRICK_RMS_NORM);
	spin_us(50);
	uint64_t elapsed = brick_elapsed_ns(inner), outer_elapsed = brick_elapsed_ns(outer);
	assert_true(elapsed >= 50000 && outer_elapsed >= elapsed);
	uint64_t ended = brick_end_ns(inner, 0);
	assert_true(ended >= elapsed);
	assert_int_equal(ended, stats_of(BRICK_RMS_NORM).total_ns);
	assert_int_equal(brick_elapsed_ns(inner), 0);
	ended = brick_end_ns(outer, 0);
	assert_int_equal(ended, stats_of(BRICK_SAMPLING).total_ns);
	assert_int_equal(brick_end_ns(0, 0), 0);
	assert_int_equal(brick_elapsed_ns(0), 0);
}

/* Each is exact, and so is their sum. */
static void reported(void **state)
{
	static const uint64_t lengths[] = {250000, 1, 2, 3, 999999999999};
	struct fixture *f = *state;
	uint64_t sum = 0;

	start_session(f, 4096);
	open_drain(f);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t brick = (uint32_t)BRICK_RMS_NORM + i;
		brick_record_elapsed(brick, lengths[i], 1, 0);
		struct brick_stats stats = stats_of(brick);
		assert_int_equal(stats.total_ns, lengths[i]);
		assert_int_equal(stats.self_ns, lengths[i]);
		assert_int_equal(stats.min_ns, lengths[i]);
		assert_int_equal(stats.max_ns, lengths[i]);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		brick_record_elapsed(BRICK_LM_HEAD, i % 7, 0, 0);
		sum += i % 7;
		assert_int_equal(stats_of(BRICK_LM_HEAD).total_ns, sum);
	}
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	unsigned points = 0;
	for (size_t i = 0; i < run->point_count; i++)
		if (run->points[i].kind == RUN_POINT_REPORTED && points < 5)
			assert_true(run->points[i].value == (double)lengths[points++]);
	assert_int_equal(points, 5);
	run_destroy(run);
}

static void *end_elsewhere(void *async)
{
	brick_span own = brick_begin(BRICK_EMBEDDING);

	assert_true(brick_async_end(async, 0) >= 300000);
	brick_end(own);
	return NULL;
}

/* Handles that overlap, cross, and end on another thread have their own length, each. */
static void asynchronous(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;

	start_session(f, 1024);
	open_drain(f);
	brick_span around = brick_begin(BRICK_SAMPLING);
	struct brick_async a = brick_async_begin(BRICK_RMS_NORM);
	spin_us(100);
	struct brick_async b = brick_async_begin(BRICK_LM_HEAD);
	uint64_t start = brick_ticks();
	spin_us(100);
	uint64_t a_ns = brick_async_end(&a, 0);
	spin_us(200);
	assert_int_equal(brick_record_deferred(BRICK_LAYER_NORM, start, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &b), 0);
	pthread_join(thread, NULL);
	brick_end(around);
	/* the queue's clock is read anew where this thread had no CPU for so long */
	uint64_t off = 20 + brick_clock_get()->residual_ns;
	assert_true(a_ns >= 200000);
	assert_in_range(stats_of(BRICK_RMS_NORM).total_ns, a_ns - off, a_ns + off);
	assert_true(stats_of(BRICK_LM_HEAD).total_ns >= 300000);
	assert_true(stats_of(BRICK_LAYER_NORM).total_ns >= 300000);
	/* no thread's self time is less for it */
	assert_int_equal(stats_of(BRICK_SAMPLING).self_ns, stats_of(BRICK_SAMPLING).total_ns);
	struct brick_stats device = BRICK_STATS_INIT;
	assert_int_equal(brick_device_stats_get(BRICK_RMS_NORM, &device), BRICK_ENOTRECORDED);
	assert_int_equal(brick_record_deferred(BRICK_LAYER_NORM, brick_ticks() * 2, 0), -EINVAL);
	assert_int_equal(brick_record_deferred(1000, start, 0), -EINVAL);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(samples_of(run, "RmsNorm"), 1);
	assert_int_equal(samples_of(run, "LmHead"), 1);
	assert_int_equal(run->bad_records, 0);
	for (size_t l = 0; l < run->lane_count; l++)
		assert_int_equal(run->lanes[l].ledger.clamped + run->lanes[l].ledger.unmatched, 0);
	run_destroy(run);
}

static const struct run_sample *sample_of(const struct run *run, const char *brick)
{
	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t i = 0; i < run->lanes[l].sample_count; i++) {
			const struct run_sample *s = &run->lanes[l].samples[i];
			if (!strcmp(run->bricks[run->sites[s->site].brick].name, brick))
				return s;
		}
	fail_msg("no %s", brick);
	return NULL;
}

/* The process's clock knows its rate of two milliseconds; hours later it is far off. */
static void asynchronous_hours_later(void **state)
{
	struct fixture *f = *state;
	struct brick_clock *clock = (struct brick_clock *)brick_clock_get();
	uint64_t mult = clock->mult;

	if (clock->source == BRICK_CLOCK_MONOTONIC)
		skip();
	start_session(f, 1024);
	open_drain(f);
	struct brick_async async = brick_async_begin(BRICK_LM_HEAD);
	spin_us(20000);
	brick_async_end(&async, 0); /* the first one makes the queue */
	clock->mult += mult / 100;
	brick_span around = brick_begin(BRICK_SAMPLING);
	async = brick_async_begin(BRICK_RMS_NORM);
	spin_us(50);
	brick_async_end(&async, 0);
	brick_end(around);
	clock->mult = mult;
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	const struct run_sample *outer = sample_of(run, "Sampling"),
				*inner = sample_of(run, "RmsNorm");
	uint64_t off = 2 * clock->residual_ns + 100;
	assert_true(inner->begin_ns + off >= outer->begin_ns);
	assert_true(inner->end_ns <= outer->end_ns + off);
	run_destroy(run);
}

static void when_off(void **state)
{
	struct brick_async async = brick_async_begin(BRICK_RMS_NORM);

	assert_int_equal(async.session, 0);
	assert_int_equal(brick_async_end(&async, 0), 0);
	assert_int_equal(brick_record_deferred(BRICK_RMS_NORM, brick_ticks(), 0), -ENOENT);
	assert_int_equal(brick_queue_passes(NULL, NULL, 0), -ENOENT);
}

static void *end_foreign(void *span)
{
	brick_span own = brick_begin(BRICK_EMBEDDING);

	brick_end(*(brick_span *)span); /* not this thread's: it must not end `own` */
	spin_us(20);
	assert_true(brick_end_ns(own, 0) >= 20000);
	return NULL;
}

/* Another thread's span ends nothing here. */
static void foreign_span(void **state)
{
	pthread_t thread;

	start_session(*state, 1024);
	brick_span span = brick_begin(BRICK_RMS_NORM);
	assert_int_equal(pthread_create(&thread, NULL, end_foreign, &span), 0);
	pthread_join(thread, NULL);
	brick_end(span);
	assert_int_equal(stats_of(BRICK_EMBEDDING).count, 1);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 1);
	struct brick_losses losses = BRICK_LOSSES_INIT;
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 1);
}

static void passes(void **state)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct fixture *f = *state;
	struct brick_queue *queue;

	start_session(f, 1024);
	open_drain(f);
	options.name = "GPU";
	options.backend = "own";
	assert_int_equal(brick_queue_create(&queue, &options), 0);
	brick_span span = brick_begin_layer(BRICK_RMS_NORM, 3);
	uint64_t now = brick_clock_ns(brick_clock_get(), brick_ticks());
	spin_us(100);
	const struct brick_pass list[] = {{"reduce", now, now + 30000},
		{"scale", now + 40000, now + 90000}, {"reduce", now + 90000, now + 95000}};
	assert_int_equal(brick_queue_passes(queue, list, 3), 0);
	const struct brick_pass wrong[] = {{"b", now + 10, now + 20}, {"a", now, now + 5}};
	assert_int_equal(brick_queue_passes(queue, wrong, 2), -EINVAL);
	brick_end(span);
	struct brick_stats stats = BRICK_STATS_INIT;
	assert_int_equal(brick_device_stats_get(BRICK_RMS_NORM, &stats), 0);
	assert_int_equal(stats.count, 3);
	assert_in_range(stats.total_ns, 84990, 85010);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(samples_of(run, "RmsNorm"), 4);
	assert_int_equal(run->bad_records, 0);
	run_destroy(run);
	brick_queue_destroy(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(when_off),
		TEST(end_and_elapsed),
		TEST(reported),
		TEST(asynchronous),
		TEST(asynchronous_hours_later),
		TEST(foreign_span),
		TEST(passes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
