/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timed graphs (include/brick/cuda.h): a backend's device of its own, the bricks that were
 * captured, and a slot for each brick of each replay in flight. Replays come back whole, so what a
 * drain brings is sorted by begin and recorded.
 */
#include "brick/cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/scope.h"
#include "lib/backends/backend_load.h"
#include "lib/backends/cuda/cuda_graph.h"
#include "base/clock_ns.h"
#include "base/order.h"
#include "brick/error.h"
#include "brick/queue.h"
#include "lib/device/backend_call.h"

enum { DEFAULT_EVENTS = 4096, MAX_EVENTS = 1 << 20, MAX_QUEUES = 16, READINGS = 4 };
enum { CORRELATE_NS = 50000000 };

/* A brick of the graph. */
struct item {
	uint16_t brick;
	int16_t layer;
	uint64_t elements, bytes, flops;
};

/* A brick of one replay in flight. Its ticket is its index + 1. */
struct slot {
	uint32_t next; /* of a free slot: index + 1 of the next free one; 0: none */
	uint32_t item; /* index in items */
	struct brick_queue *queue;
	struct brick_launch launch;
};

/* A brick whose times have come back. */
struct done {
	uint64_t begin_ns, end_ns; /* on the device's clock */
	uint32_t slot;
	int error; /* 0; else it has no times */
};

struct brick_cuda_graph {
	struct brick_backend_device *device;
	struct cuda_graph *graph; /* NULL: not launched yet */
	struct item *items;	  /* [events] */
	struct slot *slots;	  /* [events] */
	struct done *done;	  /* [events] */
	uint64_t *tickets;	  /* [events] */
	uint32_t events, item_count, free, done_count;
	uint32_t open[BRICK_MAX_DEPTH], depth;
	struct {
		void *stream;
		struct brick_queue *queue;
	} queues[MAX_QUEUES];
	uint32_t queue_count;
	uint64_t correlated_ns;
	struct brick_correlation correlation;
};

/* What comes back. */

static void timed_graph_complete(void *context, const struct brick_completion *completion)
{
	struct brick_cuda_graph *g = context;

	if (g->done_count < g->events)
		g->done[g->done_count++] = (struct done){completion->begin_ns, completion->end_ns,
			(uint32_t)completion->ticket - 1, completion->error};
}

COMPARATOR(timed_graph_compare, struct done,
	ORDER(x->begin_ns, y->begin_ns) ?: ORDER(y->end_ns, x->end_ns))

static int timed_graph_record(struct brick_cuda_graph *g, const struct done *done)
{
	const struct slot *slot = &g->slots[done->slot];
	const struct item *item = &g->items[slot->item];
	struct brick_command command = {
		.size = sizeof(command),
		.launch = slot->launch,
		.source = BRICK_SOURCE_DEVICE_EVENT,
		.begin_ns = brick_correlation_host_ns(&g->correlation, done->begin_ns),
		.end_ns = brick_correlation_host_ns(&g->correlation, done->end_ns),
		.elements = item->elements,
		.bytes = item->bytes,
		.flops = item->flops,
		.residual_ns = g->correlation.residual_ns > UINT32_MAX
				       ? UINT32_MAX
				       : (uint32_t)g->correlation.residual_ns,
	};

	if (!slot->launch.number || !slot->queue)
		return 0;
	if (done->error) {
		brick_queue_dropped(slot->queue, 1);
		return 0;
	}
	return brick_queue_record(slot->queue, &command) == 0;
}

static void timed_graph_give(struct brick_cuda_graph *g, uint32_t slot)
{
	g->slots[slot].next = g->free;
	g->free = slot + 1;
}

static void timed_graph_correlate(struct brick_cuda_graph *g)
{
	struct brick_reading readings[READINGS];
	uint32_t count = 0;

	if (monotonic_ns() - g->correlated_ns <
		brick_correlation_period_ns(&g->correlation, CORRELATE_NS))
		return;
	brick__backend_enter();
	for (int i = 0; i < READINGS; i++)
		count += !brick__backend_cuda.correlate(g->device, &readings[count]);
	brick__backend_leave();
	brick_correlation_add(&g->correlation, readings, count);
	g->correlated_ns = monotonic_ns();
}

int brick_cuda_graph_drain(struct brick_cuda_graph *g)
{
	int recorded = 0;

	timed_graph_correlate(g);
	brick__backend_enter();
	brick__backend_cuda.drain(g->device);
	brick__backend_leave();
	qsort(g->done, g->done_count, sizeof(*g->done), timed_graph_compare);
	for (uint32_t i = 0; i < g->done_count; i++) {
		recorded += timed_graph_record(g, &g->done[i]);
		timed_graph_give(g, g->done[i].slot);
	}
	g->done_count = 0;
	return recorded;
}

/* Capture. */

int brick_cuda_graph_begin(struct brick_cuda_graph *g, void *stream, uint32_t brick, int layer)
{
	uint32_t index = g->item_count;

	if (brick >= brick_count() || layer < -1 || layer > INT16_MAX)
		return -EINVAL;
	if (g->graph)
		return BRICK_ESTATE;
	if (index == g->events || g->depth == BRICK_MAX_DEPTH)
		return -EAGAIN;
	brick__backend_enter();
	int error = cuda_graph_pair_begin(g->device, stream, index + 1ull);
	brick__backend_leave();
	if (error)
		return error;
	g->items[index] = (struct item){(uint16_t)brick, (int16_t)layer, 0, 0, 0};
	g->open[g->depth++] = index;
	g->item_count++;
	return 0;
}

int brick_cuda_graph_end(
	struct brick_cuda_graph *g, void *stream, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	if (!g->depth)
		return -ENOENT;
	uint32_t index = g->open[--g->depth];
	struct item *item = &g->items[index];
	item->elements = elements;
	item->bytes = bytes;
	item->flops = flops;
	brick__backend_enter();
	int error = brick__backend_cuda.end(g->device, stream, index + 1ull);
	brick__backend_leave();
	return error;
}

/* Launch. */

static struct brick_queue *timed_graph_queue_of(struct brick_cuda_graph *g, void *stream)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	char name[48];
	uint32_t i = 0;

	while (i < g->queue_count && g->queues[i].stream != stream)
		i++;
	if (i < g->queue_count)
		return g->queues[i].queue;
	if (i == MAX_QUEUES)
		return g->queues[0].queue;
	snprintf(name, sizeof(name), "CUDA graphs, stream %u", i + 1);
	options.name = name;
	options.backend = "cuda";
	options.flags = BRICK_QUEUE_OUT_OF_ORDER; /* bricks that nest, and branches */
	if (brick_queue_create(&g->queues[i].queue, &options))
		return NULL;
	g->queues[i].stream = stream;
	g->queue_count++;
	return g->queues[i].queue;
}

/* A slot for each brick; 0 when there are too few. */
static int take_slots(struct brick_cuda_graph *g, void *stream)
{
	struct brick_queue *queue = timed_graph_queue_of(g, stream);
	uint32_t taken = 0;

	for (; taken < g->item_count && g->free; taken++) {
		uint32_t slot = g->free - 1;
		g->free = g->slots[slot].next;
		g->slots[slot].item = taken;
		g->slots[slot].queue = queue;
		g->tickets[taken] = slot + 1ull;
	}
	if (taken == g->item_count)
		return 1;
	while (taken)
		timed_graph_give(g, (uint32_t)g->tickets[--taken] - 1);
	return 0;
}

/* Every brick of the replay is a command of its own, launched by the one call. */
static void set_launches(struct brick_cuda_graph *g, const struct brick_launch *launch)
{
	for (uint32_t i = 0; i < g->item_count; i++) {
		struct slot *slot = &g->slots[g->tickets[i] - 1];
		slot->launch = *launch;
		if (launch->number)
			slot->launch.number += i;
		slot->launch.brick = g->items[i].brick;
		slot->launch.layer = g->items[i].layer;
	}
}

int brick_cuda_graph_launch(struct brick_cuda_graph *g, void *exec, void *stream)
{
	struct brick_launch launch;
	int error = g->graph ? 0 : cuda_graph_take(&g->graph, g->device);

	if (!error && g->depth)
		error = BRICK_ESTATE; /* one was not ended */
	if (!error && !take_slots(g, stream))
		error = -EAGAIN;
	if (error)
		return error;
	brick_launch_begin(&launch);
	brick_launch_many(&launch, g->item_count);
	brick__backend_enter();
	error = cuda_graph_launch(g->graph, exec, stream, g->tickets);
	brick__backend_leave();
	brick_launch_end(&launch);
	if (error)
		for (uint32_t i = 0; i < g->item_count; i++)
			timed_graph_give(g, (uint32_t)g->tickets[i] - 1);
	else
		set_launches(g, &launch);
	return error;
}

/* Life. */

static void timed_graph_dispose(struct brick_cuda_graph *g)
{
	free(g->items);
	free(g->slots);
	free(g->done);
	free(g->tickets);
	free(g);
}

int brick_cuda_graph_create(struct brick_cuda_graph **out, void *context, uint32_t events)
{
	struct brick_backend_options options = {.size = sizeof(options), .native = {context}};
	KEEP_ERRNO();

	options.pairs = events ? events : DEFAULT_EVENTS;
	if (options.pairs > MAX_EVENTS)
		return -EINVAL;
	struct brick_cuda_graph *g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->events = options.pairs;
	g->items = calloc(g->events, sizeof(*g->items));
	g->slots = calloc(g->events, sizeof(*g->slots));
	g->done = calloc(g->events, sizeof(*g->done));
	g->tickets = calloc(g->events, sizeof(*g->tickets));
	if (!g->items || !g->slots || !g->done || !g->tickets) {
		timed_graph_dispose(g);
		return -ENOMEM;
	}
	for (uint32_t i = g->events; i-- > 0;)
		timed_graph_give(g, i);
	const struct brick_backend_host host = {
		.size = sizeof(host), .context = g, .complete = timed_graph_complete};
	brick__backend_enter();
	int error = brick__backend_cuda.open(&g->device, &host, &options);
	brick__backend_leave();
	if (error) {
		timed_graph_dispose(g);
		return error;
	}
	cuda_graph_allow(g->device);
	timed_graph_correlate(g);
	*out = g;
	return 0;
}

/* Slots that are neither free nor done. */
static uint32_t timed_graph_in_flight(const struct brick_cuda_graph *g)
{
	uint32_t free_slots = 0;

	for (uint32_t i = g->free; i; i = g->slots[i - 1].next)
		free_slots++;
	return g->events - free_slots;
}

void brick_cuda_graph_destroy(struct brick_cuda_graph *g)
{
	if (!g)
		return;
	if (g->queue_count)
		brick_queue_dropped(g->queues[0].queue, timed_graph_in_flight(g));
	cuda_graph_destroy(g->graph);
	brick__backend_enter();
	brick__backend_cuda.close(g->device);
	brick__backend_leave();
	for (uint32_t i = 0; i < g->queue_count; i++)
		brick_queue_destroy(g->queues[i].queue);
	timed_graph_dispose(g);
}
