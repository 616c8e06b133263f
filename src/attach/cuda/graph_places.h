/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node of a graph came when. An update makes an executable graph's nodes do what those of
 * another graph do that were made in the same order; CUPTI does not say which. A copy has the place
 * of its original. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

void graph_places_created(cuda_handle graph, uint64_t node);
void graph_places_cloned(cuda_handle exec, uint64_t node, uint64_t original);

/* Made of the copies that were told of as this one's: CUPTI names it only when they are all there.
 */
void graph_places_exec(cuda_handle exec, cuda_handle copies);

/* The graph goes, or loses a node: its order is not known any more. */
void graph_places_forget(cuda_handle graph);

/* The executable graph's nodes now do what the graph's do: they get their brick and layer. */
void graph_places_updated(cuda_handle exec, cuda_handle graph);
