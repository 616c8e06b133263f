/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says about how it was made: the engine, how it was attached to, the rules, and
 * how many nodes of each graph were seen. Every fact is written once per session. Any thread;
 * without a session nothing happens.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"

/*
 * A thread found itself in that engine (NULL: none). Tells the session on this thread, if it has
 * not heard it yet: *told is the session that has.
 */
void notes_engine(const struct engine *engine, uint32_t *told);

/* The object that code at this address belongs to. */
void notes_library(const char *key, uintptr_t address);

/* A graph was computed in which `started` nodes were seen, `fused` of which stood for two. */
void notes_graph(const struct engine *engine, const void *graph, uint32_t started, uint32_t fused);
