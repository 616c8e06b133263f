/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic linker's slots through which an engine calls hooked functions, led past our hooks: to
 * the functions themselves, so that the engine's code runs as it does without Brick.
 *
 * Two functions are called several times per node and interest nobody in most programs:
 * ggml_is_empty(), which matters where a device computes, and ggml_barrier(), which matters where
 * threads wait for each other. Their slots are led past the hook until somebody watches them. For
 * plain steps (ggml_plain_steps.h) all calls of the hot path go past the hooks for a while. Any
 * thread; plain steps one thread at a time.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

/* Tell where the hooks are, before anything else is asked for. */
void slots_init(uintptr_t is_empty_hook, uintptr_t barrier_hook);

/* Calls of ggml_barrier() from the object that begins at `low` go to the function itself. */
void slots_skip_barrier(uintptr_t low, barrier_fn function);

/* From now on every barrier comes to the hook. */
void slots_watch_barrier(void);

/* The same for ggml_is_empty(). It is skipped for the first engine, and for one other caller. */
void slots_skip_is_empty(const struct engine *engine);
void slots_skip_is_empty_of(uintptr_t caller, is_empty_fn function);
void slots_watch_is_empty(void);

extern pthread_mutex_t slots_mutex; /* held over forks */

/* Plain steps skip the hooks of phases and graphs as well; to be said before the first. */
void slots_skip_phases(void);

/* 0; -EBUSY: jumps could not be put back while other threads may run, so nothing was done. */
int slots_skip_all_begin(void);
void slots_skip_all_end(void);
