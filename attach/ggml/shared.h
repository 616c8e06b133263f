/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all threads read on the hot path and hardly anybody writes, in one cache line. Read and
 * written with relaxed atomics; the functions that change a field belong to the header named.
 */
#pragma once

#include <stdint.h>

struct attach_shared {
	uint32_t resolve_generation; /* grows when objects were unloaded (resolve.h) */
	uint32_t graph_generation; /* grows when a graph may have been built anew (node_graph.h) */
	uint32_t graph_serial;	   /* grows with every graph that is computed (node_graph.h) */
	uint32_t method;	   /* enum method (method.h) */
} __attribute__((aligned(64)));

extern struct attach_shared attach_shared;

static inline uint32_t shared_get(const uint32_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}
