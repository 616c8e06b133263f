/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording of a queue leaves in a session, looked at as a consumer sees it: commands with
 * all that is known of them, their parents, bad ones, and waits.
 */
#include "lib/sys/environment.h"
#include "tests/unit/queue_kit.h"

static void check_launch_call(struct peek *p, const struct brick_launch *launch)
{
	struct brick_lane *thread = lane_of(p, BRICK_LANE_THREAD, 0);
	struct brick_record *flow = find(thread, BRICK_RECORD_FLOW, 0);

	assert_int_equal(flow->elements, launch->number);
	assert_int_equal(flow[-1].kind, BRICK_RECORD_SAMPLE);
	assert_int_equal(flow[-1].begin, launch->begin);
	assert_int_equal(flow[-1].ticks, launch->end - launch->begin);
	assert_string_equal(brick_name(flow[-1].brick), "Launch");
	assert_int_equal(brick_category_of(flow[-1].brick), BRICK_CATEGORY_ENGINE);
	assert_true(peek_lane(p, launch->lane - 1) == thread);
}

/* A command that was queued at `now` + 100, with a kernel, work and two that it waits for. */
static void check_records(struct brick_lane *lane, const struct brick_command *c, uint64_t now)
{
	struct brick_record *r = peek_record(lane, 0);
	assert_int_equal(r[0].kind, BRICK_RECORD_SAMPLE);
	assert_int_equal(r[0].begin, now + 300);
	assert_int_equal(r[0].ticks, 1000);
	assert_int_equal(r[0].source, BRICK_SOURCE_DEVICE_EVENT);
	assert_int_equal(r[0].brick, BRICK_QKV_PROJECTION);
	assert_int_equal(r[0].layer, 3);
	assert_int_equal(r[0].flags, BRICK_FLAG_ELEMENTS);
	assert_int_equal(r[0].elements, 5);
	assert_int_equal(r[1].kind, BRICK_RECORD_WORK);
	assert_int_equal(r[1].begin, 6);
	assert_int_equal(r[1].elements, 8);
	assert_int_equal(r[2].kind, BRICK_RECORD_LAUNCH);
	assert_int_equal(r[2].begin, c->launch.begin);
	assert_int_equal(r[2].ticks, c->launch.end - c->launch.begin);
	assert_int_equal(r[2].wait, c->launch.lane);
	assert_int_equal(r[2].brick, c->kernel);
	assert_int_equal(r[2].elements, c->launch.number);
	assert_int_equal(r[3].kind, BRICK_RECORD_TIMES);
	assert_int_equal(r[3].begin, now + 100);
	assert_int_equal(r[3].elements, now + 200);
	assert_int_equal(r[4].kind, BRICK_RECORD_AFTER);
	assert_int_equal(r[4].elements, 7);
	assert_int_equal(r[5].elements, 9);
}

static void check_statistics(const struct brick_stat *stat)
{
	assert_int_equal(stat->count, 1);
	assert_int_equal(stat->total, 1000);
	assert_int_equal(stat->self, 1000);
	assert_int_equal(stat->min, 1000);
	assert_int_equal(stat->flops, 8);
}

/* Everything that can be said of a command, record by record. */
static void all_of_a_command(void **state)
{
	struct peek p = {0};
	const uint64_t after[2] = {7, 9};
	const struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = "gemv",
		.backend = "test",
		.grid = {16, 2, 1}};

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("queue A", 0);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	brick_span outer = brick_begin_layer(BRICK_QKV_PROJECTION, 3);
	struct brick_launch launch = launch_here();
	brick_end(outer);
	brick_end(step);
	uint64_t now = brick_ticks();
	struct brick_command c = command_of(launch, now + 300, now + 1300);
	c.kernel = brick_kernel_register(&kernel);
	c.queued_ns = now + 100;
	c.submitted_ns = now + 200;
	c.elements = 5;
	c.bytes = 6;
	c.flops = 8;
	c.after = after;
	c.after_count = 2;
	assert_true(c.kernel > 0);
	assert_int_equal(brick_queue_record(queue, &c), 0);

	peek_map(&p);
	check_launch_call(&p, &launch);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	assert_string_equal(lane->name, "queue A");
	assert_string_equal(lane->backend, "test");
	assert_int_equal(lane->head, 6);
	check_records(lane, &c, now);
	check_statistics(&lane->stats[BRICK_QKV_PROJECTION]);
	brick_queue_destroy(queue);
	peek_stop(&p);
}

/* Steps, waits and phases of an engine do not launch: the brick in them does, or the kernel. */
static void parents(void **state)
{
	struct brick_launch launch;

	assert_int_equal(brick_session_start(NULL), 0);
	brick_layer_set(4);
	brick_span step = brick_step_begin(BRICK_PHASE_PREFILL, 3);
	launch = launch_here();
	assert_int_equal(launch.brick, BRICK_NONE);
	assert_int_equal(launch.layer, 4);
	brick_span brick = brick_begin_layer(BRICK_LM_HEAD, -1);
	brick_span phase = brick_begin(BRICK_GRAPH_COMPUTE);
	brick_span wait = brick_begin(BRICK_BARRIER_WAIT);
	launch = launch_here();
	assert_int_equal(launch.brick, BRICK_LM_HEAD);
	assert_int_equal(launch.layer, -1);
	brick_end(wait);
	brick_end(phase);
	brick_end(brick);
	brick_end(step);
	brick_layer_set(-1);
	assert_int_equal(brick_session_stop(), 0);
	launch = launch_here();
	assert_int_equal(launch.number, 0);
}

static int brick_of_command(struct brick_queue *queue, uint32_t kernel, uint64_t at)
{
	struct brick_command c = command_of(launch_here(), at, at + 1);
	int before = brick_count();

	c.kernel = kernel;
	assert_int_equal(brick_queue_record(queue, &c), 0);
	return brick_count() - before;
}

/* A command outside of bricks gets one that is named like its kernel; the 701st shares one. */
static void bricks_of_kernels(void **state)
{
	static const char name[] = "a_name_that_is_longer_than_47_bytes_________\xc3\xa9\xc3\xa9";
	struct brick_queue *queue = make_queue("q", 0);
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	uint64_t now = brick_ticks();
	brick_of_command(queue, kernel_named(name), now);
	int id = brick_lookup("a_name_that_is_longer_than_47_bytes_________\xc3\xa9");
	assert_true(id >= 0);
	assert_string_equal(brick_category_name(brick_category_of(id)), "Device");
	assert_int_equal(brick_device_stats_get(id, &stats), 0);
	assert_int_equal(brick_of_command(queue, kernel_named("Softmax"), now + 1), 0);
	assert_int_equal(brick_device_stats_get(BRICK_ATTENTION_SOFTMAX, &stats), 0);
	for (int i = 0; i < 900; i++) {
		char other[16];
		snprintf(other, sizeof other, "kernel %d", i);
		assert_int_equal(
			brick_of_command(queue, kernel_named(other), now + 2 + (uint64_t)i),
			i < 699);
	}
	assert_int_equal(brick_device_stats_get(brick_lookup("Kernel"), &stats), 0);
	assert_int_equal(stats.count, 201);
	assert_int_equal(brick_of_command(queue, 0, now + 1000), 0); /* not known: "Kernel", too */
	assert_int_equal(brick_device_stats_get(brick_lookup("Kernel"), &stats), 0);
	assert_int_equal(stats.count, 202);
	brick_queue_destroy(queue);
	assert_int_equal(brick_session_stop(), 0);
}

/* 2^32 ticks and more do not fit a SAMPLE. */
static void long_commands(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("q", 0);
	uint64_t now = brick_ticks();
	record(queue, now, now + (1ull << 32), 0);
	record(queue, now + (1ull << 33), now + (1ull << 33) + UINT32_MAX, 0);
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	assert_int_equal(lane->head, 5);
	assert_int_equal(peek_record(lane, 0)->kind, BRICK_RECORD_OPEN);
	assert_int_equal(peek_record(lane, 1)->kind, BRICK_RECORD_CLOSE);
	assert_int_equal(peek_record(lane, 1)->begin, now + (1ull << 32));
	assert_int_equal(peek_record(lane, 2)->kind, BRICK_RECORD_LAUNCH);
	assert_int_equal(peek_record(lane, 3)->kind, BRICK_RECORD_SAMPLE);
	assert_int_equal(peek_record(lane, 3)->ticks, UINT32_MAX);
	brick_queue_destroy(queue);
	peek_stop(&p);
}

static void bad_commands(void **state)
{
	struct brick_queue *queue = make_queue("q", 0);

	assert_int_equal(brick_session_start(NULL), 0);
	uint64_t now = brick_ticks();
	struct brick_command good = command_of(launch_here(), now, now + 1), c;
	c = good;
	c.begin_ns = 0;
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	c = good;
	c.end_ns = 0;
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	c = good;
	c.end_ns = UINT64_MAX; /* would leave no room for what comes */
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	c = good;
	c.size = 8;
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	c = good;
	c.after_count = 1;
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	c = good;
	c.launch.brick = 1023;
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	c = good;
	c.kernel = BRICK_MAX_KERNELS;
	assert_int_equal(brick_queue_record(queue, &c), -EINVAL);
	assert_int_equal(brick_queue_record(queue, &good), 0);
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	options.size = 1 << 20;
	struct brick_queue *none = NULL;
	assert_int_equal(brick_queue_create(&none, &options), -EINVAL);
	assert_null(none);
	brick_queue_destroy(queue);
	assert_int_equal(brick_session_stop(), 0);
}

static void waits(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	uint64_t begin = brick_ticks();
	brick_record_wait(begin, begin + 500, 77);
	brick_record_wait(begin + 600, begin + 700, 0);
	brick_end(step);
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_THREAD, 0);
	struct brick_record *after = find(lane, BRICK_RECORD_AFTER, 0);
	assert_int_equal(after->elements, 77);
	assert_int_equal(after[-1].brick, BRICK_SYNCHRONIZE);
	assert_int_equal(after[-1].begin, begin);
	assert_int_equal(after[-1].ticks, 500);
	assert_int_equal(after[1].brick, BRICK_SYNCHRONIZE);
	assert_int_equal(after[2].kind, BRICK_RECORD_CLOSE);
	assert_int_equal(lane->stats[BRICK_SYNCHRONIZE].total, 600);
	peek_stop(&p);
}

static void *only_waits(void *begin)
{
	*(uint64_t *)begin = brick_ticks();
	brick_record_wait(*(uint64_t *)begin, brick_ticks(), 77);
	return NULL;
}

/* Its lane is made behind the wait, and the wait is its first record all the same. */
static void a_thread_begins_with_a_wait(void **state)
{
	struct peek p = {0};
	uint64_t begin;
	pthread_t thread;

	peek_start(&p, 1024);
	assert_int_equal(pthread_create(&thread, NULL, only_waits, &begin), 0);
	pthread_join(thread, NULL);
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_THREAD, 0);
	struct brick_record *after = find(lane, BRICK_RECORD_AFTER, 0);
	assert_int_equal(after->elements, 77);
	assert_int_equal(after[-1].brick, BRICK_SYNCHRONIZE);
	assert_int_equal(after[-1].begin, begin);
	assert_ptr_equal(&after[-1], find(lane, BRICK_RECORD_SAMPLE, 0));
	peek_stop(&p);
}

/* One by who waits, and one by who is attached to the driver: one wait, and what it was for. */
static void waits_in_bricks_of_their_own(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span span = brick_begin(BRICK_SYNCHRONIZE);
	uint64_t begin = brick_ticks();
	brick_record_wait(begin, begin + 500, 77);
	brick_record_wait(begin + 600, begin + 700, 0);
	brick_end(span);
	span = brick_begin(BRICK_SYNCHRONIZE);
	brick_record_wait(begin, begin + 500, 0);
	brick_end(span);
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_THREAD, 0);
	struct brick_record *after = find(lane, BRICK_RECORD_AFTER, 0);
	assert_int_equal(after->elements, 77);
	assert_int_equal(after[-2].kind, BRICK_RECORD_OPEN);
	assert_int_equal(after[-1].kind, BRICK_RECORD_CLOSE);
	assert_int_equal(after[-1].begin, after->begin);
	assert_int_equal(after[1].kind, BRICK_RECORD_SAMPLE);
	assert_int_equal(lane->stats[BRICK_SYNCHRONIZE].count, 2);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_command), cmocka_unit_test(parents),
		cmocka_unit_test(long_commands), cmocka_unit_test(bad_commands),
		cmocka_unit_test(waits), cmocka_unit_test(a_thread_begins_with_a_wait),
		cmocka_unit_test(waits_in_bricks_of_their_own),
		cmocka_unit_test(bricks_of_kernels), /* leaves no room for other bricks */
	};
	setenv("BRICK_CLOCK", "monotonic", 1);
	brick__environment_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
