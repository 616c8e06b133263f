/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that lies in no thread's stack (brick/probe.h). It is recorded when it ends, as a command of
 * one out-of-order queue, whose lane takes what overlaps and comes in any order. The handle holds
 * all that is known of it, so nothing is kept while it is open.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "base/utf8.h"
#include "brick/probe.h"
#include "brick/queue.h"
#include "lib/device/queue_clock.h"
#include "lib/probe/ring.h"
#include "lib/session/session_lanes.h"
#include "lib/sys/ticks.h"

/* A lane that reports show. They are made at their first execution, and never go. */
struct track {
	struct track *next;
	struct brick_queue *queue;
	char name[64];
};

enum { MAX_TRACKS = 64 };
static const char asynchronous[] = "Asynchronous";
static struct track *tracks;			 /* pushed at the front, by compare and swap */
static uint32_t async_kernels[BRICK_MAX_BRICKS]; /* by brick; 0: not registered yet */

static struct track *find_track(const char *name, uint32_t *count)
{
	struct track *track = __atomic_load_n(&tracks, __ATOMIC_ACQUIRE);

	for (*count = 0; track; track = track->next, ++*count)
		if (!strcmp(track->name, name))
			break;
	return track;
}

static int make_track(struct track **out, const char *name)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct track *track = calloc(1, sizeof(*track)), *found;
	uint32_t count;

	if (!track)
		return -ENOMEM;
	strcpy(track->name, name);
	options.name = track->name;
	options.backend = BRICK_HOST_BACKEND;
	options.flags = BRICK_QUEUE_OUT_OF_ORDER;
	int error = brick_queue_create(&track->queue, &options);
	track->next = __atomic_load_n(&tracks, __ATOMIC_ACQUIRE);
	do { /* another thread may have made it meanwhile */
		found = error ? track : find_track(track->name, &count);
	} while (!found && !__atomic_compare_exchange_n(&tracks, &track->next, track, false,
				   __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
	*out = found ? found : track;
	if (found) {
		brick_queue_destroy(track->queue);
		free(track);
	}
	return error;
}

/* wanted: NULL for "Asynchronous", which has its place beyond the others. */
static int async_queue_of(struct brick_queue **out, const char *wanted)
{
	char name[sizeof(tracks->name)];
	uint32_t count;
	int error = 0;

	utf8_field(name, sizeof(name), wanted && *wanted ? wanted : asynchronous);
	struct track *track = find_track(name, &count);
	if (!track && count >= MAX_TRACKS) {
		strcpy(name, asynchronous);
		track = find_track(name, &count);
	}
	if (!track)
		error = make_track(&track, name);
	if (!error)
		*out = track->queue;
	return error;
}

static uint32_t async_kernel_of(uint32_t brick)
{
	uint32_t index = __atomic_load_n(&async_kernels[brick], __ATOMIC_RELAXED);
	struct brick_kernel kernel = BRICK_KERNEL_INIT;

	if (index)
		return index;
	kernel.name = brick_name(brick);
	kernel.backend = BRICK_HOST_BACKEND;
	kernel.kind = BRICK_KERNEL_OTHER;
	index = brick_kernel_register(&kernel);
	__atomic_store_n(&async_kernels[brick], index, __ATOMIC_RELAXED);
	return index;
}

int brick__async_record(
	const struct brick_async *async, uint64_t end, uint64_t elements, const char *track)
{
	struct brick_command command = BRICK_COMMAND_INIT;
	struct brick_queue *queue;
	KEEP_ERRNO();

	int error = async_queue_of(&queue, track);
	if (error)
		return error;
	command.kernel = async_kernel_of(async->brick);
	command.source = BRICK_SOURCE_TSC;
	command.begin_ns = brick__ns_of_ticks(async->begin);
	command.end_ns = brick__ns_of_ticks(end);
	command.elements = elements;
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

static uint64_t async_end_at(
	const struct brick_async *async, uint64_t now, uint64_t elements, const char *track)
{
	if (!async || !async->session || now < async->begin ||
		brick__async_record(async, now, elements, track))
		return 0;
	return brick_clock_duration_ns(brick_clock_get(), now - async->begin);
}

uint64_t brick_async_end(const struct brick_async *async, uint64_t elements)
{
	return async_end_at(async, brick__now(), elements, NULL);
}

uint64_t brick_async_end_as(const struct brick_async *async, const char *name, uint32_t category,
	const char *track, uint64_t elements)
{
	uint64_t now = brick__now();
	struct brick_async renamed = async ? *async : (struct brick_async){0};
	int brick = renamed.session && name ? brick_register(name, category) : 0;

	if (brick < 0)
		return 0;
	if (renamed.session && name)
		renamed.brick = (uint32_t)brick;
	return async_end_at(&renamed, now, elements, track);
}

int brick_record_deferred(uint32_t brick, uint64_t begin, uint64_t elements)
{
	uint64_t now = brick__now();

	if (!brick__number_here())
		return -ENOENT;
	if (brick >= brick_count() || begin > now)
		return -EINVAL;
	struct brick_async async = begun_at(brick, begin);
	return brick__async_record(&async, now, elements, NULL);
}
