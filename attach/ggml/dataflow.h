/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node's result a node works on, for `brick record --graph`: one text per kind of graph, kept
 * in the recording's code area under the path DATAFLOW_PATH. A line per pair: operation and name of
 * the node that produces, then of the one that consumes, with tabs between; those are the operation
 * and label of their sites. Nodes that compute nothing (views) are looked through.
 */
#ifndef BRICK_ATTACH_GGML_DATAFLOW_H
#define BRICK_ATTACH_GGML_DATAFLOW_H

#include "attach/ggml/engine.h"

#define DATAFLOW_PATH "brick-dataflow"

/* A graph is about to be computed: keep what flows in it, if asked for and not kept yet. Any
 * thread, one graph at a time per thread; errno is kept. */
void dataflow_graph(const struct engine *engine, const void *graph);

#endif
