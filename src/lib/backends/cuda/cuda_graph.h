/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs that were captured into a graph. Tickets at capture count from 1 up; each launch gives the
 * pairs other ones, under which they complete. Any thread.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/backend.h"

struct cuda_graph;

/* From now on pairs may be begun in streams that are being captured. */
void cuda_graph_allow(struct brick_backend_device *device);

/* begin() of the table, but only in a stream that is being captured: else BRICK_ESTATE. */
int cuda_graph_pair_begin(struct brick_backend_device *device, void *queue, uint64_t ticket);

/* The pairs that were captured since the last call. -ENOENT: none; -ENOMEM. */
int cuda_graph_take(struct cuda_graph **out, struct brick_backend_device *device);

/* tickets[i] is the one for the pair captured with ticket i + 1. Errors as in brick/cuda.h. */
int cuda_graph_launch(struct cuda_graph *graph, void *exec, void *stream, const uint64_t *tickets);

/* Replays in flight still complete. NULL is legal. */
void cuda_graph_destroy(struct cuda_graph *graph);
