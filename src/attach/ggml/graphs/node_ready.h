/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares a thread's state (struct node_thread) for the engine that calls hooks on it, and clears
 * it when the thread ends. Owner thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include "attach/ggml/nodes/node_thread.h"

/* Set all but the engine: clock, costs, events, thread destructor. Once per thread. */
void node_thread_init(struct node_thread *t);

static inline void node_thread_ready(struct node_thread *t)
{
	if (BRICK_UNLIKELY(!t->ready))
		node_thread_init(t);
}

/*
 * Set the thread's functions for hooks that are called from this address; afterwards all of them
 * can be called, never NULL. False: the caller is no proved engine, so the hook must not read its
 * arguments.
 */
bool node_thread_prepare(struct node_thread *t, uintptr_t caller);

extern pthread_mutex_t node_memory_mutex; /* held over forks */
