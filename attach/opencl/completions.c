/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From events to records (completions.h). What is done of an in-order queue is done in the order of
 * the ring; the ring's lock is held for copying only, and no lock but `taking` while the driver is
 * called.
 */
#include "attach/opencl/completions.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "attach/opencl/clocks.h"
#include "attach/opencl/driver.h"
#include "attach/opencl/notes.h"

enum {
	BATCH = 32,
	NAP_NS = 100000,
	MAX_NAPS = 200, /* without a free place */
};

static uint64_t time_of(const struct driver *d, cl_event event, cl_profiling_info which)
{
	cl_ulong ns = 0;

	if (d->clGetEventProfilingInfo(event, which, sizeof ns, &ns, NULL) != CL_SUCCESS)
		return 0;
	return ns;
}

/* When it was queued at the latest, on the host's clock. */
static uint64_t latest_queued_ns(const struct pending *p)
{
	uint64_t took = p->end > p->queued ? p->end - p->queued : 0;

	if (!p->is_blocking || took >= p->after_ns - p->before_ns)
		return p->after_ns;
	return p->after_ns - took; /* its end, too, lay before the return */
}

int completion_poll(struct queue *q, struct pending *p)
{
	const struct driver *d = driver_get();
	cl_int status = CL_QUEUED;

	if (d->clGetEventInfo(p->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
		    NULL) != CL_SUCCESS)
		return -1;
	if (status > CL_COMPLETE)
		return 0;
	if (status < 0)
		return -1;
	p->begin = time_of(d, p->event, CL_PROFILING_COMMAND_START);
	p->end = time_of(d, p->event, CL_PROFILING_COMMAND_END);
	if (!p->begin || !p->end)
		return -1;
	p->queued = time_of(d, p->event, CL_PROFILING_COMMAND_QUEUED);
	p->submitted = time_of(d, p->event, CL_PROFILING_COMMAND_SUBMIT);
	clocks_queued(q->clock, p->before_ns, p->queued, latest_queued_ns(p));
	return 1;
}

void completion_release(struct pending *p)
{
	driver_get()->clReleaseEvent(p->event);
	if (p->after != p->first)
		free(p->after);
}

void completion_refuse(struct queue *q)
{
	brick_queue_unsupported(q->record, 1);
}

/*
 * On the host's clock, with the length that the device tells. When the correlation has got better
 * since the command before, this one may seem to begin before that one's end: it is moved behind
 * it if the device says that it began there.
 */
static void place(
	struct queue *q, const struct pending *p, struct brick_command *command, uint64_t *residual)
{
	uint64_t begin = clocks_host_ns(q->clock, p->begin, residual);

	if (!begin)
		return;
	if (q->in_order && p->begin >= q->last_end && begin < q->last_end_ns) {
		*residual += q->last_end_ns - begin;
		begin = q->last_end_ns;
	}
	command->begin_ns = begin;
	command->end_ns = p->end >= p->begin ? begin + (p->end - p->begin) : begin - 1;
	q->last_end = p->end;
	q->last_end_ns = command->end_ns;
}

void completion_record(struct queue *q, const struct pending *p)
{
	uint64_t residual, unused;
	struct brick_command command = {
		.size = sizeof command,
		.launch = p->launch,
		.kernel = p->kernel,
		.source = BRICK_SOURCE_DEVICE_EVENT,
		.bytes = p->bytes,
		.after_count = p->after_count,
		.after = p->after,
	};

	place(q, p, &command, &residual);
	if (p->queued)
		command.queued_ns = clocks_host_ns(q->clock, p->queued, &unused);
	if (p->submitted)
		command.submitted_ns = clocks_host_ns(q->clock, p->submitted, &unused);
	command.residual_ns = residual < UINT32_MAX ? (uint32_t)residual : UINT32_MAX;
	if (brick_queue_record(q->record, &command) == -EINVAL)
		completion_refuse(q);
}

/* Copy the oldest ones. */
static uint32_t copy_batch(struct queue *q, struct pending *batch)
{
	pthread_mutex_lock(&q->lock);
	uint64_t waiting = q->head - q->tail;
	uint32_t n = waiting < BATCH ? (uint32_t)waiting : BATCH;
	for (uint32_t i = 0; i < n; i++) {
		const struct pending *p = queue_at(q, q->tail + i);
		batch[i] = *p;
		if (p->after == p->first)
			batch[i].after = batch[i].first;
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

static uint32_t take_batch(struct queue *q, struct pending *batch, uint32_t n)
{
	int states[BATCH];
	uint32_t done = 0;

	while (done < n && (states[done] = completion_poll(q, &batch[done])) != 0)
		done++;
	clocks_flush(q->clock);
	for (uint32_t i = 0; i < done; i++) {
		if (states[i] > 0)
			completion_record(q, &batch[i]);
		else
			completion_refuse(q);
		completion_release(&batch[i]);
	}
	pthread_mutex_lock(&q->lock);
	__atomic_store_n(&q->tail, q->tail + done, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&q->lock);
	return done;
}

static uint32_t take_ordered(struct queue *q)
{
	struct pending batch[BATCH];
	uint32_t total = 0, n, done;

	do {
		n = copy_batch(q, batch);
		done = take_batch(q, batch, n);
		total += done;
	} while (n && done == n);
	return total;
}

uint32_t completions_take(struct queue *q)
{
	return q->in_order ? take_ordered(q) : completions_take_unordered(q);
}

static void nap(void)
{
	struct timespec t = {0, NAP_NS};

	nanosleep(&t, NULL);
}

/* Whoever records is at it now, or we are: look whether that makes room. */
static int has_place(struct queue *q)
{
	if (queue_pending(q) >= QUEUE_MAX_PENDING && !pthread_mutex_trylock(&q->taking)) {
		completions_take(q);
		pthread_mutex_unlock(&q->taking);
	}
	return queue_pending(q) < QUEUE_MAX_PENDING;
}

/*
 * The program is far ahead of the device. Holding it back a little costs nothing as long as the
 * device moves; when it does not move, it may be waiting for what the program does next.
 */
int completions_make_room(struct queue *q)
{
	int saved = errno;
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
	int has_freed = has_place(q), is_stuck = q->stuck_tail == tail + 1;

	if (!has_freed && !is_stuck)
		driver_get()->clFlush(q->handle);
	for (int i = 0; !has_freed && !is_stuck && i < MAX_NAPS; i++) {
		nap();
		has_freed = has_place(q);
	}
	q->stuck_tail = has_freed ? 0 : tail + 1;
	if (!has_freed)
		notes_fault("too many commands of a queue waited: further ones were dropped");
	errno = saved;
	return has_freed;
}
