/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which node of a graph the calling thread gives to a device. A device's backend asks
 * ggml_is_empty() about each node, in order, just before it records or launches the node's kernels;
 * it passes over nodes that it fuses into the node before. Until the next question, all launches
 * belong to this node, and the host's time counts as RecordCommands. Owner thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

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

/* In a fork's child: what the parent computed is not this thread's. */
void device_graph_forget(void);
