/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the Metal backend on a double of the Objective-C runtime: times of command buffers
 * come through, what has none is an error, buffers are kept as long as they are needed and not
 * longer. Skipped where the double cannot stand for objc_msgSend.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/backends/backend_load.h"
#include "brick/error.h"
#include "brick/metal.h"
#include "tests/doubles/metal/runtime.h"

static const struct brick_backend *const backend = &brick__backend_metal;
static struct brick_completion completions[64];
static uint32_t completion_count;
static uint64_t lost;
static char device_note[64];
static char queue_place[2]; /* addresses of two command queues */
static void *const queue = &queue_place[0], *const other_queue = &queue_place[1];
static void *double_library;
static struct metal_double *(*new_buffer)(double start, double end);
static int *alive, *pools, *has_device;

static int open_double(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);

	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/../lib/doubles/libobjc.A.dylib");
	double_library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!double_library) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	void *function = dlsym(double_library, "metal_double_buffer");
	memcpy(&new_buffer, &function, sizeof function);
	alive = dlsym(double_library, "metal_double_alive");
	pools = dlsym(double_library, "metal_double_pools");
	has_device = dlsym(double_library, "metal_double_has_device");
	return 0;
}

static void complete(void *own, const struct brick_completion *completion)
{
	assert_true(completion_count < 64);
	completions[completion_count++] = *completion;
}

static void count_lost(void *own, uint64_t count)
{
	lost += count;
}

static void note(void *own, const char *key, const char *value)
{
	snprintf(device_note, sizeof device_note, "%s=%s", key, value);
}

static struct brick_backend_device *open_device(uint32_t pairs)
{
	const struct brick_backend_host host = {
		.size = sizeof host, .complete = complete, .lost = count_lost, .note = note};
	const struct brick_backend_options options = {.size = sizeof options, .pairs = pairs};
	struct brick_backend_device *device = NULL;

	completion_count = 0;
	lost = 0;
	assert_int_equal(backend->open(&device, &host, &options), 0);
	return device;
}

/* What the program does with its own reference after it has committed the buffer. */
static void drop(struct metal_double *buffer)
{
	assert_true(buffer->references > 0);
	if (--buffer->references == 0) {
		buffer->is_gone = 1;
		--*alive;
	}
}

static struct metal_double *time_one(
	struct brick_backend_device *device, uint64_t ticket, double start, double end)
{
	struct metal_double *buffer = new_buffer(start, end);

	assert_int_equal(brick_metal_use(device, queue, buffer), 0);
	assert_int_equal(backend->begin(device, queue, ticket), 0);
	assert_int_equal(backend->end(device, queue, ticket), 0);
	buffer->status = 2;
	return buffer;
}

static void nothing_without_a_runtime(void **state)
{
	char reason[128] = "";

	assert_int_equal(backend->probe(reason, sizeof reason), -ENOENT);
	assert_non_null(strstr(reason, "Objective-C"));
	assert_int_equal(open_double(), 0);
}

static void probes(void **state)
{
	char reason[128] = "";

	assert_int_equal(backend->probe(reason, sizeof reason), 0);
	*has_device = 0;
	assert_int_equal(backend->probe(reason, sizeof reason), -ENODEV);
	assert_non_null(strstr(reason, "no device"));
	*has_device = 1;
	assert_int_equal(*alive, 0);
}

static void times_come_through(void **state)
{
	struct brick_backend_device *device = open_device(0);
	struct metal_double *first = time_one(device, 7, 1000.5, 1000.500025);
	struct metal_double *second = time_one(device, 8, 1000.6, 1000.7);

	assert_string_equal(device_note, "device=Double of a GPU");
	drop(first); /* the program has let go of it; we have not */
	assert_int_equal(backend->drain(device), 0);
	second->status = 4;
	assert_int_equal(backend->drain(device), 1);
	assert_int_equal(completions[0].ticket, 8);
	assert_int_equal(backend->synchronise(device, NULL), 0);
	assert_int_equal(backend->drain(device), 1);
	assert_int_equal(completions[1].ticket, 7);
	assert_int_equal(completions[1].error, 0);
	assert_int_equal(completions[1].begin_ns, 1000500000000ull);
	assert_int_equal(completions[1].end_ns, 1000500025000ull);
	assert_int_equal(second->references, 1);
	drop(second);
	backend->close(device);
	assert_int_equal(*alive, 0);
	assert_int_equal(*pools, 0);
	assert_int_equal(lost, 0);
}

static void check_error(double start, double end, unsigned status, int error)
{
	struct brick_backend_device *device = open_device(4);
	struct metal_double *buffer = time_one(device, 3, start, end);

	buffer->status = status;
	assert_int_equal(backend->drain(device), 1);
	assert_int_equal(completions[0].error, error);
	assert_int_equal(completions[0].begin_ns, 0);
	assert_int_equal(completions[0].end_ns, 0);
	drop(buffer);
	backend->close(device);
	assert_int_equal(*alive, 0);
}

static void missing_times_are_errors(void **state)
{
	check_error(0, 0, 4, BRICK_EUNSUPPORTED);
	check_error(10, 0, 4, BRICK_EUNSUPPORTED);
	check_error((double)NAN, 10, 4, BRICK_EUNSUPPORTED);
	check_error(10, (double)INFINITY, 4, BRICK_EUNSUPPORTED);
	check_error(11, 10, 4, BRICK_ERANGE);
	check_error(10, 11, 5, BRICK_EDEVICE);
}

static void wrong_use(void **state)
{
	struct brick_backend_device *device = open_device(1);
	struct metal_double *old = new_buffer(1, 2), *late = new_buffer(1, 2),
			    *buffer = new_buffer(1, 2), *other = new_buffer(1, 2);

	assert_int_equal(backend->begin(device, queue, 1), BRICK_ESTATE); /* which buffer? */
	old->knows_times = 0;
	brick_metal_use(device, queue, old);
	assert_int_equal(backend->begin(device, queue, 1), BRICK_EUNSUPPORTED);
	late->status = 2;
	brick_metal_use(device, queue, late);
	assert_int_equal(backend->begin(device, queue, 1), BRICK_ESTATE);
	brick_metal_use(device, queue, buffer);
	assert_int_equal(backend->begin(device, queue, 0), -EINVAL);
	assert_int_equal(backend->begin(device, queue, 1), 0);
	assert_int_equal(backend->begin(device, queue, 2), BRICK_EUNSUPPORTED);
	brick_metal_use(device, other_queue, other);
	assert_int_equal(backend->begin(device, other_queue, 2), -EAGAIN);
	assert_int_equal(backend->end(device, other_queue, 1), -ENOENT);
	assert_int_equal(backend->end(device, queue, 2), -ENOENT);
	assert_int_equal(backend->synchronise(device, queue), BRICK_ESTATE);
	assert_int_equal(backend->synchronise(device, other_queue), 0);
	assert_int_equal(backend->end(device, queue, 1), 0);
	backend->close(device);
	assert_int_equal(lost, 1);
	assert_int_equal(buffer->references, 1);
	drop(old);
	drop(late);
	drop(buffer);
	drop(other);
	assert_int_equal(*alive, 0);
}

static void reads_the_clock(void **state)
{
	struct brick_backend_device *device = open_device(1);
	struct brick_reading reading;

	assert_int_equal(backend->correlate(device, &reading), 0);
	assert_true(reading.device_ns > 5000000000ull && reading.device_ns < 6000000000ull);
	assert_true(reading.after_ns >= reading.before_ns);
	backend->close(device);
}

int main(void)
{
#if defined(__x86_64__)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_a_runtime), /* and has one from there on */
		cmocka_unit_test(probes),
		cmocka_unit_test(times_come_through),
		cmocka_unit_test(missing_times_are_errors),
		cmocka_unit_test(wrong_use),
		cmocka_unit_test(reads_the_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	puts("skipped: the double returns words and doubles at once as x86-64 does");
	return 77;
#endif
}
