/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA, beyond what device.h offers to all: bricks inside of captured graphs. A brick that is begun
 * and ended while its stream is being captured becomes a part of the graph; its times come with
 * every replay, each into events of its own, so that several replays may be in flight.
 *
 *   cuStreamBeginCapture(...); brick_device_begin(...); ...; brick_device_end(...);
 *   cuStreamEndCapture(...); brick_cuda_graph_take(&timed, backend); cuGraphInstantiate(&exec, ...);
 *   brick_cuda_graph_launch(timed, exec, stream);     instead of cuGraphLaunch(exec, stream)
 *
 * A timed graph belongs to one executable graph, which nobody else launches, and needs the graph that
 * was captured until the last launch. Any thread; a timed graph is used by one at a time.
 */
#ifndef BRICK_CUDA_H
#define BRICK_CUDA_H

#include "brick/abi/backend.h"
#include "brick/export.h"

BRICK_BEGIN_DECLS

struct brick_cuda_graph;

/* The bricks that were captured since the last call. -ENOENT: none; -ENOMEM. */
BRICK_API int brick_cuda_graph_take(
	struct brick_cuda_graph **out, struct brick_backend_device *device);

/*
 * Launch the executable graph, its bricks timed. -EAGAIN: no events are free: drain and try again
 * (nothing was launched); BRICK_EUNSUPPORTED: the driver is too old for it (before 11.3);
 * BRICK_EDEVICE: a call failed.
 */
BRICK_API int brick_cuda_graph_launch(struct brick_cuda_graph *graph, void *exec, void *stream);

/* Before the device is closed; replays in flight still come. NULL is legal. */
BRICK_API void brick_cuda_graph_destroy(struct brick_cuda_graph *graph);

BRICK_END_DECLS

#endif
