/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks inside of captured CUDA graphs. While a stream is being captured, the bricks that are
 * begun and ended here become parts of the graph. Every replay times them with events of its own,
 * so that several replays may be in flight.
 *
 *   brick_cuda_graph_create(&timed, NULL, 0);
 *   cuStreamBeginCapture(stream, ...);
 *   brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, 0); launches;
 *   brick_cuda_graph_end(timed, stream, elements, bytes, flops);
 *   cuStreamEndCapture(stream, &graph); cuGraphInstantiate(&exec, graph, ...);
 *   brick_cuda_graph_launch(timed, exec, stream);      in place of cuGraphLaunch(exec, stream)
 *   brick_cuda_graph_drain(timed);                     now and then
 *
 * One timed graph belongs to one executable graph, which must be launched by
 * brick_cuda_graph_launch() only. The captured graph must live as long as the executable graph is
 * launched. One thread at a time. Errors: -errno and BRICK_E*.
 */
#ifndef BRICK_CUDA_H
#define BRICK_CUDA_H

#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

struct brick_cuda_graph;

/*
 * Makes a timed graph. context is a CUcontext; NULL: the current one. events: the most bricks that
 * are in the graph, and that are in flight in all replays together; 0: 4096. -EINVAL: more than
 * 2^20 events. -ENOENT: no driver. BRICK_ESTATE: no context. -ENOMEM.
 */
BRICK_API int brick_cuda_graph_create(
	struct brick_cuda_graph **out, void *context, uint32_t events);

/*
 * Begins a brick in a stream that is being captured; bricks nest. -EAGAIN: no events are left, or
 * BRICK_MAX_DEPTH bricks are open. BRICK_ESTATE: the stream is not being captured, or the graph has
 * been launched. -EINVAL: no such brick or layer.
 */
BRICK_API int brick_cuda_graph_begin(
	struct brick_cuda_graph *graph, void *stream, uint32_t brick, int layer);

/*
 * Ends the brick that was begun last, with the work of one execution (0: not known). -ENOENT: no
 * brick is open.
 */
BRICK_API int brick_cuda_graph_end(struct brick_cuda_graph *graph, void *stream, uint64_t elements,
	uint64_t bytes, uint64_t flops);

/*
 * Launches the executable graph and times its bricks. -EAGAIN: no events are free; drain and try
 * again. BRICK_ESTATE: a brick was not ended. -ENOENT: no brick was captured.
 * BRICK_EUNSUPPORTED: the driver is too old to exchange a graph's events (before 11.3).
 * BRICK_EDEVICE: a call failed. -ENOMEM. After an error nothing was launched.
 */
BRICK_API int brick_cuda_graph_launch(struct brick_cuda_graph *graph, void *exec, void *stream);

/* Records the bricks that have completed; returns their number. Call it now and then. */
BRICK_API int brick_cuda_graph_drain(struct brick_cuda_graph *graph);

/*
 * Frees a timed graph. Bricks still in flight are counted as dropped: synchronise and drain before.
 * NULL is legal.
 */
BRICK_API void brick_cuda_graph_destroy(struct brick_cuda_graph *graph);

BRICK_END_DECLS

#endif
