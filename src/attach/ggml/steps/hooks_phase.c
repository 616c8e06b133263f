/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that only put a phase around a call, made from the rows of src/attach/rules/ggml_symbols.h.
 * Of nested ones with the same phase the outermost is the brick.
 */
#include "attach/ggml/hook_words.h"
#include "attach/ggml/method.h"

#define HOOK_TYPED(id, phase)
#define HOOK_WORDS(id, phase)
#define HOOK_HIDDEN(id, phase)
#define HOOK_STACK(id, phase)

#define HOOK_PHASE SIX_WORDS_HOOK

/* Waiting, which a backend that computes on the CPU never does. */
#define HOOK_WAIT(id, phase)                                                               \
	word_pair hook_##id(word a, word b, word c, word d, word e, word f)                \
	{                                                                                  \
		return hook_wait(a, b, c, d, e, f, GGML_##id, __builtin_return_address(0), \
			__builtin_frame_address(0));                                       \
	}

word_pair hook_phase(word a, word b, word c, word d, word e, word f, enum ggml_symbol_id symbol,
	enum phase phase, const void *caller, const void *frame)
{
	words_fn function = (words_fn)resolve(symbol, caller);
	struct phase_scope scope;

	if (!function)
		return 0;
	phase_begin(&scope, phase, frame);
	word_pair result = function(a, b, c, d, e, f);
	phase_end(&scope);
	return result;
}

static word_pair hook_wait(word a, word b, word c, word d, word e, word f,
	enum ggml_symbol_id symbol, const void *caller, const void *frame)
{
	if (!method_cpu_only())
		return hook_phase(a, b, c, d, e, f, symbol, PHASE_SYNCHRONIZE, caller, frame);
	words_fn function = (words_fn)resolve(symbol, caller);
	return function ? function(a, b, c, d, e, f) : 0;
}

#define HOOK(kind, id, symbol, library, use, need, phase, gives) HOOK_##kind(id, phase)

GGML_SYMBOLS(HOOK)
