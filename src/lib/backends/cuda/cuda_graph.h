/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begin/end pairs that were captured into a CUDA graph. At capture pairs have the tickets 1, 2, ...
 * in the order of their begins. Each launch gives its pairs new tickets, under which they complete.
 * Any thread.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/backend.h"

struct cuda_graph;

/* Allows pairs to be begun in streams that are being captured, from now on. */
void cuda_graph_allow(struct brick_backend_device *device);

/* As begin() of the table. BRICK_ESTATE: the stream is not being captured. */
int cuda_graph_pair_begin(struct brick_backend_device *device, void *queue, uint64_t ticket);

/* Takes the pairs that were captured since the last call. 0. -ENOENT: there are none. -ENOMEM. */
int cuda_graph_take(struct cuda_graph **out, struct brick_backend_device *device);

/*
 * Launches the graph. The pair that was captured with ticket i + 1 completes under tickets[i].
 * Errors as of brick_cuda_graph_launch().
 */
int cuda_graph_launch(struct cuda_graph *graph, void *exec, void *stream, const uint64_t *tickets);

/* Frees the captured pairs. Replays in flight still complete. NULL is legal. */
void cuda_graph_destroy(struct cuda_graph *graph);
