/* SPDX-License-Identifier: Apache-2.0 */
/* Records which results each node reads, as the text of brick/abi/dataflow.h. */
#pragma once

#include "attach/ggml/engine/ggml_engine.h"

/*
 * A graph is about to be computed: record what flows in it, if asked for and not done yet. Any
 * thread; errno is kept.
 */
void dataflow_graph(const struct engine *engine, const void *graph);
