/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of devices where no function is called for each: a link-time optimised scheduler calls
 * what the backend's table of functions names. A backend begins with that table, whose layout
 * differs between versions, so the place of its `graph_compute` is found by having the engine's
 * own ggml_backend_graph_compute_async() call through tables of ours. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include "attach/ggml/engine/resolve.h"

/*
 * Have `hook` called in place of this backend's function. async: the engine's function as above.
 * False: its place is not known, or there are too many backends.
 */
bool backend_table_hook(void *backend, words_fn async, words_fn hook);

/* What a hooked backend had there, and the engine's function. False: it is not one. */
bool backend_table_of(const void *backend, words_fn *compute, words_fn *async);

extern pthread_mutex_t backend_table_mutex; /* held over forks */
