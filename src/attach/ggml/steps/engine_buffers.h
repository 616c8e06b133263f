/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the engine holds: buffers of ggml by owner and device, states of sequences that the
 * program has saved, and what the system says of the process. What has changed is told at the end
 * of a step. Where a recorder entered a running process nothing is told, as earlier buffers are not
 * known. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "brick/recorded.h"

/* A buffer was made. function: of ggml, that made it; type: the buffer's. */
void engine_buffers_made(const void *buffer, const void *type, const void *function);
void engine_buffers_freed(const void *buffer);

/* The engine says its use (ggml_backend_buffer_usage): 1 weights, 2 compute. */
void engine_buffers_used(const void *buffer, int usage);

/* A number that is larger than that of all buffers so far. */
uint64_t engine_buffers_mark(void);

/* The buffers that this thread has made since the mark are of that kind, unless the engine says
 * their use. */
void engine_buffers_settle(uint64_t mark, enum brick_memory_kind kind);

/* True if the name of the context's first tensor is a cache's. function: as above. */
bool engine_buffers_is_cache(const void *context, const void *function);

/* The program has a state of sequences there. It is known until another state overlaps it. */
void engine_buffers_saved(const void *to, uint64_t bytes);

/* In a step, at its end; costs a load where nothing has changed. */
void engine_buffers_tell(void);

/* After a step: reads what the system says, in one of 32 steps. */
void engine_buffers_look(void);

extern pthread_mutex_t engine_buffers_mutex; /* held over forks */
