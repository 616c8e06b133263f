/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that only put a phase around a call. They do not know what they pass on: six integer
 * registers in, two out, which fits every function whose arguments and result are integers,
 * pointers and references, and is as good for functions of fewer arguments.
 */
#ifndef BRICK_ATTACH_GGML_HOOK_WORDS_H
#define BRICK_ATTACH_GGML_HOOK_WORDS_H

#include <stdint.h>
#include "attach/ggml/method.h"
#include "attach/ggml/phases.h"
#include "attach/ggml/resolve.h"
#include "brick/export.h"

typedef uintptr_t word;
typedef unsigned __int128 word_pair;
typedef word_pair (*words_fn)(word, word, word, word, word, word);

/* A symbol that is called with words; the C name of its hook is ours to choose. */
#define WORDS_HOOK(hook, symbol)                                                                  \
	BRICK_API word_pair hook(word a, word b, word c, word d, word e, word f) __asm__(symbol); \
	word_pair hook(word a, word b, word c, word d, word e, word f)

#define PHASE_HOOK(hook, symbol, phase)                                                        \
	WORDS_HOOK(hook, symbol)                                                               \
	{                                                                                      \
		static struct resolve_symbol original = {symbol, NULL};                        \
		words_fn function = (words_fn)resolve(&original, __builtin_return_address(0)); \
		struct phase_scope scope;                                                      \
		if (!function)                                                                 \
			return 0;                                                              \
		phase_begin(&scope, phase, __builtin_frame_address(0));                        \
		word_pair result = function(a, b, c, d, e, f);                                 \
		phase_end(&scope);                                                             \
		return result;                                                                 \
	}

/* The same for waiting, which a backend that computes on the CPU never does. */
#define WAIT_HOOK(hook, symbol)                                                                \
	WORDS_HOOK(hook, symbol)                                                               \
	{                                                                                      \
		static struct resolve_symbol original = {symbol, NULL};                        \
		words_fn function = (words_fn)resolve(&original, __builtin_return_address(0)); \
		struct phase_scope scope;                                                      \
		if (!function)                                                                 \
			return 0;                                                              \
		if (method_cpu_only())                                                         \
			return function(a, b, c, d, e, f);                                     \
		phase_begin(&scope, PHASE_SYNCHRONIZE, __builtin_frame_address(0));            \
		word_pair result = function(a, b, c, d, e, f);                                 \
		phase_end(&scope);                                                             \
		return result;                                                                 \
	}

#endif
