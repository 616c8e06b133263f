/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting a thread ready for the engine that it runs in, and taking leave of it. Owner thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

/* Everything but the engine: clock, counters, the destructor. */
void node_thread_init(struct node_thread *t);

static inline void node_thread_ready(struct node_thread *t)
{
	if (BRICK_UNLIKELY(!t->ready))
		node_thread_init(t);
}

/* Make the thread fit for calls from this address. Afterwards all its functions can be called. */
void node_thread_prepare(struct node_thread *t, uintptr_t caller);

/* From now on every call of ggml_is_empty() is looked at. */
void node_emptiness_wanted(void);

/* It was called from there and leads to that function. */
void node_emptiness_asked(uintptr_t caller, is_empty_fn function);

/* Held over a fork. */
void node_memory_lock(void);
void node_memory_unlock(void);
