/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says of how it was made: which engine, how attached, which rules, how the nodes
 * of its graphs compare with those that were seen. Every fact is written once per session. Any
 * thread; nothing is written, and nothing else happens, while no session runs.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"

/* The engine that a thread has found itself in. */
void notes_engine(const struct engine *engine);

/* The object that code at this address belongs to. */
void notes_library(const char *key, uintptr_t address);

/* A graph was computed in which `started` nodes were seen, `fused` of which stood for two. */
void notes_graph(const struct engine *engine, const void *graph, uint32_t started, uint32_t fused);
