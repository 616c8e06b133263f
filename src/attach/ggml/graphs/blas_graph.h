/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of ggml's BLAS backend, which calls no hook for its nodes. We hand it the nodes one by
 * one, as views of the graph, just as the engine's own scheduler does for an evaluation callback.
 * What the backend does for a node besides the product, such as converting its weights to f32,
 * counts as that node's time. It keeps nothing from one node to the next, so its results are the
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
