/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing work on a device, against a simulated one that tells what really happened: times, order,
 * results that come late, nesting, threads and fork.
 */
#include "lib/sys/environment.h"
#include "tests/unit/device_kit.h"

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The n-th sample against the n-th pair; consecutive ones never overlap. */
static void check_truth(struct setup *s, struct brick_lane *lane, uint64_t count, uint64_t most)
{
	uint64_t last_end = 0, residual = brick__device_correlation(s->device)->residual_ns;

	assert_true(residual <= most);
	for (uint64_t i = 0; i < count; i++) {
		struct brick_record *r = nth(lane, BRICK_RECORD_SAMPLE, i);
		struct brick_null_times truth;
		assert_non_null(r);
		assert_int_equal(brick_null_pair(s->sim, i, &truth), 0);
		assert_true(distance(r->begin, truth.begin_ns) <= residual + 1);
		assert_true(distance(r->begin + r->ticks, truth.end_ns) <= residual + 1);
		assert_true(r->begin >= last_end);
		last_end = r->begin + r->ticks;
	}
}

static void deferred_times_are_the_devices(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	struct brick_null_times truth;

	begin(&s, &config, 0);
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t ns = 10 * US + i * 100;
		run(&s, (uint32_t)(i % 5), (int)i, ns);
		brick_null_advance(s.sim, i % 3 * 20 * US);
		if (i % 50 == 49) {
			settle(&s);
			assert_int_equal(brick_device_drain(s.device), 50);
		}
	}
	settle(&s);
	assert_int_equal(brick_device_finish(s.device), 0);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_string_equal(lane->name, "null queue 1");
	assert_string_equal(lane->backend, "null");
	check_truth(&s, lane, 300, 10);
	uint64_t total = 0;
	for (uint64_t i = 0; i < 300; i++) {
		struct brick_record *r = nth(lane, BRICK_RECORD_SAMPLE, i);
		assert_int_equal(r->brick, i % 5);
		assert_int_equal(r->layer, i);
		assert_int_equal(r->source, BRICK_SOURCE_DEVICE_EVENT);
		assert_int_equal(brick_null_kernel(s.sim, i, &truth), 0);
		assert_true(r->ticks + 20 >= truth.end_ns - truth.begin_ns);
		total += i % 5 == 2 ? r->ticks : 0;
	}
	assert_int_equal(lane->stats[2].count, 60);
	assert_int_equal(lane->stats[2].total, total);
	assert_int_equal(lane->stats[2].self, total);
	assert_int_equal(count_of(lane, BRICK_RECORD_TIMES), 300);
	assert_int_equal(lane->ledger.clamped, 0);
	assert_int_equal(brick_null_kernel(s.sim, 300, &truth), -ENOENT);
	end(&s);
}

/* A clock that gains speed, over 20 s: readings now and then keep it in place. */
static void drift_is_corrected(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	struct brick_null_times first, last;

	config.drift_ppb_s = 2000;
	begin(&s, &config, 0);
	for (int i = 0; i < 400; i++) {
		run(&s, BRICK_UP_PROJECTION, 0, 40 * US);
		settle(&s);
		assert_int_equal(brick_device_drain(s.device), 1);
	}
	check_truth(&s, queue_lane(&s, 0), 400, 2 * US);
	assert_int_equal(brick_null_pair(s.sim, 0, &first), 0);
	assert_int_equal(brick_null_pair(s.sim, 399, &last), 0);
	uint64_t host = last.begin_ns - first.begin_ns;
	uint64_t device = last.device_begin_ns - first.device_begin_ns;
	assert_true(device - host > MS); /* there was something to correct */
	end(&s);
}

/* The results of a step come while the one after the next runs. */
static void late_results_find_their_step(void **state)
{
	enum { STEPS = 8, STEP_NS = 100 * US };
	struct setup s;
	struct brick_null_config config = manual();
	uint64_t from[STEPS], to[STEPS];

	config.completion_ns = 2 * STEP_NS + STEP_NS / 4;
	begin(&s, &config, 0);
	int recorded = 0;
	for (int i = 0; i < STEPS; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		from[i] = brick_ticks();
		run(&s, (uint32_t)(BRICK_GATE_PROJECTION + i % 3), i, 50 * US);
		brick_null_advance(s.sim, STEP_NS);
		recorded += brick_device_drain(s.device);
		assert_int_equal(recorded, i < 2 ? 0 : i - 1);
		to[i] = brick_ticks();
		brick_end(step);
	}
	assert_int_equal(brick_device_finish(s.device), 2);
	struct brick_lane *lane = queue_lane(&s, 0);
	for (int i = 0; i < STEPS; i++) {
		struct brick_record *r = nth(lane, BRICK_RECORD_SAMPLE, (uint64_t)i);
		struct brick_record *launch = nth(lane, BRICK_RECORD_LAUNCH, (uint64_t)i);
		assert_int_equal(r->brick, BRICK_GATE_PROJECTION + i % 3);
		assert_int_equal(r->layer, i);
		assert_in_range(launch->begin, from[i], to[i]);
		assert_in_range(launch->begin + launch->ticks, from[i], to[i]);
	}
	end(&s);
}

/* A{B C{D}} E, with results in the opposite order. */
static void nesting(void **state)
{
	static const uint8_t kinds[] = {BRICK_RECORD_OPEN, BRICK_RECORD_SAMPLE, BRICK_RECORD_LAUNCH,
		BRICK_RECORD_TIMES, BRICK_RECORD_OPEN, BRICK_RECORD_SAMPLE, BRICK_RECORD_WORK,
		BRICK_RECORD_LAUNCH, BRICK_RECORD_TIMES, BRICK_RECORD_CLOSE, BRICK_RECORD_LAUNCH,
		BRICK_RECORD_TIMES, BRICK_RECORD_CLOSE, BRICK_RECORD_LAUNCH, BRICK_RECORD_TIMES,
		BRICK_RECORD_SAMPLE, BRICK_RECORD_LAUNCH, BRICK_RECORD_TIMES};
	static const uint16_t bricks[] = {5, 6, 0, 0, 7, 8, 0, 0, 0, 7, 0, 0, 5, 0, 0, 9, 0, 0};
	struct setup s;
	struct brick_null_config config = manual();

	config.reversed = 1;
	begin(&s, &config, 0);
	brick_device_span a = brick_device_begin(s.device, NULL, 5, 1);
	run(&s, 6, 1, 10 * US);
	brick_device_span c = brick_device_begin(s.device, NULL, 7, 1);
	brick_device_span d = brick_device_begin(s.device, NULL, 8, 1);
	brick_null_submit(s.sim, NULL, 20 * US);
	brick_device_end(s.device, NULL, d, 1, 2, 3);
	brick_device_end(s.device, NULL, c, 0, 0, 0);
	settle(&s);
	assert_int_equal(brick_device_drain(s.device), 0); /* A is still open */
	brick_device_end(s.device, NULL, a, 0, 0, 0);
	run(&s, 9, 1, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 5);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(lane->head, sizeof kinds);
	uint64_t last = 0;
	for (uint32_t i = 0; i < sizeof kinds; i++) {
		struct brick_record *r = peek_record(lane, i);
		assert_int_equal(r->kind, kinds[i]);
		if (!bricks[i])
			continue;
		assert_int_equal(r->brick, bricks[i]);
		assert_true(r->begin >= last);
		last = r->begin;
	}
	const struct brick_stat *outer = &lane->stats[5];
	assert_true(outer->total >= 50 * MS); /* it stayed open for so long */
	assert_int_equal(outer->self, outer->total - lane->stats[6].total - lane->stats[7].total);
	assert_int_equal(lane->stats[7].self, lane->stats[7].total - lane->stats[8].total);
	end(&s);
}

static struct brick_null *shared_sim;

static void *use_device(void *argument)
{
	struct brick_backend_options options = {.size = sizeof options, .pairs = 256};
	void *queue = argument;
	struct brick_device *device;

	options.native[0] = shared_sim;
	assert_int_equal(
		brick_device_open(&device, brick_backend_find("null"), &options, NULL, 0), 0);
	for (int i = 0; i < 2000; i++) {
		brick_device_span span = brick_device_begin(device, queue, BRICK_LM_HEAD, i % 7);
		brick_null_submit(shared_sim, queue, 100);
		brick_device_end(device, queue, span, 1, 0, 0);
		if (i % 64 == 0)
			brick_device_drain(device);
		if (i % 256 == 255)
			assert_true(brick_device_finish(device) >= 0);
	}
	brick_device_close(device);
	return NULL;
}

static void many_threads(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_null_create(&shared_sim, NULL), 0);
	assert_int_equal(brick_session_start(NULL), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, use_device, brick_null_queue(i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(brick_device_stats_get(BRICK_LM_HEAD, &stats), 0);
	assert_int_equal(stats.count + losses().dropped, THREADS * 2000);
	assert_int_equal(losses().dropped, 0);
	assert_int_equal(stats.elements, THREADS * 2000);
	assert_int_equal(brick_session_stop(), 0);
	brick_null_destroy(shared_sim);
}

static void fork_with_a_device(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	int status;

	begin(&s, &config, 0);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	run(&s, BRICK_LM_HEAD, 1, 10 * US);
	pid_t child = fork();
	if (!child) {
		run(&s, BRICK_LM_HEAD, 2, 10 * US); /* nothing records here */
		int n = brick_device_finish(s.device);
		brick_device_close(s.device);
		_exit(n == 0 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(brick_device_finish(s.device), 1);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 2);
	assert_int_equal(losses().dropped, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deferred_times_are_the_devices),
		cmocka_unit_test(drift_is_corrected),
		cmocka_unit_test(late_results_find_their_step),
		cmocka_unit_test(nesting),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(fork_with_a_device),
	};
	setenv("BRICK_CLOCK", "monotonic", 1);
	brick__environment_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
