/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of graphs whose names say none: by repetition (repetition.h). Any thread. */
#pragma once

#include "attach/ggml/engine.h"

/*
 * The layer of each of a graph's nodes, -1 for those that lie in none: the caller frees them. NULL:
 * names say where some node lies, or nothing repeats, or there is no memory. What was found is
 * noted in the recording.
 */
int16_t *derived_layers(const struct engine *engine, const void *graph, uint32_t count);
