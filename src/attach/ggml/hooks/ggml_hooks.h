/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols that are interposed. Nobody here calls them; the prototypes say how the engine does.
 * Any thread.
 *
 * Most hooks do not know what they pass on: a word_pair of six words (engine/resolve.h) serves
 * functions of fewer arguments as well. Their C names are ours; the linker sees the symbol's.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/engine/resolve.h"
#include "attach/ggml/steps/phases.h"
#include "attach/rules/ggml_symbols.h"
#include "brick/export.h"
#include "lib/sys/interpose.h"
#include "lib/sys/pass_on.h"

/*
 * The hot path, in front of functions of any prototype (hooks_node.c): every node, on every thread
 * of the CPU backend; what is around every node there, called by engines that have no such
 * functions; and ggml_is_empty(), in backends of devices.
 */
BRICK_API void ggml_cpu_extra_compute_forward(void);
BRICK_API void ggml_compute_forward_rms_norm_mul_fused(void);
BRICK_API void ggml_compute_forward(void);
BRICK_API void ggml_barrier(void);
BRICK_API void ggml_is_empty(void);

/*
 * The same called from a patched function, which is told who called it (src/attach/patch/patch.h).
 */
void hook_barrier_from(void);
void hook_is_empty_from(void);

/*
 * What programs call has names in C, which another library may have, too: its hook stands behind a
 * proof (hooks_process.c). What an engine calls of itself, and mangled names, need none.
 */
#define HOOK_NAME_IN_PROGRAM(symbol) SYS_HOOK(symbol)
#define HOOK_NAME_IN_LLAMA(symbol) symbol
#define HOOK_NAME_IN_BASE(symbol) symbol
#define HOOK_NAME_IN_CPU(symbol) symbol
#define HOOK_NAME_IN_DEVICE(symbol) symbol

#define DECLARE_TYPED(id)
#define DECLARE_WORDS(id)                                                                    \
	word_pair hook_##id(word, word, word, word, word, word, const struct sys_call *call) \
		__attribute__((visibility("hidden")));
#define DECLARE_PHASE DECLARE_WORDS
#define DECLARE_WAIT DECLARE_WORDS
#define DECLARE_HIDDEN DECLARE_WORDS
#define DECLARE_STACK DECLARE_WORDS
#define DECLARE_HOOK(kind, id, symbol, library, use, need, phase, gives) DECLARE_##kind(id)

GGML_SYMBOLS(DECLARE_HOOK)

/*
 * A phase around what a hook stands in front of. All of these hooks are called once or twice a
 * step, from caches that the engine has filled with its weights: what they have in common is here,
 * so that each is a line of code.
 */
word_pair hook_phase(enum ggml_symbol_id symbol, enum phase phase, const struct sys_call *call);

#define PHASE_HOOK(id, phase)                                                                \
	word_pair hook_##id(                                                                 \
		word a, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                    \
		(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;                        \
		return hook_phase(GGML_##id, PHASE_##phase, call);                           \
	}
