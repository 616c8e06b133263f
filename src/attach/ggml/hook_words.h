/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that do not know what they pass on: six integer registers in, two out, which fits every
 * function whose arguments and result are integers, pointers and references, and is as good for
 * functions of fewer arguments. Their C names are ours; the linker sees the symbol's.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/phases.h"
#include "attach/ggml/resolve.h"
#include "brick/export.h"
#include "attach/rules/ggml_symbols.h"

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

/*
 * A phase around what a hook stands in front of. All of these hooks are called once or twice a
 * step, from caches that the engine has filled with its weights: what they have in common is here,
 * so that each is a line of code. The six words come first, where they are already.
 */
word_pair hook_phase(word a, word b, word c, word d, word e, word f, enum ggml_symbol_id symbol,
	enum phase phase, const void *caller, const void *frame);

#define SIX_WORDS_HOOK(id, phase)                                                 \
	word_pair hook_##id(word a, word b, word c, word d, word e, word f)       \
	{                                                                         \
		return hook_phase(a, b, c, d, e, f, GGML_##id, PHASE_##phase,     \
			__builtin_return_address(0), __builtin_frame_address(0)); \
	}
