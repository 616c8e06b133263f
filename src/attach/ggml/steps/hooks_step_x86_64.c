/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases in functions that return structures through a hidden pointer, or take more arguments than
 * fit into six registers (src/attach/rules/ggml_symbols.h). On x86-64 the hidden pointer is simply
 * the first word; other machines pass it where C cannot reach it, so this file is built for x86-64
 * only.
 */
#include "attach/ggml/ggml_hooks.h"
#include "attach/ggml/nodes/site_table.h"

/* (plan, graph, threads, pool); says early whether sites need twins. */
word_pair hook_GRAPH_PLAN(word a, word b, word c, word d, word e, word f)
{
	words_fn function = (words_fn)resolve(GGML_GRAPH_PLAN, __builtin_return_address(0));
	struct phase_scope scope;

	if (!function)
		return 0;
	if ((int)c > 1)
		__atomic_store_n(&site_table_wants_parts, 1, __ATOMIC_RELAXED);
	phase_begin(&scope, PHASE_GRAPH_PLAN, __builtin_frame_address(0));
	word_pair result = function(a, b, c, d, e, f);
	phase_end(&scope);
	return result;
}

#define HOOK_TYPED(id, phase)
#define HOOK_WORDS(id, phase)
#define HOOK_PHASE(id, phase)
#define HOOK_WAIT(id, phase)

#define HOOK_HIDDEN SIX_WORDS_HOOK

/* Seven words; an eighth on the stack is read and passed on for nothing. */
#define HOOK_STACK(id, phase)                                                               \
	word_pair hook_##id(word a, word b, word c, word d, word e, word f, word g, word h) \
	{                                                                                   \
		eight_words_fn function =                                                   \
			(eight_words_fn)resolve(GGML_##id, __builtin_return_address(0));    \
		struct phase_scope scope;                                                   \
		if (!function)                                                              \
			return 0;                                                           \
		phase_begin(&scope, PHASE_##phase, __builtin_frame_address(0));             \
		word_pair result = function(a, b, c, d, e, f, g, h);                        \
		phase_end(&scope);                                                          \
		return result;                                                              \
	}

#define HOOK(kind, id, symbol, library, use, need, phase, gives) HOOK_##kind(id, phase)

GGML_SYMBOLS(HOOK)
