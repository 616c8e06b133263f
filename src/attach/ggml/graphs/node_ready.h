/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting a thread ready for the engine that calls hooks on it, and taking leave of it. Owner
 * thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include "attach/ggml/nodes/node_thread.h"

/* Everything but the engine: clock, counters, the destructor. */
void node_thread_init(struct node_thread *t);

static inline void node_thread_ready(struct node_thread *t)
{
	if (BRICK_UNLIKELY(!t->ready))
		node_thread_init(t);
}

/*
 * Make the thread fit for calls from this address. Afterwards all its functions can be called.
 * False: who calls is no engine, so nothing that it passes may be looked into.
 */
bool node_thread_prepare(struct node_thread *t, uintptr_t caller);

extern pthread_mutex_t node_memory_mutex; /* held over forks */
