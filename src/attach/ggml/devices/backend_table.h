/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks in the tables of functions that backends of devices have. A link-time optimised scheduler
 * calls `graph_compute` of that table, and no function that could be hooked otherwise. A backend
 * begins with the table, whose layout differs between versions, so the place of `graph_compute` is
 * found by calling the engine's own ggml_backend_graph_compute_async() with tables of ours. Entries
 * are never removed. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include "attach/ggml/engine/resolve.h"

/*
 * Put `hook` in place of the backend's graph_compute. async: ggml_backend_graph_compute_async().
 * True also if the hook is there already. False: the place is unknown, or 64 backends have hooks.
 */
bool backend_table_hook(void *backend, words_fn async, words_fn hook);

/*
 * *compute: the graph_compute that the backend had; *async: as given. False: the backend has no
 * hook.
 */
bool backend_table_of(const void *backend, words_fn *compute, words_fn *async);

extern pthread_mutex_t backend_table_mutex; /* held over forks */
