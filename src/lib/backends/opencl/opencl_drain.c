/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs whose events are over become completions (opencl.h). The driver is called under the
 * device's lock only to look at events; they are released without it.
 */
#include "lib/backends/opencl/opencl_backend.h"
#include "base/scope.h"
#include "brick/error.h"

static uint64_t time_of(
	const struct brick_backend_device *d, cl_event event, cl_profiling_info which)
{
	cl_ulong ns = 0;

	if (d->cl->clGetEventProfilingInfo(event, which, sizeof ns, &ns, NULL) != CL_SUCCESS)
		return 0;
	return ns;
}

/* 1: done, 0: not yet, negative: failed. */
static int state_of(const struct brick_backend_device *d, cl_event event)
{
	cl_int status = CL_QUEUED;

	if (d->cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
		    NULL) != CL_SUCCESS ||
		status < 0)
		return BRICK_EDEVICE;
	return status == CL_COMPLETE;
}

/* Is it over? Then its times, or its error, are filled in. */
static int look_at(
	struct brick_backend_device *d, const struct opencl_pair *pair, struct brick_completion *c)
{
	int first = pair->first ? state_of(d, pair->first) : BRICK_ENOTRECORDED;
	int last = pair->last == pair->first ? first
		   : pair->last		     ? state_of(d, pair->last)
					     : BRICK_ENOTRECORDED;

	*c = (struct brick_completion){.ticket = pair->ticket};
	if (first >= 0 && last >= 0 && !(first && last))
		return 0;
	c->error = first < 0 ? first : last < 0 ? last : 0;
	if (c->error)
		return 1;
	c->begin_ns = time_of(d, pair->first,
		d->by_events ? CL_PROFILING_COMMAND_START : CL_PROFILING_COMMAND_END);
	c->end_ns = time_of(d, pair->last, CL_PROFILING_COMMAND_END);
	c->queued_ns = time_of(d, pair->first, CL_PROFILING_COMMAND_QUEUED);
	c->submitted_ns = time_of(d, pair->first, CL_PROFILING_COMMAND_SUBMIT);
	if (!c->begin_ns || !c->end_ns)
		c->error = BRICK_EDEVICE;
	opencl_collect(d, &(struct brick_reading){pair->before_ns, c->queued_ns, pair->after_ns});
	return 1;
}

void opencl_release_pair(const struct brick_backend_device *d, const struct opencl_pair *pair)
{
	if (pair->first)
		d->cl->clReleaseEvent(pair->first);
	if (pair->last && pair->last != pair->first)
		d->cl->clReleaseEvent(pair->last);
}

/* Under the lock: the first pair that is over, out of the list and free. */
static int take_done(struct brick_backend_device *d, struct opencl_pair *copy,
	struct brick_completion *completion)
{
	cl_command_queue blocked = NULL;

	for (struct opencl_pair **at = &d->waiting; *at; at = &(*at)->next) {
		struct opencl_pair *pair = *at;
		if (pair->queue == blocked)
			continue; /* behind one that is not done */
		if (!look_at(d, pair, completion)) {
			blocked = pair->queue;
			continue;
		}
		*copy = *pair;
		*at = pair->next;
		if (!*at)
			d->waiting_end = at;
		pair->next = d->free;
		d->free = pair;
		return 1;
	}
	return 0;
}

int opencl_drain(struct brick_backend_device *d)
{
	struct opencl_pair pair;
	struct brick_completion completion;
	int count = 0, done;

	do {
		pthread_mutex_lock(&d->lock);
		done = take_done(d, &pair, &completion);
		pthread_mutex_unlock(&d->lock);
		if (done) {
			opencl_release_pair(d, &pair);
			d->host.complete(d->host.context, &completion);
			count++;
		}
	} while (done);
	return count;
}

/*
 * The last event of what waits that is not there yet; NULL: all are. It is ours until drain(), even
 * where its queue is not there any more.
 */
static cl_event last_missing(struct brick_backend_device *d)
{
	cl_event missing = NULL;

	HOLD(&d->lock);
	for (const struct opencl_pair *pair = d->waiting; pair; pair = pair->next) {
		if (pair->first && !state_of(d, pair->first))
			missing = pair->first;
		if (pair->last && !state_of(d, pair->last))
			missing = pair->last;
	}
	return missing;
}

/* Commands that failed are told by drain(). */
int opencl_synchronise(struct brick_backend_device *d, void *queue)
{
	cl_event event;

	if (queue)
		return d->cl->clFinish(queue) == CL_SUCCESS ? 0 : BRICK_EDEVICE;
	while ((event = last_missing(d))) {
		cl_int status = d->cl->clWaitForEvents(1, &event);
		if (status != CL_SUCCESS && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
			return BRICK_EDEVICE;
	}
	return 0;
}
