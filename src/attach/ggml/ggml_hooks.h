/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols that are interposed. Nobody here calls them; the prototypes say how the engine does.
 * Arguments that a hook only passes on are words. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"
#include "brick/export.h"

/* Every node, on every thread of the CPU backend. */
BRICK_API _Bool ggml_cpu_extra_compute_forward(const struct compute_params *params, void *node);
BRICK_API void ggml_compute_forward_rms_norm_mul_fused(
	const struct compute_params *params, void *norm, void *mul);
BRICK_API void ggml_barrier(void *pool);
/* Every node there, too; and in backends of devices, which is what it is hooked for. */
BRICK_API _Bool ggml_is_empty(const void *tensor);

/* The same called from a patched function, which is told who called it (src/attach/patch/patch.h).
 */
void hook_barrier_from(
	void *pool, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t caller);
_Bool hook_is_empty_from(
	const void *tensor, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t caller);
