/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing work on a device, against a simulated one that tells what really happened: times, order,
 * results that come late or never, failures, the four modes, nesting, threads and fork. The clock
 * of the host is CLOCK_MONOTONIC, so that ticks are ns.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "backends/null/null.h"
#include "lib/device_state.h"
#include "tests/unit/peek.h"

enum { US = 1000, MS = 1000000 };

struct setup {
	struct peek peek;
	struct brick_null *sim;
	struct brick_device *device;
};

static struct brick_null_config manual(void)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;

	config.offset_ns = 7000000000000ull;
	config.rate_ppb = 50000;
	config.latency_ns = 2 * US;
	config.completion_ns = 5 * US;
	config.manual = 1;
	return config;
}

static void open_device(struct setup *s, const struct brick_null_config *config, uint32_t pairs)
{
	struct brick_backend_options options = {.size = sizeof options, .pairs = pairs};
	char reason[128] = "";

	assert_int_equal(brick_null_create(&s->sim, config), 0);
	options.native[0] = s->sim;
	assert_int_equal(brick_device_open(&s->device, brick_backend_find("null"), &options, reason,
				 sizeof reason),
		0);
}

static void begin(struct setup *s, const struct brick_null_config *config, uint32_t pairs)
{
	memset(s, 0, sizeof *s);
	peek_start(&s->peek, 16384);
	open_device(s, config, pairs);
}

static void end(struct setup *s)
{
	brick_device_close(s->device);
	brick_null_destroy(s->sim);
	peek_stop(&s->peek);
}

static void run_on(struct setup *s, void *queue, uint32_t brick, int layer, uint64_t ns)
{
	brick_device_span span = brick_device_begin(s->device, queue, brick, layer);

	brick_null_submit(s->sim, queue, ns);
	brick_device_end(s->device, queue, span, 0, 0, 0);
}

static void run(struct setup *s, uint32_t brick, int layer, uint64_t ns)
{
	run_on(s, NULL, brick, layer, ns);
}

static void settle(struct setup *s)
{
	brick_null_advance(s->sim, 50 * MS);
	brick__device_correlate(s->device, 4);
}

static struct brick_lane *queue_lane(struct setup *s, uint32_t n)
{
	if (s->peek.base)
		munmap(s->peek.base, s->peek.bytes);
	peek_map(&s->peek);
	for (uint32_t i = 0; i < peek_header(&s->peek)->lane_count; i++)
		if (peek_lane(&s->peek, i)->kind == BRICK_LANE_QUEUE && !n--)
			return peek_lane(&s->peek, i);
	return NULL;
}

static struct brick_record *nth(struct brick_lane *lane, uint32_t kind, uint64_t n)
{
	for (uint64_t i = 0; i < lane->head; i++)
		if (peek_record(lane, i)->kind == kind && !n--)
			return peek_record(lane, i);
	return NULL;
}

static uint64_t count_of(struct brick_lane *lane, uint32_t kind)
{
	uint64_t count = 0;

	for (uint64_t i = 0; lane && i < lane->head; i++)
		count += peek_record(lane, i)->kind == kind;
	return count;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The n-th sample against the n-th pair; consecutive ones never overlap. */
static void check_truth(struct setup *s, struct brick_lane *lane, uint64_t count, uint64_t most)
{
	uint64_t last_end = 0, residual = s->device->correlation.residual_ns;

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

static struct brick_losses losses(void)
{
	struct brick_losses l = BRICK_LOSSES_INIT;

	assert_int_equal(brick_losses_get(&l), 0);
	return l;
}

/* Losses that are told leave gaps; all others are there, at their place. */
static void told_losses(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.lose_every = 7;
	begin(&s, &config, 0);
	for (int i = 0; i < 100; i++) {
		run(&s, BRICK_LM_HEAD, i, 10 * US);
		settle(&s);
		brick_device_drain(s.device);
	}
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 100 - 100 / 7);
	assert_int_equal(losses().dropped, 100 / 7);
	uint64_t n = 0;
	for (int i = 0; i < 100; i++)
		if ((i + 1) % 7)
			assert_int_equal(nth(lane, BRICK_RECORD_SAMPLE, n++)->layer, i);
	end(&s);
}

/* ... also when nobody says so: the table of pairs does not fill up with them. */
static void silent_losses(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.lose_every = 5;
	config.silent = 1;
	begin(&s, &config, 16);
	for (int i = 0; i < 100; i++) {
		run(&s, BRICK_LM_HEAD, i, 10 * US);
		brick_null_advance(s.sim, 50 * US);
	}
	brick_device_finish(s.device);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 80);
	assert_int_equal(losses().dropped, 20);
	for (int i = 0; i < 80; i++)
		assert_true(nth(lane, BRICK_RECORD_SAMPLE, (uint64_t)i)->ticks >= 10 * US - 1);
	end(&s);
}

static void failed_pairs(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.fail_every = 4;
	begin(&s, &config, 0);
	for (int i = 0; i < 10; i++) { /* pairs end in the order B A: A of every 2nd fails */
		brick_device_span a = brick_device_begin(s.device, NULL, 5, i);
		run(&s, 6, i, 10 * US);
		brick_device_end(s.device, NULL, a, 0, 0, 0);
	}
	assert_int_equal(brick_device_finish(s.device), 15);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(losses().dropped, 5);
	assert_int_equal(lane->stats[5].count, 5);
	assert_int_equal(lane->stats[6].count, 10);
	assert_int_equal(count_of(lane, BRICK_RECORD_OPEN), 5);
	assert_int_equal(count_of(lane, BRICK_RECORD_CLOSE), 5);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 10);
	end(&s);
}

static void a_device_that_fails(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.fail_after = 10;
	begin(&s, &config, 0);
	for (int i = 0; i < 20; i++)
		run(&s, BRICK_LM_HEAD, i, 10 * US);
	settle(&s);
	assert_int_equal(brick_device_drain(s.device), BRICK_EDEVICE);
	assert_int_equal(brick_device_finish(s.device), BRICK_EDEVICE);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 10);
	assert_int_equal(losses().dropped, 10);
	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_IMMEDIATE), 0);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(losses().dropped, 11);
	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_PER_LAYER), 0);
	assert_int_equal(brick_device_layer_end(s.device, NULL), BRICK_EDEVICE);
	end(&s);
}

static void more_than_there_are_pairs(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.completion_ns = 10 * MS;
	begin(&s, &config, 8);
	for (int i = 0; i < 20; i++)
		run(&s, BRICK_LM_HEAD, i, 10 * US);
	assert_int_equal(losses().dropped, 12);
	assert_int_equal(brick_device_finish(s.device), 8);
	run(&s, BRICK_LM_HEAD, 20, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	end(&s);
}

/* What is on the way when the session ends is told as lost, not forgotten. */
static void session_ends_too_early(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	struct brick_losses before = BRICK_LOSSES_INIT;

	begin(&s, &config, 0);
	for (int i = 0; i < 5; i++)
		run(&s, BRICK_LM_HEAD, i, 10 * US);
	brick_null_advance(s.sim, 45 * US); /* three are done and known by now */
	int n = brick_device_drain(s.device);
	assert_in_range(n, 1, 4);
	assert_int_equal(brick_losses_get(&before), 0);
	assert_int_equal(before.dropped, 0);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(lane->ledger.dropped, 5 - n);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), n);
	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_device_finish(s.device), 0); /* they do not belong here */
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	assert_int_equal(losses().dropped, 0);
	munmap(s.peek.base, s.peek.bytes);
	s.peek.base = NULL;
	end(&s);
}

/* ---- modes ---- */

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
	assert_int_equal(brick_device_finish(s.device), 4);
	assert_int_equal(count_of(queue_lane(&s, 0), BRICK_RECORD_SAMPLE), 4);

	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_PER_LAYER), 0);
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
	for (int i = 0; i < 5; i++)
		run(&s, BRICK_LM_HEAD, i, 200 * US);
	struct brick_lane *lane = queue_lane(&s, 0);
	for (uint64_t i = 0; i < 5; i++) {
		struct brick_record *r = nth(lane, BRICK_RECORD_SAMPLE, i);
		struct brick_null_times truth, other;
		assert_int_equal(brick_null_kernel(s.sim, i + 1, &truth), 0);
		assert_int_equal(brick_null_kernel(s.sim, i, &other), 0);
		assert_true(r->begin + US >= other.end_ns);
		assert_true(r->ticks + 100 >= truth.end_ns - truth.begin_ns);
		assert_int_equal(r->source, BRICK_SOURCE_DEVICE_EVENT);
	}
	struct brick_lane *thread = peek_lane(&s.peek, 0);
	assert_int_equal(thread->kind, BRICK_LANE_THREAD);
	assert_int_equal(count_of(thread, BRICK_RECORD_AFTER), 5);
	assert_int_equal(nth(thread, BRICK_RECORD_AFTER, 4)->elements,
		nth(lane, BRICK_RECORD_LAUNCH, 4)->elements);
	assert_true(thread->stats[BRICK_SYNCHRONIZE].total >= 5 * 190 * US);
	end(&s);
}

/* ---- misuse ---- */

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

/* ---- the host as a device ---- */

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
	uint64_t residual = s.device->correlation.residual_ns;
	assert_int_equal(r->source, BRICK_SOURCE_TSC);
	assert_string_equal(lane->backend, "cpu");
	assert_true(r->begin + residual >= before && r->begin + r->ticks <= after + residual);
	assert_true(r->ticks + residual >= work);
	assert_int_equal(brick_timer_create(&timer, s.device), 0);
	assert_int_equal(brick_timer_start(timer, NULL), 0);
	assert_int_equal(brick_timer_stop(timer, NULL), 0);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0);
	brick_timer_destroy(timer);
	brick_device_close(s.device);
	peek_stop(&s.peek);
}

/* ---- threads and fork ---- */

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
		cmocka_unit_test(told_losses),
		cmocka_unit_test(silent_losses),
		cmocka_unit_test(failed_pairs),
		cmocka_unit_test(a_device_that_fails),
		cmocka_unit_test(more_than_there_are_pairs),
		cmocka_unit_test(session_ends_too_early),
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
		cmocka_unit_test(many_threads),
		cmocka_unit_test(fork_with_a_device),
	};
	setenv("BRICK_CLOCK", "monotonic", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
