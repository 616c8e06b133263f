/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs in captured graphs (graph.h). For each launch the executable graph is given events of its
 * own for all its pairs, so that a replay never overwrites times that nobody has read. They are in
 * flight behind one more event, recorded after the launch: until that has been passed the events of
 * the graph may still show what they recorded before.
 */
#include "lib/backends/cuda/cuda_graph.h"

#include <errno.h>
#include <stdlib.h>
#include "lib/backends/cuda/cuda_backend.h"
#include "lib/backends/cuda/cuda_device.h"
#include "base/scope.h"
#include "brick/error.h"

struct cuda_graph {
	struct brick_backend_device *device;
	struct cuda_pair *pairs; /* as captured */
};

void cuda_graph_allow(struct brick_backend_device *device)
{
	HOLD(&device->lock);
	device->may_capture = 1;
}

int cuda_graph_pair_begin(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	const struct cuda_driver *d = &device->driver;
	int status = 0;

	if (!d->stream_is_capturing)
		return BRICK_EUNSUPPORTED;
	if (d->stream_is_capturing(queue, &status) != CUDA_FINE || status != CUDA_CAPTURE_ACTIVE)
		return BRICK_ESTATE;
	return brick__backend_cuda.begin(device, queue, ticket);
}

int cuda_graph_take(struct cuda_graph **out, struct brick_backend_device *device)
{
	int saved = errno;
	struct cuda_graph *graph = calloc(1, sizeof *graph);

	errno = saved;
	if (!graph)
		return -ENOMEM;
	pthread_mutex_lock(&device->lock);
	graph->device = device;
	graph->pairs = device->captured.first;
	cuda_pairs_init(&device->captured);
	pthread_mutex_unlock(&device->lock);
	if (!graph->pairs) {
		free(graph);
		return -ENOENT;
	}
	*out = graph;
	return 0;
}

static void give_all(struct brick_backend_device *device, struct cuda_pair *pair)
{
	for (struct cuda_pair *next; pair; pair = next) {
		next = pair->next;
		cuda_pair_give(device, pair);
	}
}

/* The pair behind the launch, and one for each of the graph's; 0 when there are too few. */
static int take_pairs(const struct cuda_graph *graph, struct cuda_pairs *taken, void *stream,
	const uint64_t *tickets)
{
	const struct cuda_pair *from = NULL;

	cuda_pairs_init(taken);
	do {
		struct cuda_pair *pair = cuda_pair_take(graph->device);
		if (!pair) {
			give_all(graph->device, taken->first);
			return 0;
		}
		pair->ticket = from ? tickets[from->ticket - 1] : 0;
		pair->queue = stream;
		pair->is_captured = from != NULL;
		cuda_pairs_add(taken, pair);
		from = from ? from->next : graph->pairs;
	} while (from);
	return 1;
}

static int set_events(
	const struct cuda_graph *graph, void *exec, const struct cuda_pair *replacement)
{
	const struct cuda_driver *d = &graph->device->driver;

	for (const struct cuda_pair *pair = graph->pairs; pair; pair = pair->next) {
		if (!pair->begin_node || !pair->end_node)
			return BRICK_EUNSUPPORTED;
		if (d->exec_set_event(exec, pair->begin_node, replacement->begin) != CUDA_FINE ||
			d->exec_set_event(exec, pair->end_node, replacement->end) != CUDA_FINE)
			return BRICK_EDEVICE;
		replacement = replacement->next;
	}
	return 0;
}

static int launch(struct cuda_graph *graph, void *exec, void *stream, const uint64_t *tickets)
{
	struct brick_backend_device *device = graph->device;
	const struct cuda_driver *d = &device->driver;
	struct cuda_pairs taken;

	if (!d->exec_set_event || !d->graph_launch)
		return BRICK_EUNSUPPORTED;
	if (!take_pairs(graph, &taken, stream, tickets))
		return -EAGAIN;
	int error = set_events(graph, exec, taken.first->next);
	if (!error)
		cuda_take_over(device, stream);
	if (!error && d->graph_launch(exec, stream) != CUDA_FINE)
		error = BRICK_EDEVICE;
	if (error) {
		give_all(device, taken.first);
		return error;
	}
	/* if this fails it is never passed, and nor are those behind it: they are lost, and counted
	 */
	d->event_record(taken.first->end, stream);
	*device->in_flight.last = taken.first;
	device->in_flight.last = taken.last;
	return 0;
}

int cuda_graph_launch(struct cuda_graph *graph, void *exec, void *stream, const uint64_t *tickets)
{
	KEEP_ERRNO();

	HOLD(&graph->device->lock);
	return launch(graph, exec, stream, tickets);
}

void cuda_graph_destroy(struct cuda_graph *graph)
{
	if (!graph)
		return;
	pthread_mutex_lock(&graph->device->lock);
	give_all(graph->device, graph->pairs);
	pthread_mutex_unlock(&graph->device->lock);
	free(graph);
}
