/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: where commands of OpenCL are placed when the device's clock is known wrongly. Each
 * bound is tried alone: a command of which only that bound knows where it cannot have been.
 * Doubles stand for the driver, for what is known of its clock and of waits, and for the library's
 * own recording, which would hold some of the bounds once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "attach/opencl/clocks.h"
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_events.h"
#include "attach/opencl/opencl_placing.h"
#include "base/clock_ns.h"

enum { US = 1000 };

static int64_t off_ns;	      /* that the device's clock is taken to be ahead of the host's */
static uint64_t waited_ns;    /* when the event was waited for */
static uint64_t device_ns[4]; /* queued, submitted, begin, end */
static struct {
	uint64_t begin_ns, end_ns, residual_ns;
} seen;

/* ---- doubles ---- */

int __wrap_brick_queue_record(struct brick_queue *to, const struct brick_command *command);

int __wrap_brick_queue_record(struct brick_queue *to, const struct brick_command *command)
{
	seen.begin_ns = command->begin_ns;
	seen.end_ns = command->end_ns;
	seen.residual_ns = command->residual_ns;
	return 0;
}

static cl_int CL_API_CALL is_complete(
	cl_event event, cl_event_info which, size_t bytes, void *value, size_t *wrote)
{
	*(cl_int *)value = CL_COMPLETE;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL times_of(
	cl_event event, cl_profiling_info which, size_t bytes, void *value, size_t *wrote)
{
	*(cl_ulong *)value = device_ns[which - CL_PROFILING_COMMAND_QUEUED];
	return CL_SUCCESS;
}

const struct driver *driver_get(void)
{
	static const struct driver driver = {
		.clGetEventInfo = is_complete, .clGetEventProfilingInfo = times_of};
	return &driver;
}

uint64_t clocks_host_ns(struct clock *clock, uint64_t ns, uint64_t *residual_ns)
{
	*residual_ns = 100;
	return ns + (uint64_t)off_ns;
}

uint64_t events_waited_ns(cl_event event, uint64_t number)
{
	return waited_ns;
}

void clocks_queued(struct clock *clock, uint64_t before_ns, uint64_t queued, uint64_t after_ns)
{
}
void clocks_placed(struct clock *clock, uint64_t residual_ns)
{
}
/* ---- what the tests are made of ---- */

static struct queue queue;
static struct pending pending;
static uint64_t now_ns;

static uint64_t ago(uint64_t us)
{
	return now_ns - us * US;
}

static void start(int64_t ahead_ns)
{
	now_ns = monotonic_ns();
	off_ns = ahead_ns;
	waited_ns = 0;
	queue = (struct queue){.in_order = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
}

/* The call was so long ago, and the command ran then. */
static void called(uint64_t call_us, uint64_t returned_us, int is_blocking)
{
	pending = (struct pending){.before_ns = ago(call_us),
		.after_ns = ago(returned_us),
		.is_blocking = (uint32_t)is_blocking};
}

static void ran(uint64_t begin_us, uint64_t end_us)
{
	device_ns[0] = device_ns[1] = device_ns[2] = ago(begin_us);
	device_ns[3] = ago(end_us);
	assert_int_equal(placing_poll(&queue, &pending, 0), 1);
	placing_record(&queue, &pending);
}

/* It was moved as a whole, and says by how much. */
static void assert_moved(uint64_t begin_us, uint64_t end_us)
{
	uint64_t placed = ago(begin_us) + (uint64_t)off_ns;
	uint64_t moved = seen.begin_ns > placed ? seen.begin_ns - placed : placed - seen.begin_ns;

	assert_int_equal(seen.end_ns - seen.begin_ns, (begin_us - end_us) * US);
	assert_int_equal(seen.residual_ns, 100 + moved);
}

/* ---- bounds ---- */

static void what_the_clock_says(void **state)
{
	start(0);
	called(500, 490, 0);
	ran(400, 300);
	assert_int_equal(seen.begin_ns, ago(400));
	assert_moved(400, 300);
}

static void nothing_begins_before_its_call(void **state)
{
	start(-200 * US);
	called(500, 490, 0);
	ran(450, 350);
	assert_true(seen.begin_ns >= ago(500) && seen.begin_ns <= ago(450));
	assert_moved(450, 350);
}

static void nothing_ends_behind_a_wait_for_its_queue(void **state)
{
	start(200 * US);
	wait_ends_add(&queue.wait_ends, 1, ago(340));
	called(500, 490, 0);
	ran(450, 350);
	assert_true(seen.end_ns <= ago(340) && seen.end_ns >= ago(350));
	assert_moved(450, 350);
}

static void nothing_ends_behind_a_wait_for_its_event(void **state)
{
	start(200 * US);
	waited_ns = ago(340);
	called(500, 490, 0);
	ran(450, 350);
	assert_true(seen.end_ns <= ago(340) && seen.end_ns >= ago(350));
	assert_moved(450, 350);
}

static void nothing_ends_behind_its_blocking_call(void **state)
{
	start(200 * US);
	called(500, 340, 1);
	ran(450, 350);
	assert_true(seen.end_ns <= ago(340) && seen.end_ns >= ago(350));
	assert_moved(450, 350);
}

static void nothing_ends_in_the_future(void **state)
{
	start(1000000 * (int64_t)US);
	called(500, 490, 0);
	ran(450, 350);
	assert_true(seen.end_ns <= monotonic_ns());
	assert_moved(450, 350);
}

/* The clock is known better by and by: what was placed by it before stays before. */
static void what_was_recorded_stays_before(void **state)
{
	start(200 * US);
	called(900, 890, 0);
	ran(850, 650);
	off_ns = 0;
	called(900, 890, 0);
	ran(650, 550);
	assert_true(seen.begin_ns >= ago(650) + (uint64_t)200 * US);
	assert_moved(650, 550);
	/* out of order they may have run at the same time */
	queue.in_order = 0;
	called(900, 890, 0);
	ran(550, 450);
	assert_int_equal(seen.begin_ns, ago(550));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_clock_says),
		cmocka_unit_test(nothing_begins_before_its_call),
		cmocka_unit_test(nothing_ends_behind_a_wait_for_its_queue),
		cmocka_unit_test(nothing_ends_behind_a_wait_for_its_event),
		cmocka_unit_test(nothing_ends_behind_its_blocking_call),
		cmocka_unit_test(nothing_ends_in_the_future),
		cmocka_unit_test(what_was_recorded_stays_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
