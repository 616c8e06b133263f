/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-nccl.so: NCCL loads it as its profiler, as `brick record` sets NCCL_PROFILER_PLUGIN, and
 * takes the newest of its tables that it knows. Nothing is asked for, and so nothing costs
 * anything, where no session records.
 */
#include <pthread.h>
#include <stdio.h>
#include "attach/common/notes_once.h"
#include "attach/nccl/nccl_abi.h"
#include "attach/nccl/nccl_operations.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/brick.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void **context, int *mask, const char *name, int nodes, int ranks, int rank)
{
	KEEP_ERRNO();

	*context = &once; /* NCCL wants one */
	*mask = 0;
	if (!brick_enabled() || brick_thread_ready())
		return;
	*mask = NCCL_COLLECTIVE | NCCL_POINT_TO_POINT | NCCL_CHANNEL;
	pthread_once(&once, operations_tell_at_exit);
	note_once("attach", "NCCL's profiler");
	note_once("nccl.communicator", "%s%srank %d of %d, on %d nodes", name ? name : "",
		name && *name ? ": " : "", rank, ranks, nodes);
}

static int init_4(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks,
	int rank, void *log)
{
	begin(context, mask, name, nodes, ranks, rank);
	return 0;
}

static int init_5(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks,
	int rank, void *log)
{
	begin(context, mask, name, nodes, ranks, rank);
	return 0;
}

static uint64_t start_of(const struct nccl_description *d, uint64_t type)
{
	switch (type) {
	case NCCL_COLLECTIVE:
		return operations_start(&(struct nccl_operation){.function = d->collective.function,
			.algorithm = d->collective.algorithm,
			.protocol = d->collective.protocol,
			.type = d->collective.type,
			.count = d->collective.count,
			.channels = d->collective.channels});
	case NCCL_POINT_TO_POINT:
		return operations_start(&(struct nccl_operation){.function = d->message.function,
			.type = d->message.type,
			.count = d->message.count,
			.channels = d->message.channels});
	case NCCL_CHANNEL:
		return operations_channel(
			(uintptr_t)d->parent, d->channel.number, d->channel.begin);
	default:
		return 0;
	}
}

static int start_4(void *context, void **handle, struct nccl_description *d)
{
	*handle = (void *)(uintptr_t)start_of(d, d->type_v4);
	return 0;
}

static int start_5(void *context, void **handle, struct nccl_description *d)
{
	*handle = (void *)(uintptr_t)start_of(d, d->type);
	return 0;
}

/* An operation that stops has only been handed over. */
static int stop(void *handle)
{
	return 0;
}

static int record(void *handle, int state, struct nccl_state *change)
{
	if (handle && change && state == NCCL_CHANNEL_STOPS)
		operations_channel_ends((uintptr_t)handle, change->end);
	return 0;
}

static int finalize(void *context)
{
	return 0;
}

BRICK_API extern const struct nccl_profiler_4 ncclProfiler_v4;
BRICK_API extern const struct nccl_profiler_5 ncclProfiler_v5, ncclProfiler_v6;

const struct nccl_profiler_4 ncclProfiler_v4 = {"Brick", init_4, start_4, stop, record, finalize};
const struct nccl_profiler_5 ncclProfiler_v5 = {"Brick", init_5, start_5, stop, record, finalize};
const struct nccl_profiler_5 ncclProfiler_v6 = {"Brick", init_5, start_5, stop, record, finalize};

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes, "collectives of NCCL 2.27.3 and newer are recorded, by its profiler");
	return 0;
}
