/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that lies in no thread's stack (brick/probe.h). It is recorded when it ends, as a command of
 * one out-of-order queue, whose lane takes what overlaps and comes in any order. The handle holds
 * all that is known of it, so nothing is kept while it is open.
 */
#include <errno.h>
#include <pthread.h>
#include "base/scope.h"
#include "brick/probe.h"
#include "brick/queue.h"
#include "lib/device/queue_clock.h"
#include "lib/probe/ring.h"
#include "lib/session/session_lanes.h"
#include "lib/sys/ticks.h"

static struct brick_queue *queue;
static int queue_error;
static uint32_t kernels[BRICK_MAX_BRICKS]; /* by brick; 0: not registered yet */

static void make_queue(void)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;

	options.name = "Asynchronous";
	options.backend = BRICK_HOST_BACKEND;
	options.flags = BRICK_QUEUE_OUT_OF_ORDER;
	queue_error = brick_queue_create(&queue, &options);
}

static uint32_t kernel_of(uint32_t brick)
{
	uint32_t index = __atomic_load_n(&kernels[brick], __ATOMIC_RELAXED);
	struct brick_kernel kernel = BRICK_KERNEL_INIT;

	if (index)
		return index;
	kernel.name = brick_name(brick);
	kernel.backend = BRICK_HOST_BACKEND;
	kernel.kind = BRICK_KERNEL_OTHER;
	index = brick_kernel_register(&kernel);
	__atomic_store_n(&kernels[brick], index, __ATOMIC_RELAXED);
	return index;
}

int brick__async_record(const struct brick_async *async, uint64_t end)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct brick_command command = BRICK_COMMAND_INIT;
	KEEP_ERRNO();

	pthread_once(&once, make_queue);
	if (queue_error)
		return queue_error;
	command.kernel = kernel_of(async->brick);
	command.source = BRICK_SOURCE_TSC;
	command.begin_ns = brick__ns_of_ticks(async->begin);
	command.end_ns = brick__ns_of_ticks(end);
	command.launch = (struct brick_launch){.number = brick_launch_number(),
		.session = async->session,
		.brick = async->brick,
		.layer = async->layer};
	return brick_queue_record(queue, &command);
}

static struct brick_async begun_at(uint32_t brick, uint64_t begin)
{
	const struct brick__thread *self = &brick__thread;

	return (struct brick_async){
		.begin = begin,
		.brick = brick,
		.layer = lane_is_current(self) ? (int32_t)self->lane->default_layer - 1 : -1,
		.session = brick__number_here(),
	};
}

struct brick_async brick_async_begin(uint32_t brick)
{
	if (!brick__number_here() || brick >= brick_count())
		return (struct brick_async){0};
	return begun_at(brick, brick__now());
}

uint64_t brick_async_end(const struct brick_async *async)
{
	uint64_t now = brick__now();

	if (!async->session || now < async->begin || brick__async_record(async, now))
		return 0;
	return brick_clock_duration_ns(brick_clock_get(), now - async->begin);
}

int brick_record_deferred(uint32_t brick, uint64_t begin)
{
	uint64_t now = brick__now();

	if (!brick__number_here())
		return -ENOENT;
	if (brick >= brick_count() || begin > now)
		return -EINVAL;
	struct brick_async async = begun_at(brick, begin);
	return brick__async_record(&async, now);
}
