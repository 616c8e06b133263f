/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the memory that an engine asks for: buffers of ggml as they are made, used and freed,
 * and states of sequences that a program saves, such as those of a prompt cache.
 */
#include <stdbool.h>
#include "attach/ggml/hooks/ggml_hooks.h"
#include "attach/ggml/steps/contexts.h"
#include "attach/ggml/steps/engine_buffers.h"

/* The calls of this thread that allocate all tensors of a context, nested. */
static __thread uint32_t of_contexts __attribute__((tls_model("initial-exec")));

/* (type, functions by value, its own data, bytes) */
word_pair hook_BUFFER_INIT(
	word type, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_BUFFER_INIT, call->caller);

	(void)b, (void)c, (void)d, (void)e, (void)f;
	if (!function)
		return 0;
	word_pair buffer = sys_pass_on(function, call);
	engine_buffers_made((const void *)(word)buffer, (const void *)type, function);
	return buffer;
}

word_pair hook_BUFFER_FREE(
	word buffer, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_BUFFER_FREE, call->caller);

	(void)b, (void)c, (void)d, (void)e, (void)f;
	engine_buffers_freed((const void *)buffer);
	return function ? sys_pass_on(function, call) : 0;
}

word_pair hook_BUFFER_USAGE(
	word buffer, word usage, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_BUFFER_USAGE, call->caller);

	(void)c, (void)d, (void)e, (void)f;
	engine_buffers_used((const void *)buffer, (int)usage);
	return function ? sys_pass_on(function, call) : 0;
}

/* (context, type): a cache's tensors have names by then. */
word_pair hook_ALLOC_TENSORS(
	word context, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_ALLOC_TENSORS, call->caller);

	(void)b, (void)c, (void)d, (void)e, (void)f;
	if (!function)
		return 0;
	uint64_t mark = engine_buffers_mark();
	of_contexts++;
	word_pair buffer = sys_pass_on(function, call);
	of_contexts--;
	if ((word)buffer && engine_buffers_is_cache((const void *)context, function))
		engine_buffers_settle(mark, BRICK_MEMORY_CACHE);
	return buffer;
}

/* What llama.cpp asks for itself, and not for a context's tensors, is for outputs. */
word_pair hook_ALLOC_BUFFER(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_ALLOC_BUFFER, call->caller);

	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	if (!function)
		return 0;
	uint64_t mark = engine_buffers_mark();
	word_pair buffer = sys_pass_on(function, call);
	if ((word)buffer && !of_contexts && contexts_are_of(call->caller))
		engine_buffers_settle(mark, BRICK_MEMORY_OUTPUTS);
	return buffer;
}

/* (context, to, room, ...): returns how many bytes it wrote. */
static word_pair save_state(
	enum ggml_symbol_id symbol, word to, word room, const struct sys_call *call)
{
	word_pair bytes = hook_phase(symbol, PHASE_STATE_SAVE, call);

	if (to && (word)bytes && (word)bytes <= room)
		engine_buffers_saved((const void *)to, (word)bytes);
	return bytes;
}

#define SAVE_HOOK(id)                                                                        \
	word_pair hook_##id(                                                                 \
		word a, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                    \
		(void)a, (void)d, (void)e, (void)f;                                          \
		return save_state(GGML_##id, b, c, call);                                    \
	}

SAVE_HOOK(STATE_GET)
SAVE_HOOK(STATE_SEQ_GET)
SAVE_HOOK(STATE_SEQ_GET_EXT)
