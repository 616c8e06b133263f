/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node of a graph the calling thread gives to a device. The backends of devices ask
 * ggml_is_empty() about each node, in order, just before they record or launch its kernels; they
 * pass over nodes that are fused into the one before. Until the next question, everything that is
 * launched belongs to that node, and the host's time is spent on recording commands. Owner thread.
 */
#pragma once

#include "attach/ggml/graphs/known_graphs.h"
#include "brick/attach.h"
#include "brick/brick.h"

struct device_graph {
	struct known_graph *graph; /* NULL: this thread computes none on a device */
	const void *shown;	   /* where the engine has it */
	uint32_t at;		   /* the node that was asked about last, or its count */
	uint32_t asked;		   /* nodes */
	brick_span span;
	const struct brick_launch_owner *outside, *before; /* between nodes; around the graph */

	/* Of the backend that was seen last: the place that walks, and others that might. */
	const void *backend;
	uintptr_t walker, former, candidate;
	uint32_t trusted; /* nodes that the walker has asked about since it is it */
	uint32_t candidate_at, agreed;
};

extern __thread struct device_graph device_graph __attribute__((tls_model("initial-exec")));

/* Around the backend's computing a graph, which is this brick. */
void device_graph_begin(
	const struct engine *engine, const void *backend, const void *graph, uint16_t brick);
void device_graph_end(void);

/* ggml_is_empty() was called from there while a device computes a graph for this thread. */
void device_graph_ask(const void *node, uintptr_t caller);
