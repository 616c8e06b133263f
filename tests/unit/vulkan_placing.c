/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: where the Vulkan layer places what a device did, when its clock is known wrongly.
 * Each bound is tried alone: a command of which only that bound knows where it cannot have been.
 * A double stands for the library's own recording, which would hold some of the bounds once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "attach/vulkan/vulkan_queues.h"
#include "attach/vulkan/vulkan_submission.h"
#include "base/clock_ns.h"

enum { US = 1000, MS = 1000 * US, MAX_COMMANDS = 4 };

static struct vulkan_device device;
static struct vulkan_queue queue;
static _Alignas(max_align_t) char no_session[1024]; /* stands for a queue: all zeros are one in no
						       session */
static uint64_t now_ns; /* when a test began; what it tells of was before, but for its clock */
static uint64_t next_number;

/* What was recorded, in order. */
static struct {
	uint64_t number, begin_ns, end_ns, residual_ns;
} seen[MAX_COMMANDS];
static size_t seen_count;

int __wrap_brick_queue_record(struct brick_queue *to, const struct brick_command *command);

int __wrap_brick_queue_record(struct brick_queue *to, const struct brick_command *command)
{
	assert_true(seen_count < MAX_COMMANDS);
	seen[seen_count].number = command->launch.number;
	seen[seen_count].begin_ns = command->begin_ns;
	seen[seen_count].end_ns = command->end_ns;
	seen[seen_count++].residual_ns = command->residual_ns;
	return 0;
}

/* ---- a driver: all that was submitted is done ---- */

static VKAPI_ATTR VkResult VKAPI_CALL is_signalled(VkDevice handle, VkFence fence)
{
	return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset(VkDevice handle, uint32_t count, const VkFence *fences)
{
	return VK_SUCCESS;
}

static struct vulkan_slot slots[MAX_COMMANDS];
static uint64_t results[MAX_COMMANDS][2];

/* ---- what the tests are made of ---- */

/* The device's clock is the host's, but taken for so much later, and known so narrowly. */
static void start(int64_t off_ns, uint64_t half_width_ns)
{
	now_ns = monotonic_ns();
	device = (struct vulkan_device){.family_count = 1,
		.counter = {.mask = UINT64_MAX, .period_ns = 1},
		.call = {.GetFenceStatus = is_signalled, .ResetFences = reset},
		.queues = &queue};
	device.families[0].mask = UINT64_MAX;
	queue = (struct vulkan_queue){
		.last = &queue.first, .queue = (struct brick_queue *)no_session};
	brick_correlation_init(&device.clock.correlation);
	for (uint64_t ms = 1000; ms <= 1000; ms -= 1000) { /* a second ago, and now */
		uint64_t device_ns = now_ns - ms * MS, host_ns = device_ns + (uint64_t)off_ns;
		struct brick_reading reading = {
			host_ns - half_width_ns, device_ns, host_ns + half_width_ns};
		assert_int_equal(brick_correlation_add(&device.clock.correlation, &reading, 1), 0);
	}
	seen_count = next_number = 0;
}

/* A time so long before the test began. */
static uint64_t ago(uint64_t us)
{
	return now_ns - us * US;
}

/* A submission of one command that was launched and ran so long ago. Its number. */
static uint64_t ran(uint64_t launch_us, uint64_t begin_us, uint64_t end_us)
{
	struct vulkan_submission *s = submission_create(1);
	uint64_t at = next_number;

	assert_non_null(s);
	results[at][0] = ago(begin_us);
	results[at][1] = ago(end_us);
	slots[at] = (struct vulkan_slot){.device = &device, .results = results[at]};
	s->slot = &slots[at];
	s->launch_ns = ago(launch_us);
	assert_int_equal(array_reserve(&s->pending, 1), 0);
	s->pending.items[s->pending.count++] = (struct pending){.number = ++next_number};
	*queue.last = s;
	queue.last = &s->next;
	return next_number;
}

static void assert_at(size_t i, uint64_t begin_us, uint64_t end_us)
{
	assert_int_equal(seen[i].begin_ns, ago(begin_us));
	assert_int_equal(seen[i].end_ns, ago(end_us));
}

/* ---- bounds ---- */

static void what_the_clock_says(void **state)
{
	start(0, 100);
	ran(500, 400, 300);
	submissions_take_done(&device);
	assert_int_equal(seen_count, 1);
	assert_at(0, 400, 300);
	assert_int_equal(seen[0].residual_ns, 100);
}

static void nothing_begins_before_its_launch(void **state)
{
	start(-200 * US, 100);
	ran(500, 450, 350);
	submissions_take_done(&device);
	assert_true(seen[0].begin_ns >= ago(500));
	assert_true(seen[0].begin_ns <= ago(450));
	assert_int_equal(seen[0].end_ns - seen[0].begin_ns, 100 * US);
	/* it says how far it was moved, beside what its clock may be off */
	assert_int_equal(
		seen[0].residual_ns, 100 + seen[0].begin_ns - (ago(450) - (uint64_t)200 * US));
}

static void nothing_ends_behind_its_wait(void **state)
{
	start(200 * US, 100);
	wait_ends_add(&queue.wait_ends, ran(1000, 450, 350) + 1, ago(340));
	submissions_take_done(&device);
	assert_true(seen[0].end_ns <= ago(340));
	assert_true(seen[0].end_ns >= ago(350));
	assert_int_equal(seen[0].end_ns - seen[0].begin_ns, 100 * US);
	assert_int_equal(
		seen[0].residual_ns, 100 + (ago(450) + (uint64_t)200 * US) - seen[0].begin_ns);
}

static void nothing_ends_in_the_future(void **state)
{
	start(1000 * (int64_t)MS, 100);
	ran(1000, 450, 350);
	submissions_take_done(&device);
	assert_true(seen[0].end_ns <= monotonic_ns());
}

/* The wait that moves a command moves what the device did before it, too. */
static void what_ran_before_is_moved_along(void **state)
{
	start(200 * US, 100);
	ran(1000, 650, 550);
	wait_ends_add(&queue.wait_ends, ran(1000, 550, 350) + 1, ago(340));
	submissions_take_done(&device);
	assert_int_equal(seen_count, 2);
	assert_true(seen[0].end_ns <= seen[1].begin_ns);
	assert_true(seen[1].end_ns <= ago(340));
}

/* The launch that moves a command moves what the device did behind it, too. */
static void what_ran_behind_is_moved_along(void **state)
{
	start(-200 * US, 100);
	ran(500, 450, 350);
	ran(600, 350, 340);
	submissions_take_done(&device);
	assert_int_equal(seen_count, 2);
	assert_true(seen[0].begin_ns >= ago(500));
	assert_true(seen[0].end_ns <= seen[1].begin_ns);
}

/* ... also when it is taken later. */
static void what_was_recorded_stays_before(void **state)
{
	start(-200 * US, 100);
	ran(500, 450, 350);
	submissions_take_done(&device);
	ran(600, 350, 340);
	submissions_take_done(&device);
	assert_int_equal(seen_count, 2);
	assert_true(seen[0].end_ns <= seen[1].begin_ns);
}

/* What the device did at the same time is not drawn apart. */
static void what_overlapped_overlaps(void **state)
{
	start(0, 100);
	ran(1000, 450, 350);
	ran(1000, 400, 300);
	submissions_take_done(&device);
	assert_at(0, 450, 350);
	assert_at(1, 400, 300);
}

/* ... also when it is taken later. */
static void what_overlapped_overlaps_later(void **state)
{
	start(0, 100);
	ran(1000, 450, 350);
	submissions_take_done(&device);
	ran(1000, 400, 300);
	submissions_take_done(&device);
	assert_at(1, 400, 300);
}

static void they_come_in_the_order_of_their_begins(void **state)
{
	start(0, 100);
	ran(1000, 400, 300);
	ran(1000, 500, 450);
	submissions_take_done(&device);
	assert_int_equal(seen[0].number, 2);
	assert_int_equal(seen[1].number, 1);
}

/* A clock that is known badly is taken to be as late as it can be. */
static void a_bad_clock_is_late(void **state)
{
	start(0, 20 * US);
	ran(1000, 450, 350);
	submissions_take_done(&device);
	assert_at(0, 470, 370);
}

/* ---- the end of the program ---- */

static int waits_until_done;

/* All the time that it was given goes by at once, as for a process that stands still. */
static VKAPI_ATTR VkResult VKAPI_CALL time_flies(
	VkDevice handle, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t timeout_ns)
{
	return waits_until_done-- > 0 ? VK_TIMEOUT : VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL is_done_by_then(VkDevice handle, VkFence fence)
{
	return waits_until_done > 0 ? VK_NOT_READY : VK_SUCCESS;
}

/* A process that was frozen while it waited for its last command waits on; but not for ever. */
static void the_end_is_waited_for(void **state)
{
	static const int waits[] = {0, 1, 10, 1000};

	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		start(0, 100);
		device.call.WaitForFences = time_flies;
		device.call.GetFenceStatus = is_done_by_then;
		waits_until_done = waits[i];
		ran(500, 400, 300);
		queues_device_exit(&device);
		assert_int_equal(seen_count, waits[i] < 1000);
	}
	submission_destroy(queue.first);
}

/* A counter of 36 bits and 52 ns begins anew after an hour: seen once in a while, or after many. */
static void counter_that_wraps(void **state)
{
	const uint64_t mask = (1ull << 36) - 1, second = 1000000000, far = 20000 * second;
	struct wrapped_ticks w = {.mask = mask, .period_ns = 52};
	uint64_t first_ns = 1000 * second, begin = mask - 1000;
	(void)state;

	uint64_t base = wrapped_ticks_read(&w, begin, first_ns);
	assert_int_equal(base & mask, begin);
	for (uint64_t s = 0; s <= 3 * 3573; s += 600) { /* three rounds */
		uint64_t ticks = begin + s * second / 52, host_ns = first_ns + s * second;
		assert_int_equal(
			wrapped_ticks_whole(&w, ticks & mask, host_ns) - base, ticks - begin);
		/* read off by a second, and a command that ran half an hour ago */
		assert_int_equal(wrapped_ticks_whole(&w, ticks & mask, host_ns + second) - base,
			ticks - begin);
		assert_int_equal(
			wrapped_ticks_whole(&w, (ticks - 1500 * second / 52) & mask, host_ns),
			base + s * second / 52 - 1500 * second / 52);
		assert_int_equal(
			wrapped_ticks_read(&w, ticks & mask, host_ns) - base, ticks - begin);
	}
	w = (struct wrapped_ticks){.mask = mask, .period_ns = 52};
	base = wrapped_ticks_read(&w, begin, first_ns);
	/* nothing was read for five rounds, and the clocks run 50 ppm apart */
	assert_int_equal(
		wrapped_ticks_whole(&w, (begin + far / 52) & mask, first_ns + far + second) - base,
		far / 52);
	w.mask = UINT64_MAX;
	assert_int_equal(wrapped_ticks_read(&w, 77, first_ns), 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_clock_says),
		cmocka_unit_test(nothing_begins_before_its_launch),
		cmocka_unit_test(nothing_ends_behind_its_wait),
		cmocka_unit_test(nothing_ends_in_the_future),
		cmocka_unit_test(what_ran_before_is_moved_along),
		cmocka_unit_test(what_ran_behind_is_moved_along),
		cmocka_unit_test(what_was_recorded_stays_before),
		cmocka_unit_test(what_overlapped_overlaps),
		cmocka_unit_test(what_overlapped_overlaps_later),
		cmocka_unit_test(they_come_in_the_order_of_their_begins),
		cmocka_unit_test(a_bad_clock_is_late),
		cmocka_unit_test(the_end_is_waited_for),
		cmocka_unit_test(counter_that_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
