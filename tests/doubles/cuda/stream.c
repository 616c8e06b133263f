/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's double: streams, their simulated device, and events (double.h). A command begins
 * when it has reached the device and the stream is idle.
 */
#include "tests/doubles/cuda/double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Handles 1 and 2 are the default stream, too: the old one, and that of a thread. */
enum { PER_THREAD = 2 };
enum { LAUNCH_LATENCY_NS = 4000, GAP_NS = 500 };

static uint32_t next_stream = 13;
static FILE *truth;

struct stream *double_stream(void *handle)
{
	struct context *context = double_current();

	if ((uintptr_t)handle > PER_THREAD)
		return handle;
	return context ? context->null_stream : NULL;
}

static uint64_t duration_of(const struct op *op)
{
	uint64_t blocks = (uint64_t)op->grid[0] * op->grid[1] * op->grid[2];

	if (op->kind == OP_KERNEL && !op->function->executes)
		return 2000 + 10 * (blocks < 1000 ? blocks : 1000);
	if (op->kind == OP_KERNEL)
		return 3000 + 1000 * blocks;
	return (op->kind == OP_FILL ? 20000 : 1500) + op->bytes / 16;
}

/* Under the lock. */
static uint64_t varied(uint64_t ns)
{
	static uint64_t random;
	uint64_t most = ns * (uint64_t)double_options()->vary / 100;

	random += random ? 0 : 0x9e3779b97f4a7c15ull * (uint64_t)(double_options()->cost_seed + 1);
	random = random * 6364136223846793005ull + 1442695040888963407ull;
	return most ? ns - most + (random >> 33) % (2 * most + 1) : ns;
}

static void take_effect(const struct op *op)
{
	if (op->kind == OP_KERNEL)
		double_kernel(op);
	else if (op->kind == OP_COPY)
		memcpy(op->to, op->from, op->bytes);
	else
		for (size_t i = 0; i < op->bytes / 4; i++)
			((uint32_t *)op->to)[i] = op->fill;
}

static void note(const struct command *c)
{
	static const char *const copies[] = {
		[CUPTI_COPY_HTOD] = "h2d", [CUPTI_COPY_DTOH] = "d2h", [8] = "d2d"};
	const char *path = getenv("FAKE_CUDA_LOG");

	if (!truth && path)
		truth = fopen(path, "we");
	if (!truth)
		return;
	const char *name = c->op->kind == OP_KERNEL ? c->op->function->name
			   : c->op->kind == OP_COPY ? copies[c->op->copy]
						    : "fill";
	fprintf(truth, "%s %u %u %llu %llu %llu %llu\n", name, c->stream, c->correlation,
		(unsigned long long)c->begin, (unsigned long long)c->end,
		(unsigned long long)c->op->bytes, (unsigned long long)c->node);
	fflush(truth);
}

void double_wait_stream(const struct stream *stream)
{
	pthread_mutex_lock(&double_lock);
	uint64_t until = stream->busy_until, without = stream->busy_without;
	pthread_mutex_unlock(&double_lock);
	double_cost_waited(double_now(), until, without);
	double_wait_until(until);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * The device has all nodes of a replay when its first one begins: between them only CUPTI's costs
 * keep it waiting, however long the launching thread has no CPU.
 */
static __thread struct {
	uint64_t begin, saved;
} replay;

void double_replay(int begins)
{
	replay.begin = begins && !double_cost_is_tool() ? double_now() : 0;
	replay.saved = double_cost_saved_ns();
}

static uint64_t launched_at(void)
{
	return replay.begin ? replay.begin + double_cost_saved_ns() - replay.saved : double_now();
}

void double_run(struct stream *stream, const struct op *op, uint32_t correlation, uint64_t node)
{
	pthread_mutex_lock(&double_lock);
	uint64_t now = launched_at(), pause = 0;
	if (op->kind != OP_EVENT && double_tools.traces &&
		double_tools.traces(op->kind, node, correlation))
		pause = (uint64_t)double_options()->cost_device;
	uint64_t begin = later(stream->busy_until + GAP_NS, now + LAUNCH_LATENCY_NS) + pause;
	uint64_t without =
		later(stream->busy_without + GAP_NS, double_cost_without(now) + LAUNCH_LATENCY_NS);
	if (op->kind == OP_EVENT) {
		op->event->at = begin;
		op->event->at_without = without;
		pthread_mutex_unlock(&double_lock);
		return;
	}
	uint64_t duration = varied(duration_of(op));
	__atomic_store_n(&stream->busy_until, begin + duration, __ATOMIC_RELAXED);
	stream->busy_without = without + duration;
	struct command command = {op, begin, stream->busy_until, stream->context->id, stream->id,
		correlation, node, stream->context->device};
	take_effect(op);
	note(&command);
	pthread_mutex_unlock(&double_lock);
	if (double_tools.command)
		double_tools.command(&command);
}

DOUBLE_API int cuStreamCreate(struct stream **out, unsigned flags)
{
	if (!double_current())
		return NO_CONTEXT;
	*out = calloc(1, sizeof **out);
	(*out)->context = double_current();
	(*out)->is_apart = (flags & 1) != 0;
	(*out)->id = __atomic_fetch_add(&next_stream, 1, __ATOMIC_RELAXED);
	return FINE;
}

DOUBLE_API int cuStreamDestroy_v2(struct stream *stream)
{
	const struct cuda_stream_call parameters = {stream};
	struct entry e = {.id = 326, .name = "cuStreamDestroy_v2", .parameters = &parameters};

	double_enter(&e);
	free(stream);
	return double_leave(&e, FINE);
}

DOUBLE_API int cuStreamSynchronize(struct stream *handle)
{
	const struct cuda_stream_call parameters = {handle};
	struct entry e = {.id = 126, .name = "cuStreamSynchronize", .parameters = &parameters};
	struct stream *stream = double_stream(handle);

	if (!stream)
		return NO_CONTEXT;
	double_enter(&e);
	int error = double_disturbs(stream);
	if (error)
		return double_leave(&e, error);
	double_wait_stream(stream);
	return double_leave(&e, FINE);
}

/* Only what the null stream did is waited for here: streams of the test wait for themselves. */
DOUBLE_API int cuCtxSynchronize(void)
{
	struct entry e = {.id = 17, .name = "cuCtxSynchronize"};
	struct stream *stream = double_stream(NULL);

	if (!stream)
		return NO_CONTEXT;
	double_enter(&e);
	int error = double_disturbs(NULL);
	if (error)
		return double_leave(&e, error);
	double_wait_stream(stream);
	return double_leave(&e, FINE);
}

/* ---- events ---- */

static int event_balance;

DOUBLE_API int double_events_alive(void)
{
	return event_balance;
}

DOUBLE_API int cuEventCreate(struct event **out, unsigned flags)
{
	if (!double_current())
		return NO_CONTEXT;
	*out = calloc(1, sizeof **out);
	__atomic_add_fetch(&event_balance, 1, __ATOMIC_RELAXED);
	return FINE;
}

DOUBLE_API int cuEventDestroy_v2(struct event *event)
{
	const struct cuda_event_call parameters = {event};
	struct entry e = {.id = 325, .name = "cuEventDestroy_v2", .parameters = &parameters};

	double_enter(&e);
	__atomic_sub_fetch(&event_balance, 1, __ATOMIC_RELAXED);
	free(event);
	return double_leave(&e, FINE);
}

static int record(struct event *event, struct stream *stream, unsigned flags)
{
	struct op op = {.kind = OP_EVENT, .event = event};

	int error = double_capture_error(stream);

	if (error)
		return error;
	if (flags && !stream->capture)
		return INVALID_VALUE; /* "external" is for captures only */
	event->capture = stream->capture;
	if (stream->capture && flags)
		double_capture(stream, &op);
	else if (stream->capture)
		event->at = 0; /* a dependency only: no time is taken */
	else
		double_run(stream, &op, 0, 0);
	return FINE;
}

static int record_as(struct entry *e, struct event *event, struct stream *handle, unsigned flags)
{
	const struct cuda_event_record parameters = {event, handle};
	struct stream *stream = double_stream(handle);

	if (!stream)
		return NO_CONTEXT;
	e->parameters = &parameters;
	double_enter(e);
	return double_leave(e, record(event, stream, flags));
}

DOUBLE_API int cuEventRecordWithFlags(struct event *event, struct stream *handle, unsigned flags)
{
	struct entry e = {.id = 587, .name = "cuEventRecordWithFlags"};
	return record_as(&e, event, handle, flags);
}

DOUBLE_API int cuEventRecord(struct event *event, struct stream *handle)
{
	struct entry e = {.id = 119, .name = "cuEventRecord"};
	return record_as(&e, event, handle, 0);
}

DOUBLE_API int cuStreamWaitEvent(struct stream *handle, struct event *event, unsigned flags)
{
	const struct cuda_stream_wait parameters = {handle, event};
	struct entry e = {.id = 295, .name = "cuStreamWaitEvent", .parameters = &parameters};
	struct stream *stream = double_stream(handle);

	if (!stream || flags > 1)
		return stream ? INVALID_VALUE : NO_CONTEXT;
	double_enter(&e);
	if (event->capture)
		double_join(stream, event->capture);
	pthread_mutex_lock(&double_lock);
	if (!stream->capture && event->at > stream->busy_until)
		__atomic_store_n(&stream->busy_until, event->at, __ATOMIC_RELAXED);
	if (!stream->capture && event->at && event->at_without > stream->busy_without)
		stream->busy_without = event->at_without;
	pthread_mutex_unlock(&double_lock);
	return double_leave(&e, FINE);
}

DOUBLE_API int cuEventQuery(struct event *event)
{
	if (!event->at)
		return INVALID_HANDLE;
	return event->at <= double_now() ? FINE : NOT_READY;
}

DOUBLE_API int cuEventSynchronize(struct event *event)
{
	const struct cuda_event_call parameters = {event};
	struct entry e = {.id = 121, .name = "cuEventSynchronize", .parameters = &parameters};

	double_enter(&e);
	if (event->at) {
		double_cost_waited(double_now(), event->at, event->at_without);
		double_wait_until(event->at);
	}
	return double_leave(&e, FINE);
}

/* Whole half microseconds, as a float in ms: what the real one resolves. */
DOUBLE_API int cuEventElapsedTime(float *ms, struct event *from, struct event *to)
{
	if (double_options()->failread)
		return UNKNOWN;
	if (!from->at || !to->at)
		return INVALID_HANDLE;
	if (from->at > double_now() || to->at > double_now())
		return NOT_READY;
	int64_t a = (int64_t)(double_device_ns(from->at) / 500);
	int64_t b = (int64_t)(double_device_ns(to->at) / 500);
	*ms = (float)((double)(b - a) * 0.0005);
	return FINE;
}
