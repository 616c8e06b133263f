/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of events and streams, in which a handle has one of a few places side by side; when all
 * are taken, a new one drives out another's. A place of a call holds the last one. Captures that
 * are under way have a list of their own, so that the end of one is found whatever has become of
 * its stream's place; a capture that is not in the list is over. Programs that use no events take
 * no lock here.
 */
#include "attach/cuda/cuda_streams.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "attach/cuda/call_names.h"
#include "base/hash.h"
#include "base/scope.h"
#include "brick/export.h"

enum { MAX_EXCLUDED = 256 }; /* those beyond are told twice */

/* Streams that the program times itself. */

static pthread_mutex_t excluded_lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_handle excluded[MAX_EXCLUDED],
	excluded_contexts[MAX_EXCLUDED]; /* excluded: atomic; NULL: free */
static void *excluded_owners[MAX_EXCLUDED];
static uint32_t excluded_count; /* atomic: so far it has been used */

static int excluded_place(cuda_handle stream)
{
	uint32_t there = __atomic_load_n(&excluded_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < there; i++)
		if (__atomic_load_n(&excluded[i], __ATOMIC_RELAXED) == stream)
			return (int)i;
	return -1;
}

int excluded_has(cuda_handle stream)
{
	return excluded_place(stream) >= 0;
}

/* The place of this stream, or a free one; negative: there is none. Under the excluded_lock. */
static int excluded_take_place(cuda_handle stream)
{
	int place = excluded_place(stream);

	if (place < 0)
		place = excluded_place(NULL);
	return place < 0 && excluded_count < MAX_EXCLUDED ? (int)excluded_count : place;
}

static void exclude_no_more(uint32_t place)
{
	excluded_contexts[place] = NULL;
	excluded_owners[place] = NULL;
	__atomic_store_n(&excluded[place], NULL, __ATOMIC_RELAXED);
}

/* For the backend inside of the program (src/lib/device/backend_call.h), on the thread that
 * launches. */
BRICK_API void brick_cuda_exclude(void *context, void *stream, void *owner);
void brick_cuda_exclude(void *context, void *stream, void *owner)
{
	cuda_handle handle = call_handle(stream, 0);

	handle = handle ? handle : context;
	HOLD(&excluded_lock);
	int place = excluded_take_place(handle);
	if (place >= 0) {
		excluded_contexts[place] = context;
		excluded_owners[place] = owner;
		__atomic_store_n(&excluded[place], handle, __ATOMIC_RELAXED);
		if ((uint32_t)place == excluded_count)
			__atomic_store_n(&excluded_count, excluded_count + 1, __ATOMIC_RELEASE);
	}
}

/* The owner times nothing any more. */
BRICK_API void brick_cuda_include(void *owner);
void brick_cuda_include(void *owner)
{
	HOLD(&excluded_lock);
	for (uint32_t i = 0; i < excluded_count; i++)
		if (excluded[i] && excluded_owners[i] == owner)
			exclude_no_more(i);
}

void excluded_forget(cuda_handle gone)
{
	HOLD(&excluded_lock);
	for (uint32_t i = 0; gone && i < excluded_count; i++)
		if (excluded[i] == gone || excluded_contexts[i] == gone)
			exclude_no_more(i);
}

/* Commands that other commands wait for. */

enum { EVENTS = 1 << 13, STREAMS = 1 << 9, CALLS = 1 << 14, CAPTURES = 64, PLACES_OF_ONE = 8 };

struct after {
	uint32_t count;
	uint64_t numbers[MAX_EVENTS_AFTER];
};

struct event {
	cuda_handle handle, context;
	uint32_t capture; /* the capture that it was recorded in; 0: none */
	struct after after;
};

struct stream {
	cuda_handle handle, context;
	uint32_t capture; /* the capture that it is, or was, part of */
	struct after after;
};

struct capture {
	cuda_handle origin, context; /* the stream that it was begun in */
	uint32_t id;
};

struct call {
	uint32_t correlation;
	struct after after;
};

static pthread_mutex_t cuda_streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct event cuda_streams_events[EVENTS];
static struct stream cuda_streams[STREAMS];
static struct call cuda_streams_calls[CALLS];
static struct capture captures[CAPTURES]; /* captures that are under way, the oldest first */
static uint32_t capture_count, last_capture;
static uint32_t cuda_streams_is_used; /* atomic: something has been waited for */

static uint32_t cuda_streams_place(cuda_handle handle, uint32_t next, uint32_t count)
{
	return ((uint32_t)hash_pointer(handle) + next) & (count - 1);
}

/* Among the places of `handle` the one that has `wanted`; NULL: none. */
#define FIND(table, count, handle, wanted)                                                     \
	__extension__({                                                                        \
		__typeof__(&(table)[0]) found_ = NULL;                                         \
		for (uint32_t i_ = 0; i_ < PLACES_OF_ONE && !found_; i_++)                     \
			if ((table)[cuda_streams_place(handle, i_, count)].handle == (wanted)) \
				found_ = &(table)[cuda_streams_place(handle, i_, count)];      \
		found_;                                                                        \
	})

/* NULL: it is not known. */
static struct event *find_event(cuda_handle handle)
{
	return FIND(cuda_streams_events, EVENTS, handle, handle);
}

static struct stream *find_stream(cuda_handle handle)
{
	return FIND(cuda_streams, STREAMS, handle, handle);
}

/* Returns the event's place, a free one, or another's. */
static struct event *event_place(cuda_handle handle)
{
	struct event *free = FIND(cuda_streams_events, EVENTS, handle, NULL);

	return find_event(handle) ?: free ?: &cuda_streams_events[cuda_streams_place(handle, 0, EVENTS)];
}

static struct stream *cuda_streams_of(cuda_handle context, cuda_handle handle)
{
	struct stream *free = FIND(cuda_streams, STREAMS, handle, NULL);
	struct stream *stream = find_stream(handle) ?: free ?: &cuda_streams[cuda_streams_place(handle, 0, STREAMS)];

	if (stream->handle != handle)
		*stream = (struct stream){.handle = handle, .context = context};
	return stream;
}

/* A command that is there already is added once; when it is full the oldest makes room. */
static void cuda_streams_add(struct after *after, uint64_t number)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < after->count; i++) {
		if (after->numbers[i] == number)
			return;
		if (after->numbers[i] < after->numbers[oldest])
			oldest = i;
	}
	if (after->count < MAX_EVENTS_AFTER)
		after->numbers[after->count++] = number;
	else if (after->numbers[oldest] < number)
		after->numbers[oldest] = number;
}

static void cuda_streams_add_all(struct after *after, const struct after *more)
{
	for (uint32_t i = 0; i < more->count; i++)
		cuda_streams_add(after, more->numbers[i]);
}

/* Captures. */

static bool is_under_way(uint32_t capture)
{
	for (uint32_t i = 0; i < capture_count; i++)
		if (captures[i].id == capture)
			return true;
	return false;
}

/* The capture that a stream is part of now; 0: none. */
static uint32_t capture_of(cuda_handle handle)
{
	const struct stream *stream = find_stream(handle);

	for (uint32_t i = 0; i < capture_count; i++)
		if (captures[i].origin == handle)
			return captures[i].id;
	return stream && is_under_way(stream->capture) ? stream->capture : 0;
}

static void end_capture(uint32_t index)
{
	capture_count--;
	memmove(&captures[index], &captures[index + 1],
		(capture_count - index) * sizeof(*captures));
}

static void end_capture_of(cuda_handle origin)
{
	for (uint32_t i = capture_count; i-- > 0;)
		if (captures[i].origin == origin)
			end_capture(i);
}

void events_capture(cuda_handle context, cuda_handle stream)
{
	HOLD(&cuda_streams_lock);
	end_capture_of(stream);
	if (capture_count == CAPTURES)
		end_capture(0);
	captures[capture_count++] = (struct capture){stream, context, ++last_capture};
}

void events_capture_end(cuda_handle stream)
{
	HOLD(&cuda_streams_lock);
	end_capture_of(stream);
}

/* Events. */

void events_recorded(cuda_handle context, cuda_handle handle, cuda_handle in, uint64_t last)
{
	HOLD(&cuda_streams_lock);
	const struct stream *stream = find_stream(in);
	struct event *event = event_place(handle);
	*event = (struct event){.handle = handle, .context = context, .capture = capture_of(in)};
	if (!event->capture) {
		if (stream)
			event->after = stream->after;
		if (last)
			cuda_streams_add(&event->after, last);
	}
}

void events_waited(cuda_handle context, cuda_handle waiting, cuda_handle handle)
{
	HOLD(&cuda_streams_lock);
	const struct event *event = find_event(handle);
	struct stream *stream = event ? cuda_streams_of(context, waiting) : NULL;
	if (event && is_under_way(event->capture))
		stream->capture = event->capture;
	else if (event && !capture_of(waiting))
		cuda_streams_add_all(&stream->after, &event->after);
	__atomic_store_n(&cuda_streams_is_used, 1, __ATOMIC_RELAXED);
}

uint64_t events_number(cuda_handle handle)
{
	uint64_t newest = 0;

	HOLD(&cuda_streams_lock);
	const struct event *event = find_event(handle);
	for (uint32_t i = 0; event && i < event->after.count; i++)
		newest = event->after.numbers[i] > newest ? event->after.numbers[i] : newest;
	return newest;
}

void events_forget(cuda_handle handle)
{
	HOLD(&cuda_streams_lock);
	struct event *event = find_event(handle);
	if (event)
		event->handle = NULL;
}

void events_forget_stream(cuda_handle handle)
{
	HOLD(&cuda_streams_lock);
	struct stream *stream = find_stream(handle);
	if (stream)
		*stream = (struct stream){.handle = NULL};
	end_capture_of(handle);
}

void events_forget_context(cuda_handle context)
{
	HOLD(&cuda_streams_lock);
	for (uint32_t i = 0; i < EVENTS; i++)
		if (cuda_streams_events[i].context == context)
			cuda_streams_events[i] = (struct event){.handle = NULL};
	for (uint32_t i = 0; i < STREAMS; i++)
		if (cuda_streams[i].context == context)
			cuda_streams[i] = (struct stream){.handle = NULL};
	for (uint32_t i = capture_count; i-- > 0;)
		if (captures[i].context == context)
			end_capture(i);
}

/* Calls that launch. */

void events_launched(cuda_handle handle, uint32_t correlation)
{
	struct call *call = &cuda_streams_calls[correlation % CALLS];

	if (!__atomic_load_n(&cuda_streams_is_used, __ATOMIC_RELAXED))
		return;
	HOLD(&cuda_streams_lock);
	struct stream *stream = find_stream(handle);
	if (stream && stream->after.count) {
		*call = (struct call){correlation, stream->after};
		stream->after.count = 0;
	}
}

uint32_t events_after(uint32_t correlation, uint64_t numbers[MAX_EVENTS_AFTER])
{
	const struct call *call = &cuda_streams_calls[correlation % CALLS];
	uint32_t count = 0;

	if (!__atomic_load_n(&cuda_streams_is_used, __ATOMIC_RELAXED))
		return 0;
	HOLD(&cuda_streams_lock);
	if (call->correlation == correlation && correlation) {
		count = call->after.count;
		memcpy(numbers, call->after.numbers, count * sizeof(*numbers));
	}
	return count;
}
