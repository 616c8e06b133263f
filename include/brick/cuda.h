/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks inside of captured CUDA graphs. While a stream is being captured the bricks that are begun
 * and ended here become parts of the graph; their times come with every replay, each into events of
 * its own, so that several replays may be in flight.
 *
 *   brick_cuda_graph_create(&timed, NULL, 0);
 *   cuStreamBeginCapture(stream, ...);
 *   brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, 0); launches;
 *   brick_cuda_graph_end(timed, stream, elements, bytes, flops);
 *   cuStreamEndCapture(stream, &graph); cuGraphInstantiate(&exec, graph, ...);
 *   brick_cuda_graph_launch(timed, exec, stream);      in place of cuGraphLaunch(exec, stream)
 *   brick_cuda_graph_drain(timed);                     now and then
 *
 * One timed graph belongs to one executable graph, which nobody else launches, and needs the graph
 * that was captured as long as it is launched. One thread at a time. Errors: -errno and BRICK_E*.
 */
#ifndef BRICK_CUDA_H
#define BRICK_CUDA_H

#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

struct brick_cuda_graph;

/*
 * context is a CUcontext, NULL: the current one. events: pairs that there are for bricks in the
 * graph and for replays in flight, 0: 4096. -ENOENT: no driver; BRICK_ESTATE: no context.
 */
BRICK_API int brick_cuda_graph_create(
	struct brick_cuda_graph **out, void *context, uint32_t events);

/*
 * Begin a brick in a stream that is being captured; they nest. -EAGAIN: no events are left;
 * BRICK_ESTATE: the stream is not being captured, or the graph has been launched.
 */
BRICK_API int brick_cuda_graph_begin(
	struct brick_cuda_graph *graph, void *stream, uint32_t brick, int layer);

/* End the one that was begun last, with the work that one execution does (0: not known). */
BRICK_API int brick_cuda_graph_end(struct brick_cuda_graph *graph, void *stream, uint64_t elements,
	uint64_t bytes, uint64_t flops);

/*
 * Launch the executable graph, its bricks timed. -EAGAIN: no events are free: drain and try again;
 * BRICK_EUNSUPPORTED: the driver is too old to exchange a graph's events (before 11.3);
 * BRICK_EDEVICE: a call failed. After any of these nothing was launched.
 */
BRICK_API int brick_cuda_graph_launch(struct brick_cuda_graph *graph, void *exec, void *stream);

/* Record bricks that have completed. Returns how many. */
BRICK_API int brick_cuda_graph_drain(struct brick_cuda_graph *graph);

/* Counts work that is still in flight as dropped: synchronise and drain before. NULL is legal. */
BRICK_API void brick_cuda_graph_destroy(struct brick_cuda_graph *graph);

BRICK_END_DECLS

#endif
