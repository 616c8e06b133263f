/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's times come from its event: the device's own, which are placed on the host's clock. No
 * lock but `taking` is held while the driver is called.
 */
#include "attach/opencl/opencl_placing.h"

#include <errno.h>
#include <stdlib.h>
#include "attach/opencl/clocks.h"
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_events.h"
#include "base/clock_ns.h"
#include "lib/device/queue_clock.h"

static uint64_t placing_time_of(const struct driver *d, cl_event event, cl_profiling_info which)
{
	cl_ulong ns = 0;

	if (d->clGetEventProfilingInfo(event, which, sizeof(ns), &ns, NULL) != CL_SUCCESS)
		return 0;
	return ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The latest end of a command, on the host's clock and in its ticks; at most now. */
static uint64_t latest_ns(struct queue *q, const struct pending *p, uint64_t index)
{
	uint64_t waited_ns = events_waited_ns(p->event, p->launch.number);
	uint64_t ns = p->is_blocking ? p->after_ns : monotonic_ns();

	pthread_mutex_lock(&q->lock);
	ns = earlier(ns, wait_ends_over_ns(&q->wait_ends, index));
	pthread_mutex_unlock(&q->lock);
	return (waited_ns ? earlier(ns, waited_ns) : ns) - QUEUE_CLOCK_MARGIN_NS;
}

/* The latest time of queueing: the call had not returned, and the rest of it took a while. */
static uint64_t latest_queued_ns(const struct pending *p)
{
	uint64_t took = p->times.end > p->times.queued ? p->times.end - p->times.queued : 0;

	took -= took / 1000; /* the clocks may run apart by as much */
	return took < p->times.latest_ns ? earlier(p->after_ns, p->times.latest_ns - took)
					 : p->after_ns;
}

int placing_poll(struct queue *q, struct pending *p, uint64_t index)
{
	const struct driver *d = driver_get();
	cl_int status = CL_QUEUED;
	uint64_t asked_ns = monotonic_ns();

	if (d->clGetEventInfo(p->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
		    NULL) != CL_SUCCESS)
		return -1;
	if (status == CL_RUNNING)
		__atomic_store_n(&q->ran_ns, asked_ns, __ATOMIC_RELAXED);
	if (status > CL_RUNNING)
		p->times.idle_ns = asked_ns;
	if (status > CL_COMPLETE)
		return 0;
	if (status < 0)
		return -1;
	p->times.begin = placing_time_of(d, p->event, CL_PROFILING_COMMAND_START);
	p->times.end = placing_time_of(d, p->event, CL_PROFILING_COMMAND_END);
	if (!p->times.begin || !p->times.end)
		return -1;
	p->times.queued = placing_time_of(d, p->event, CL_PROFILING_COMMAND_QUEUED);
	p->times.submitted = placing_time_of(d, p->event, CL_PROFILING_COMMAND_SUBMIT);
	p->times.latest_ns = latest_ns(q, p, index);
	clocks_queued(q->clock, p->before_ns, p->times.queued, latest_queued_ns(p));
	return 1;
}

void placing_release(struct pending *p)
{
	driver_get()->clReleaseEvent(p->event);
	if (p->after != p->first)
		free(p->after);
}

void placing_refuse(struct queue *q)
{
	brick_queue_unsupported(q->record, 1);
}

/*
 * The begin on the host's clock: by the device's clock, but not before the call, nor so late that
 * the end lies behind the wait for it. When the correlation has got better since the command
 * before, this one may seem to begin before that one's end: it is moved behind it if the device
 * says that it began there. 0: nothing is known. *moved: by how much it was moved.
 */
static uint64_t begin_of(struct queue *q, const struct pending *p, uint64_t placed, int64_t *moved)
{
	uint64_t took = p->times.end > p->times.begin ? p->times.end - p->times.begin : 0,
		 begin = placed;

	if (begin && begin + took > p->times.latest_ns && took < p->times.latest_ns)
		begin = p->times.latest_ns - took;
	if (begin && begin < p->before_ns)
		begin = p->before_ns;
	if (begin && q->in_order && p->times.begin >= q->last_end && begin < q->last_end_ns)
		begin = q->last_end_ns;
	*moved = (int64_t)(begin - placed);
	return begin;
}

/* The same moment as much earlier as the device says, but not before the call. */
static uint64_t before_begin(
	const struct queue *q, const struct pending *p, uint64_t device_ns, int64_t moved)
{
	uint64_t unused, ns = device_ns ? clocks_host_ns(q->clock, device_ns, &unused) : 0;

	if (!ns)
		return 0;
	ns += (uint64_t)moved;
	return ns < p->before_ns ? p->before_ns : ns;
}

void placing_record(struct queue *q, const struct pending *p)
{
	uint64_t residual;
	int64_t moved;
	struct brick_command command = {
		.size = sizeof(command),
		.launch = p->launch,
		.kernel = p->kernel,
		.source = BRICK_SOURCE_DEVICE_EVENT,
		.bytes = p->bytes,
		.after_count = p->after_count,
		.after = p->after,
		.over_ns = p->times.latest_ns + QUEUE_CLOCK_MARGIN_NS,
	};
	uint64_t placed = clocks_host_ns(q->clock, p->times.begin, &residual);

	command.begin_ns = begin_of(q, p, placed, &moved);
	residual += (uint64_t)(moved < 0 ? -moved : moved);
	if (command.begin_ns) {
		command.end_ns = p->times.end >= p->times.begin
					 ? command.begin_ns + (p->times.end - p->times.begin)
					 : command.begin_ns - 1;
		/* behind one that was placed before it was known what that had ended before */
		if (command.end_ns > command.over_ns && command.begin_ns < command.over_ns) {
			residual += command.end_ns - command.over_ns;
			command.end_ns = command.over_ns;
		}
		command.queued_ns = before_begin(q, p, p->times.queued, moved);
		command.submitted_ns = before_begin(q, p, p->times.submitted, moved);
		q->last_end = p->times.end;
		q->last_end_ns = command.end_ns;
		clocks_placed(q->clock, residual);
	}
	command.residual_ns = residual < UINT32_MAX ? (uint32_t)residual : UINT32_MAX;
	if (brick_queue_record(q->record, &command) == -EINVAL)
		placing_refuse(q);
}
