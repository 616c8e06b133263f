/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend for OpenCL, on the test double of its library, which takes planned times: pairs of
 * markers and pairs of the program's own events, what is refused, what fails, and the clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/device.h"
#include "brick/error.h"
#include "brick/opencl.h"

typedef void *(*create_queue_fn)(void *context, void *device, uint64_t properties, int *error);
typedef int (*launch_fn)(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *global, const size_t *local, uint32_t count, void *const *list, void **event);
typedef int (*one_fn)(void *object);

enum { PROFILING = 2, OUT_OF_ORDER = 1, ITEMS = 1000, COST_NS = 1000 + 20 * ITEMS };
enum { MARKER_NS = 10, GAP_NS = 100 };

static const struct brick_backend *backend;
static create_queue_fn create_queue;
static launch_fn launch_kernel;
static one_fn release_event, release_queue;

static struct results {
	struct brick_completion done[64];
	uint32_t count;
	uint64_t lost;
} results;

static void complete(void *context, const struct brick_completion *completion)
{
	assert_ptr_equal(context, &results);
	results.done[results.count++] = *completion;
}

static void lose(void *context, uint64_t count)
{
	results.lost += count;
}

static struct brick_backend_device *open_device(enum brick_opencl_way way, uint32_t pairs)
{
	const struct brick_backend_host host = {
		.size = sizeof host, .context = &results, .complete = complete, .lost = lose};
	struct brick_backend_options options = {.size = sizeof options,
		.native = {NULL, NULL, (void *)(uintptr_t)way},
		.pairs = pairs};
	struct brick_backend_device *device = NULL;

	memset(&results, 0, sizeof results);
	assert_int_equal(backend->open(&device, &host, &options), 0);
	return device;
}

static void *queue_of(uint64_t properties)
{
	int error = 1;
	void *queue = create_queue(NULL, NULL, properties, &error);

	assert_int_equal(error, 0);
	return queue;
}

/* A kernel of COST_NS; its event is given to the open pairs if wanted. */
static void launch(void *queue, int give)
{
	const size_t items = ITEMS;
	void *event = NULL;

	assert_int_equal(
		launch_kernel(queue, NULL, 1, NULL, &items, NULL, 0, NULL, give ? &event : NULL),
		0);
	if (!give)
		return;
	assert_int_equal(brick_opencl_event(queue, event), 0);
	release_event(event);
}

static void drain_all(struct brick_backend_device *device, uint32_t want)
{
	assert_int_equal(backend->synchronise(device, NULL), 0);
	backend->drain(device);
	assert_int_equal(results.count, want);
}

static void markers_hold_the_work(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_MARKERS, 0);
	void *queue = queue_of(PROFILING);

	for (uint64_t ticket = 1; ticket <= 3; ticket++) {
		assert_int_equal(backend->begin(device, queue, ticket), 0);
		launch(queue, 0);
		assert_int_equal(backend->end(device, queue, ticket), 0);
	}
	drain_all(device, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct brick_completion *c = &results.done[i];
		assert_int_equal(c->ticket, i + 1);
		assert_int_equal(c->error, 0);
		assert_true(c->end_ns - c->begin_ns >= COST_NS + MARKER_NS);
		assert_true(c->queued_ns && c->queued_ns <= c->submitted_ns);
		/* one after the other: no interval begins before the last has ended */
		assert_true(!i || c->begin_ns >= results.done[i - 1].end_ns);
	}
	backend->close(device);
	release_queue(queue);
}

static void events_are_the_work(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_EVENTS, 0);
	void *queue = queue_of(PROFILING);

	assert_int_equal(backend->begin(device, queue, 7), 0);
	launch(queue, 1);
	assert_int_equal(backend->begin(device, queue, 8), 0); /* inside of it */
	launch(queue, 1);
	assert_int_equal(backend->end(device, queue, 8), 0);
	assert_int_equal(backend->end(device, queue, 7), 0);
	drain_all(device, 2);
	const struct brick_completion *inner = &results.done[0], *outer = &results.done[1];
	assert_int_equal(inner->ticket, 8);
	assert_int_equal(inner->end_ns - inner->begin_ns, COST_NS);
	assert_true(outer->end_ns - outer->begin_ns >= 2 * COST_NS + GAP_NS);
	assert_int_equal(outer->end_ns, inner->end_ns);
	backend->close(device);
	assert_int_equal(results.lost, 0);
	release_queue(queue);
}

static void what_cannot_be_true_is_refused(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_MARKERS, 0);
	void *untimed = queue_of(0), *unordered = queue_of(PROFILING | OUT_OF_ORDER);

	assert_int_equal(backend->begin(device, untimed, 1), BRICK_EUNSUPPORTED);
	assert_int_equal(backend->begin(device, unordered, 1), BRICK_EUNSUPPORTED);
	assert_int_equal(backend->begin(device, NULL, 1), -EINVAL);
	assert_int_equal(backend->end(device, untimed, 1), -EINVAL);
	assert_int_equal(brick_opencl_event(untimed, untimed), -ENOENT);
	backend->close(device);
	device = open_device(BRICK_OPENCL_EVENTS, 0); /* events are true in any order */
	assert_int_equal(backend->begin(device, unordered, 1), 0);
	launch(unordered, 1);
	assert_int_equal(backend->end(device, unordered, 1), 0);
	drain_all(device, 1);
	assert_int_equal(results.done[0].error, 0);
	backend->close(device);
	release_queue(untimed);
	release_queue(unordered);
}

static void no_event_is_an_error_and_not_0(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_EVENTS, 0);
	void *queue = queue_of(PROFILING);

	assert_int_equal(backend->begin(device, queue, 1), 0);
	assert_int_equal(backend->end(device, queue, 1), 0);
	drain_all(device, 1);
	assert_int_equal(results.done[0].error, BRICK_ENOTRECORDED);
	backend->close(device);
	release_queue(queue);
}

static void pairs_are_few_and_come_back(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_MARKERS, 2);
	void *queue = queue_of(PROFILING);

	for (uint64_t ticket = 1; ticket < 20; ticket += 2) {
		assert_int_equal(backend->begin(device, queue, ticket), 0);
		assert_int_equal(backend->begin(device, queue, ticket + 1), 0);
		assert_int_equal(backend->begin(device, queue, 99), -EAGAIN);
		assert_int_equal(backend->end(device, queue, ticket + 1), 0);
		assert_int_equal(backend->end(device, queue, ticket), 0);
		drain_all(device, (uint32_t)ticket + 1);
	}
	assert_int_equal(backend->begin(device, queue, 50), 0);
	assert_int_equal(backend->begin(device, queue, 51), 0);
	assert_int_equal(backend->end(device, queue, 51), 0);
	backend->close(device);
	assert_int_equal(results.lost, 2);
	release_queue(queue);
}

static void what_has_not_ended_stays(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_MARKERS, 0);
	void *queue = queue_of(PROFILING);

	assert_int_equal(backend->begin(device, queue, 1), 0);
	for (int i = 0; i < 2000; i++) /* 42 ms of the device's */
		launch(queue, 0);
	assert_int_equal(backend->end(device, queue, 1), 0);
	assert_int_equal(backend->drain(device), 0);
	drain_all(device, 1);
	assert_true(results.done[0].end_ns - results.done[0].begin_ns >= 2000ull * COST_NS);
	backend->close(device);
	release_queue(queue);
}

/* More of them than any table would hold, one after the other. */
static void queues_come_and_go(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_MARKERS, 0);
	void *kept[100];

	for (uint32_t i = 0; i < 100; i++) {
		kept[i] = queue_of(PROFILING);
		assert_int_equal(backend->begin(device, kept[i], i % 50 + 1), 0);
		launch(kept[i], 0);
		assert_int_equal(backend->end(device, kept[i], i % 50 + 1), 0);
		if (i >= 50)
			release_queue(kept[i]); /* before anybody has asked for its times */
		if (i % 50 == 49) {
			drain_all(device, 50);
			results.count = 0;
		}
	}
	for (uint32_t i = 0; i < 50; i++)
		release_queue(kept[i]);
	assert_int_equal(backend->synchronise(device, NULL), 0);
	void *next = queue_of(0); /* with a handle that was fit once */
	int is_used_again = 0;
	for (uint32_t i = 0; i < 100; i++)
		is_used_again |= next == kept[i];
	assert_true(is_used_again);
	assert_int_equal(backend->begin(device, next, 1), BRICK_EUNSUPPORTED);
	backend->close(device);
	release_queue(next);
}

/* By the device's timer, and by a marker's queued time. */
static void the_clock_is_read(void **state)
{
	struct brick_backend_device *device = open_device(BRICK_OPENCL_MARKERS, 0);
	struct brick_reading first, second;

	for (int by_timer = 1; by_timer >= 0; by_timer--) {
		assert_int_equal(backend->correlate(device, &first), 0);
		usleep(2000);
		assert_int_equal(backend->correlate(device, &second), 0);
		int64_t device_ns = (int64_t)(second.device_ns - first.device_ns);
		assert_true(first.before_ns <= first.after_ns);
		assert_true(device_ns >= (int64_t)(second.before_ns - first.after_ns));
		assert_true(device_ns <= (int64_t)(second.after_ns - first.before_ns));
		unsetenv("DOUBLE_TIMER");
	}
	backend->close(device);
}

static void a_timer_counts_or_fails(void **state)
{
	struct brick_backend_options options = {.size = sizeof options};
	struct brick_device *device = NULL;
	struct brick_timer *timer = NULL;
	void *queue = queue_of(PROFILING), *untimed = queue_of(0);
	uint64_t ns = 0;

	assert_int_equal(brick_device_open(&device, backend, &options, NULL, 0), 0);
	assert_int_equal(brick_timer_create(&timer, device), 0);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), -EINVAL);
	assert_int_equal(brick_timer_start(timer, untimed), BRICK_EUNSUPPORTED);
	assert_int_equal(brick_timer_start(timer, queue), 0);
	launch(queue, 0);
	assert_int_equal(brick_timer_stop(timer, queue), 0);
	assert_int_equal(brick_device_finish(device), 0);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0);
	assert_true(ns >= COST_NS);
	brick_timer_destroy(timer);
	brick_device_close(device);
	release_queue(queue);
	release_queue(untimed);
}

/* The double takes the place of the system's library when this program is started anew. */
static void find_double(char **argv)
{
	char own[PATH_MAX], path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	if (getenv("DOUBLE_TIMER") || n < 0)
		return;
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	snprintf(path, sizeof path, "%s/../lib/double", own);
	setenv("LD_LIBRARY_PATH", path, 1);
	setenv("DOUBLE_TIMER", "1", 1);
	execv("/proc/self/exe", argv);
}

static void *look_up(void *library, const char *name)
{
	void *function = dlsym(library, name);

	assert_non_null(function);
	return function;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markers_hold_the_work),
		cmocka_unit_test(events_are_the_work),
		cmocka_unit_test(what_cannot_be_true_is_refused),
		cmocka_unit_test(no_event_is_an_error_and_not_0),
		cmocka_unit_test(pairs_are_few_and_come_back),
		cmocka_unit_test(what_has_not_ended_stays),
		cmocka_unit_test(queues_come_and_go),
		cmocka_unit_test(a_timer_counts_or_fails),
		cmocka_unit_test(the_clock_is_read),
	};
	char reason[256] = "";

	find_double(argv);
	backend = brick_backend_find("opencl");
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
	if (!backend || backend->probe(reason, sizeof reason) || !strstr(reason, "double")) {
		printf("skipped: the test double is not there: %s\n", reason);
		return 77;
	}
	create_queue = (create_queue_fn)look_up(library, "clCreateCommandQueue");
	launch_kernel = (launch_fn)look_up(library, "clEnqueueNDRangeKernel");
	release_event = (one_fn)look_up(library, "clReleaseEvent");
	release_queue = (one_fn)look_up(library, "clReleaseCommandQueue");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
