/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of graphs whose nodes have no names: by repetition (repetition.h). If weights have names
 * that say a layer, as those from a file do, blocks are numbered by these, provided that each block
 * has one number and no two have the same. Any thread.
 */
#pragma once

#include "attach/ggml/ggml_engine.h"

/*
 * The layer of each of a graph's nodes, -1 for those that lie in none: the caller frees them. NULL:
 * nodes have names of their own or from us, or nothing repeats, or there is no memory. What was
 * found is noted in the recording.
 */
int16_t *derived_layers(const struct engine *engine, const void *graph, uint32_t count);
