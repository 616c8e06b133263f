/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that do not know what they pass on: six integer registers in, two out, which fits every
 * function whose arguments and result are integers, pointers and references, and is as good for
 * functions of fewer arguments. Their C names are ours; the linker sees the symbol's.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/phases.h"
#include "attach/ggml/resolve.h"
#include "brick/export.h"
#include "rules/ggml_symbols.h"

typedef uintptr_t word;
typedef unsigned __int128 word_pair;
typedef word_pair (*words_fn)(word, word, word, word, word, word);
typedef word_pair (*eight_words_fn)(word, word, word, word, word, word, word, word);

#define DECLARE_TYPED(id, symbol)
#define DECLARE_WORDS(id, symbol) \
	BRICK_API word_pair hook_##id(word, word, word, word, word, word) __asm__(symbol);
#define DECLARE_PHASE DECLARE_WORDS
#define DECLARE_WAIT DECLARE_WORDS
#define DECLARE_HIDDEN DECLARE_WORDS
#define DECLARE_STACK(id, symbol)                                                              \
	BRICK_API word_pair hook_##id(word, word, word, word, word, word, word, word) __asm__( \
		symbol);
#define DECLARE_HOOK(kind, id, symbol, library, use, need, phase, gives) DECLARE_##kind(id, symbol)

GGML_SYMBOLS(DECLARE_HOOK)

#define PHASE_HOOK(type, id, phase, parameters, arguments)                             \
	word_pair hook_##id parameters                                                 \
	{                                                                              \
		type function = (type)resolve(GGML_##id, __builtin_return_address(0)); \
		struct phase_scope scope;                                              \
		if (!function)                                                         \
			return 0;                                                      \
		phase_begin(&scope, PHASE_##phase, __builtin_frame_address(0));        \
		word_pair result = function arguments;                                 \
		phase_end(&scope);                                                     \
		return result;                                                         \
	}

#define SIX_WORDS_HOOK(id, phase)                                                         \
	PHASE_HOOK(words_fn, id, phase, (word a, word b, word c, word d, word e, word f), \
		(a, b, c, d, e, f))
