/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skipping hooks: the dynamic linker's slots, through which an engine calls hooked functions, are
 * set to the functions themselves. The engine's code then runs as it does without Brick.
 *
 * Two functions are called several times per node, and most programs do not need their hooks:
 * ggml_is_empty(), which matters if a device computes, and ggml_barrier(), which matters if threads
 * wait for each other. Their hooks are skipped until they are watched; from then on they are never
 * skipped again. In plain steps (ggml_plain_steps.h) all hooks of the hot path are skipped for a
 * while. Any thread; plain steps one thread at a time. errno is kept.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

/* Set the addresses of the hooks, before any other function here is called. */
void slots_init(uintptr_t is_empty_hook, uintptr_t barrier_hook);

/*
 * Skip the hook for calls of ggml_barrier() from the object that begins at `low`, unless barriers
 * are watched.
 */
void slots_skip_barrier(uintptr_t low, barrier_fn function);

/* From now on every call of ggml_barrier() reaches the hook. */
void slots_watch_barrier(void);

/*
 * The same for ggml_is_empty(): skipped for the first engine's object, and for the object of one
 * other caller if that calls the same function.
 */
void slots_skip_is_empty(const struct engine *engine);
void slots_skip_is_empty_of(uintptr_t caller, is_empty_fn function);
void slots_watch_is_empty(void);

extern pthread_mutex_t slots_off_mutex, slots_mutex; /* held over forks, in this order */

/* Plain steps skip the hooks of phases and graphs as well. Call it before the first plain step. */
void slots_skip_phases(void);

/*
 * While recording is switched off: skip the hooks of nodes, phases and graphs (on), or no more.
 * Where jumps lead to hooks, these stay: they could not be put back while other threads run. A slot
 * that is called through for the first time leads to its hook: skip again, from time to time.
 */
void slots_skip_off(bool is_off);

/*
 * Around a plain step. Begin returns 0, or -EBUSY: patched functions hold jumps to hooks, which
 * cannot be changed while other threads may run. Nothing was done then, and end must not follow.
 */
int slots_skip_all_begin(void);
void slots_skip_all_end(void);
