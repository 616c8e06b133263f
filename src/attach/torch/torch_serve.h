/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines that serve many requests by one model: vLLM. Its worker's call of a model is a step, in
 * which the tokens of many requests lie one behind the other; whose tokens they are stands in the
 * scheduler's output. With the GIL held.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_hooks.h"
#include "attach/torch/torch_thread.h"

/* Functions of vLLM and of its HTTP server; the last one has no module. */
extern struct torch_hook torch_serve_hooks[];

/*
 * True if the engine says what the thread's steps are. Calls of modules are no steps of their own
 * then: those outside of the engine's steps warm up.
 */
bool torch_serve_says_steps(const struct torch_thread *t);
