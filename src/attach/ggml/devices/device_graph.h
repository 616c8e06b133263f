/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which node of a graph the calling thread gives to a device. A device's backend asks
 * ggml_is_empty() about each node, in order, just before it records or launches the node's kernels;
 * it passes over nodes that it fuses into the node before. Until the next question, all launches
 * belong to this node, and the host's time counts as RecordCommands. Owner thread.
 */
#pragma once

#include "attach/ggml/graphs/known_graphs.h"
#include "brick/attach.h"
#include "brick/brick.h"

struct device_graph {
	struct known_graph *graph; /* NULL: this thread computes none on a device */
	const void *shown;	   /* the engine's graph */
	uint32_t at;	 /* index of the last node that was asked about; count: none yet */
	uint32_t asked;	 /* nodes with work that the backend has asked about */
	brick_span span; /* RecordCommands of that node; 0: none is open */
	const struct brick_launch_owner *outside; /* of launches between nodes */
	const struct brick_launch_owner
		*before; /* of launches before the graph, restored after it */

	/*
	 * Return addresses in the code of the backend seen last (0: none): the walker asks about
	 * the nodes that it launches, in order; other places may ask, too (device_graph.c).
	 */
	const void *backend;
	uintptr_t walker;
	uintptr_t former;      /* the walker before this one */
	uintptr_t candidate;   /* a place that may take over */
	uint32_t trusted;      /* nodes that the walker has asked about since it took over */
	uint32_t candidate_at; /* index of the node that the candidate asked about last */
	uint32_t agreed;       /* nodes in a row, in order, that the candidate has asked about */
};

extern __thread struct device_graph device_graph __attribute__((tls_model("initial-exec")));

/*
 * Around a backend's computing of a graph. brick: of launches that belong to no node. If the graph
 * is not known, begin does nothing; end may be called without begin.
 */
void device_graph_begin(
	const struct engine *engine, const void *backend, const void *graph, uint16_t brick);
void device_graph_end(void);

/*
 * ggml_is_empty() was called for a node; caller: its return address. To be called between begin and
 * end, while node_thread.on_device is 1.
 */
void device_graph_ask(const void *node, uintptr_t caller);
