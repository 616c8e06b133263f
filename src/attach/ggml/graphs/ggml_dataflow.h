/* SPDX-License-Identifier: Apache-2.0 */
/* Writes down which node's result a node works on; the text is that of brick/abi/dataflow.h. */
#pragma once

#include "attach/ggml/ggml_engine.h"

/* A graph is about to be computed: keep what flows in it, if asked for and not kept yet. Any
 * thread, one graph at a time per thread; errno is kept. */
void dataflow_graph(const struct engine *engine, const void *graph);
