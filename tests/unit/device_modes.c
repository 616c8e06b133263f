/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four modes of timing work on a device, devices that are used wrongly or show nonsense, claims
 * of queues, and the host as a device.
 */
#include "lib/sys/environment.h"
#include "tests/unit/device_kit.h"

/* Two layers of two bricks each; the device's time moves only when somebody waits for it. */
static uint64_t two_layers(struct setup *s, uint64_t *in_layers)
{
	uint64_t start = brick_null_now(s->sim);

	*in_layers = 0;
	for (int layer = 0; layer < 2; layer++) {
		run(s, BRICK_RMS_NORM, layer, 10 * US);
		run(s, BRICK_LM_HEAD, layer, 10 * US);
		uint64_t before = brick_null_now(s->sim);
		assert_int_equal(brick_device_layer_end(s->device, NULL), 0);
		*in_layers += brick_null_now(s->sim) - before;
	}
	return brick_null_now(s->sim) - start;
}

static void modes_do_what_they_say(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	uint64_t in_layers;

	begin(&s, &config, 0);
	assert_int_equal(two_layers(&s, &in_layers), 0); /* deferred, as the session */
	assert_null(queue_lane(&s, 0));
	assert_int_equal(brick_device_mode_get(s.device), BRICK_MODE_DEFERRED);
	assert_int_equal(brick_device_pending(s.device), 4);
	assert_int_equal(brick_device_finish(s.device), 4);
	assert_int_equal(brick_device_pending(s.device), 0);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 4);

	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_PER_LAYER), 0);
	assert_int_equal(brick_device_mode_get(s.device), BRICK_MODE_PER_LAYER);
	uint64_t waited = two_layers(&s, &in_layers);
	assert_true(waited >= 40 * US);
	assert_int_equal(waited, in_layers);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 8);
	assert_int_equal(
		nth(queue_lane(&s, 0), BRICK_RECORD_SAMPLE, 7)->source, BRICK_SOURCE_DEVICE_EVENT);

	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_IMMEDIATE), 0);
	uint64_t pairs = brick_null_pairs(s.sim);
	waited = two_layers(&s, &in_layers);
	assert_true(waited >= 40 * US);
	assert_int_equal(in_layers, 0);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 12);
	assert_int_equal(
		nth(queue_lane(&s, 0), BRICK_RECORD_SAMPLE, 11)->source, BRICK_SOURCE_DEVICE_EVENT);
	assert_int_equal(brick_null_pairs(s.sim), pairs + 4);
	pairs += 4;

	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_NONE), 0);
	assert_int_equal(two_layers(&s, &in_layers), 0);
	assert_int_equal(brick_null_pairs(s.sim), pairs);
	assert_int_equal(brick_device_finish(s.device), 0);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 12);
	assert_int_equal(brick_device_mode_set(s.device, 4), -EINVAL);
	end(&s);
}

/* The session's mode holds until the device is given its own. */
static void mode_of_the_session(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct setup s;
	struct brick_null_config config = manual();
	uint64_t in_layers;

	for (uint32_t mode = 0; mode <= BRICK_MODE_NONE; mode++) {
		open_device(&s, &config, 0);
		options.mode = mode;
		assert_int_equal(brick_session_start(&options), 0);
		uint64_t waited = two_layers(&s, &in_layers);
		assert_int_equal(
			waited > 0, mode == BRICK_MODE_PER_LAYER || mode == BRICK_MODE_IMMEDIATE);
		assert_int_equal(in_layers > 0, mode == BRICK_MODE_PER_LAYER);
		assert_int_equal(brick_null_pairs(s.sim), mode == BRICK_MODE_NONE ? 0 : 4);
		brick_device_close(s.device);
		brick_null_destroy(s.sim);
		assert_int_equal(brick_session_stop(), 0);
	}
}

/* Immediate: the device's time, of a queue that was empty before, and waited for after it. */
static void immediate_waits_before_and_after(void **state)
{
	struct setup s;
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;

	config.latency_ns = 5 * US;
	begin(&s, &config, 0);
	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_IMMEDIATE), 0);
	brick_null_submit(s.sim, NULL, MS); /* somebody else's, before the first */
	uint64_t returned[5];
	for (int i = 0; i < 5; i++) {
		run(&s, BRICK_LM_HEAD, i, 200 * US);
		returned[i] = brick_null_now(s.sim);
	}
	struct brick_lane *lane = queue_lane(&s, 0);
	for (uint64_t i = 0; i < 5; i++) {
		struct brick_record *r = nth(lane, BRICK_RECORD_SAMPLE, i);
		struct brick_null_times truth, other;
		assert_int_equal(brick_null_kernel(s.sim, i + 1, &truth), 0);
		assert_int_equal(brick_null_kernel(s.sim, i, &other), 0);
		assert_true(r->begin + US >= other.end_ns);
		assert_true(r->ticks + 100 >= truth.end_ns - truth.begin_ns);
		assert_true(returned[i] + US >= truth.end_ns);
		assert_int_equal(r->source, BRICK_SOURCE_DEVICE_EVENT);
	}
	struct brick_lane *thread = peek_lane(&s.peek, 0);
	assert_int_equal(thread->kind, BRICK_LANE_THREAD);
	assert_int_equal(count_of(thread, BRICK_RECORD_AFTER), 5);
	assert_int_equal(nth(thread, BRICK_RECORD_AFTER, 4)->elements,
		nth(lane, BRICK_RECORD_LAUNCH, 4)->elements);
	/* less than the work took, if this thread was kept from its CPU behind the launch */
	assert_true(thread->stats[BRICK_SYNCHRONIZE].count >= 5);
	assert_true(thread->stats[BRICK_SYNCHRONIZE].total > 0);
	end(&s);
}

static void unbalanced(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	begin(&s, &config, 0);
	brick_device_span a = brick_device_begin(s.device, NULL, 5, 0);
	brick_device_span b = brick_device_begin(s.device, NULL, 6, 0);
	brick_device_end(s.device, NULL, a, 0, 0, 0); /* B with it */
	brick_device_end(s.device, NULL, b, 0, 0, 0);
	brick_device_end(s.device, NULL, a, 0, 0, 0);
	brick_device_end(s.device, brick_null_queue(3), 12345678, 0, 0, 0);
	assert_int_equal(losses().unmatched, 4);
	assert_int_equal(brick_device_finish(s.device), 2);
	a = brick_device_begin(s.device, NULL, 7, 0);
	brick_device_end(s.device, NULL, a, 0, 0, 0);
	assert_int_equal(brick_device_finish(s.device), 1);
	b = brick_device_begin(s.device, NULL, 7, 0);
	brick_device_end(s.device, NULL, a, 9, 0, 0); /* its pair is in use, but not for it */
	brick_device_end(s.device, NULL, b, 3, 0, 0);
	assert_int_equal(brick_device_finish(s.device), 1);
	assert_int_equal(queue_lane(&s, 0)->stats[7].elements, 3);
	assert_int_equal(losses().unmatched, 5);
	assert_int_equal(brick_device_begin(s.device, NULL, 1023, 0), 0);
	assert_int_equal(brick_device_begin(s.device, NULL, 5, 40000), 0);
	assert_int_equal(losses().unmatched, 7);
	brick_device_span open[200];
	for (int i = 0; i < 200; i++)
		open[i] = brick_device_begin(s.device, NULL, 5, 0);
	assert_int_equal(open[199], 0);
	for (int i = 199; i >= 0; i--)
		brick_device_end(s.device, NULL, open[i], 0, 0, 0);
	assert_int_equal(brick_device_finish(s.device), 127);
	assert_int_equal(losses().unmatched, 7 + 73); /* too deep */
	assert_true(brick_device_begin(s.device, NULL, 5, 0) != 0);
	brick_device_close(s.device); /* with one open */
	assert_int_equal(losses().unmatched, 7 + 73 + 1);
	brick_null_destroy(s.sim);
	peek_stop(&s.peek);
	brick_device_close(NULL);
}

static void nothing_when_off(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	open_device(&s, &config, 0);
	brick_device_span span = brick_device_begin(s.device, NULL, BRICK_LM_HEAD, 0);
	assert_int_equal(span, 0);
	brick_device_end(s.device, NULL, span, 0, 0, 0);
	assert_int_equal(brick_device_layer_end(s.device, NULL), 0);
	assert_int_equal(brick_null_pairs(s.sim), 0);
	assert_int_equal(brick_session_start(NULL), 0);
	brick_pause();
	assert_int_equal(brick_device_begin(s.device, NULL, BRICK_LM_HEAD, 0), 0);
	brick_resume();
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	assert_int_equal(brick_session_stop(), 0);
	brick_device_close(s.device);
	brick_null_destroy(s.sim);
}

/* A device that shows nonsense does not spoil the lane for what comes. */
static void absurd_times(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	begin(&s, &config, 0);
	brick_device_span span = brick_device_begin(s.device, NULL, BRICK_LM_HEAD, 0);
	brick_device_end(s.device, NULL, span, 0, 0, 0);
	const struct brick_completion nonsense = {
		.ticket = span, .begin_ns = UINT64_MAX - 5, .end_ns = UINT64_MAX};
	brick__device_complete(s.device, &nonsense);
	run(&s, BRICK_LM_HEAD, 1, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(losses().dropped, 1);
	assert_int_equal(losses().unmatched, 1); /* its true times, later */
	assert_int_equal(losses().clamped, 0);
	assert_int_equal(nth(lane, BRICK_RECORD_SAMPLE, 0)->layer, 1);
	end(&s);
}

/* A device without a clock that can be read has no place on the host's time line. */
static void no_clock(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	struct brick_timer *timer;
	uint64_t ns = 0;

	config.no_clock = 1;
	begin(&s, &config, 0);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 0);
	assert_int_equal(losses().unsupported, 1);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 0);
	assert_int_equal(brick_timer_create(&timer, s.device), 0);
	assert_int_equal(brick_timer_start(timer, NULL), 0);
	brick_null_submit(s.sim, NULL, 10 * US);
	assert_int_equal(brick_timer_stop(timer, NULL), 0);
	settle(&s);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0); /* its own clock is enough */
	assert_true(ns >= 10 * US);
	brick_timer_destroy(timer);
	end(&s);
}

static int cannot(char *reason, size_t bytes)
{
	snprintf(reason, bytes, "libnothing.so.1 is not here");
	return -ENOENT;
}

static void opening(void **state)
{
	struct brick_backend broken = *brick_backend_find("null");
	struct brick_backend_options options = {.size = 1 << 20};
	struct brick_device *device = NULL;
	char reason[160] = "";

	assert_int_equal(brick_device_open(&device, NULL, NULL, reason, sizeof reason), -EINVAL);
	assert_int_equal(brick_device_open(&device, &broken, &options, NULL, 0), -EINVAL);
	broken.version = 2;
	assert_int_equal(
		brick_device_open(&device, &broken, NULL, reason, sizeof reason), BRICK_EVERSION);
	assert_non_null(strstr(reason, "version 2"));
	broken.version = BRICK_BACKEND_VERSION;
	broken.size = offsetof(struct brick_backend, close);
	assert_int_equal(brick_device_open(&device, &broken, NULL, NULL, 0), BRICK_EVERSION);
	broken.size = sizeof broken;
	broken.drain = NULL;
	assert_true(brick_device_open(&device, &broken, NULL, reason, sizeof reason) < 0);
	broken = *brick_backend_find("null");
	broken.probe = cannot;
	assert_int_equal(brick_device_open(&device, &broken, NULL, reason, sizeof reason), -ENOENT);
	assert_string_equal(reason, "null: libnothing.so.1 is not here");
	assert_null(device);
	assert_null(brick_backend_find("no such"));
	assert_null(brick_backend_find(NULL));
	uint32_t count = 0;
	while (brick_backend_at(count))
		count++;
	assert_true(count >= 2);
	assert_int_equal(brick_device_open(&device, brick_backend_find("null"), NULL, NULL, 0), 0);
	brick_device_close(device);
}

static int claims;

static void claim(struct brick_backend_device *device, void *queue)
{
	assert_non_null(device);
	assert_ptr_equal(queue, (void *)1);
	claims++;
}

/* Bricks claim their queue, timers do not; tables of before there were claims are as good. */
static void claimed_queues(void **state)
{
	const struct brick_null_config config = manual();
	struct setup s;
	struct brick_timer *timer;
	void *queue = (void *)1;
	struct brick_backend claiming[2];

	begin(&s, &config, 0);
	for (int has_claim = 0; has_claim < 2; has_claim++) {
		struct brick_backend *backend = &claiming[has_claim];
		struct brick_backend_options options = {
			.size = sizeof options, .native = {s.sim}, .pairs = 8};
		brick_device_close(s.device);
		*backend = *brick_backend_find("null");
		backend->claim = claim;
		if (!has_claim)
			backend->size = offsetof(struct brick_backend, claim);
		assert_int_equal(brick_device_open(&s.device, backend, &options, NULL, 0), 0);
		claims = 0;
		run_on(&s, queue, BRICK_RMS_NORM, 0, 10 * US);
		run_on(&s, queue, BRICK_RMS_NORM, 1, 10 * US);
		assert_int_equal(claims, 2 * has_claim);
		assert_int_equal(brick_timer_create(&timer, s.device), 0);
		assert_int_equal(brick_timer_start(timer, queue), 0);
		assert_int_equal(brick_timer_stop(timer, queue), 0);
		brick_timer_destroy(timer);
		assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_NONE), 0);
		run_on(&s, queue, BRICK_RMS_NORM, 2, 10 * US);
		assert_int_equal(claims, 2 * has_claim);
		settle(&s);
	}
	end(&s);
}

static void cpu(void **state)
{
	struct setup s = {0};
	struct brick_timer *timer;
	uint64_t ns = 0;

	peek_start(&s.peek, 1024);
	assert_int_equal(brick_device_open(&s.device, brick_backend_find("cpu"), NULL, NULL, 0), 0);
	uint64_t before = brick_ticks();
	brick_device_span span = brick_device_begin(s.device, NULL, BRICK_LM_HEAD, 2);
	uint64_t inside = brick_ticks();
	while (brick_ticks() < inside + 50 * US)
		;
	uint64_t work = brick_ticks() - inside;
	brick_device_end(s.device, NULL, span, 1, 2, 3);
	uint64_t after = brick_ticks();
	assert_int_equal(brick_device_finish(s.device), 1);
	struct brick_lane *lane = queue_lane(&s, 0);
	struct brick_record *r = nth(lane, BRICK_RECORD_SAMPLE, 0);
	uint64_t residual = brick__device_correlation(s.device)->residual_ns;
	assert_int_equal(r->source, BRICK_SOURCE_TSC);
	assert_string_equal(lane->backend, "cpu");
	assert_true(r->begin + residual >= before && r->begin + r->ticks <= after + residual);
	assert_true(r->ticks + residual >= work);
	assert_int_equal(brick_timer_create(&timer, s.device), 0);
	before = brick_ticks();
	assert_int_equal(brick_timer_start(timer, NULL), 0);
	inside = brick_ticks();
	while (brick_ticks() < inside + 50 * US)
		;
	work = brick_ticks() - inside;
	assert_int_equal(brick_timer_stop(timer, NULL), 0);
	after = brick_ticks();
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0);
	assert_in_range(ns, work, after - before); /* the clock is the OS's: ticks are ns */
	brick_timer_destroy(timer);
	brick_device_close(s.device);
	peek_stop(&s.peek);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_do_what_they_say),
		cmocka_unit_test(mode_of_the_session),
		cmocka_unit_test(immediate_waits_before_and_after),
		cmocka_unit_test(unbalanced),
		cmocka_unit_test(nothing_when_off),
		cmocka_unit_test(absurd_times),
		cmocka_unit_test(no_clock),
		cmocka_unit_test(opening),
		cmocka_unit_test(claimed_queues),
		cmocka_unit_test(cpu),
	};
	setenv("BRICK_CLOCK", "monotonic", 1);
	brick__environment_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
