/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of ggml's BLAS backend, which asks nobody about its nodes: it is handed them one by one,
 * as views of the graph, the way in which the engine's own scheduler hands nodes to backends for a
 * callback. What it does for a node besides the product, as making f32 of its weights, is that
 * node's time. The backend keeps nothing from one node to the next, so that its results are the
 * same. Owner thread.
 */
#pragma once

#include "attach/ggml/ggml_engine.h"
#include "attach/ggml/ggml_hooks.h"

/* Is it such a backend, and are nodes recorded? *engine: the one that its graphs are read by. */
int blas_graph_is(const void *backend, words_fn compute, const struct engine **engine);

/* In place of compute(backend, graph): what that returns. */
word_pair blas_graph_compute(
	const struct engine *engine, words_fn compute, word backend, word graph);
