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
	/*
	 * ggml_is_empty() as it is called from the first engine that was met, as long as no device
	 * wants to know of it (node_ready.h): three times a node, on the CPU for nothing.
	 */
	uintptr_t empty_low, empty_bytes; /* who calls; 0 bytes: not met, 1: a device has come */
	_Bool (*is_empty)(const void *tensor);
	uint32_t empty_generation; /* the resolve_generation that this is known of */
} __attribute__((aligned(64)));

extern struct attach_shared attach_shared;

static inline uint32_t shared_get(const uint32_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}
