/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that all threads read on the hot path and that is rarely written, in one cache line
 * as far as it fits. Relaxed atomics, unless a function says more.
 */
#pragma once

#include <stdint.h>

struct attach_shared {
	uint32_t resolve_generation; /* grows when objects were unloaded: functions are resolved
					anew */
	uint32_t graph_generation;   /* grows when a graph may have been built anew */
	uint32_t graph_serial;	     /* grows with every graph that is computed */
	uint32_t method;	     /* enum method (method.h) */
	/* ggml_is_empty() of the first engine; NULL: no engine has it. See slots.h. */
	_Bool (*is_empty)(const void *tensor);
	struct attach_caller {
		uintptr_t low;	     /* first address of the object */
		uintptr_t bytes;     /* 0: no object yet; 1: the hook is watched, so none matches */
		uint32_t generation; /* the resolve_generation in which this was found */
	} empty[2];		     /* callers of is_empty: the engine, and one other object */
	uint32_t is_late; /* how often a recorder has attached to the running process; if it has,
			     nothing is preloaded, and all hooks are reached by jumps */
} __attribute__((aligned(64)));

extern struct attach_shared attach_shared;

static inline uint32_t shared_get(const uint32_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* Objects were unloaded: functions that were resolved before are resolved anew. */
static inline void resolve_generation_next(void)
{
	__atomic_add_fetch(&attach_shared.resolve_generation, 1, __ATOMIC_RELEASE);
}

/* A graph may have been built anew: the next one is compared in full. */
static inline void graph_generation_next(void)
{
	__atomic_add_fetch(&attach_shared.graph_generation, 1, __ATOMIC_RELAXED);
}

/* Does a call from this address lead to attach_shared.is_empty? */
static inline __attribute__((always_inline)) int shared_is_caller(
	const struct attach_caller *c, uintptr_t caller)
{
	uintptr_t bytes = __atomic_load_n(&c->bytes, __ATOMIC_ACQUIRE);

	return caller - __atomic_load_n(&c->low, __ATOMIC_RELAXED) < bytes &&
	       shared_get(&c->generation) == shared_get(&attach_shared.resolve_generation);
}
