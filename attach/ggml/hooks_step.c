/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: llama_decode() and llama_encode(), and the member functions behind them, which are reached
 * also when a program looked the C function up by itself. Whichever is called first opens the step.
 */
#include "attach/ggml/hook_words.h"
#include "attach/ggml/steps.h"

static word_pair evaluate(enum ggml_symbol_id symbol, const void *caller, const void *frame,
	int may_decode, word context, word batch)
{
	words_fn function = (words_fn)resolve(symbol, caller);
	const struct batch_head *head = (const struct batch_head *)batch;
	struct phase_scope scope;

	if (!function)
		return (word_pair)(word)-1;
	step_begin(&scope, may_decode && batch_is_decode(head),
		head->n_tokens > 0 ? (uint64_t)head->n_tokens : 0, ggml_symbols[symbol].name,
		(const void *)function, frame);
	word_pair result = function(context, batch, 0, 0, 0, 0);
	phase_end(&scope);
	return result;
}

#define MEMBER_HOOK(id, may_decode)                                                   \
	word_pair hook_##id(word context, word batch, word c, word d, word e, word f) \
	{                                                                             \
		(void)c, (void)d, (void)e, (void)f;                                   \
		return evaluate(GGML_##id, __builtin_return_address(0),               \
			__builtin_frame_address(0), may_decode, context, batch);      \
	}

MEMBER_HOOK(CONTEXT_DECODE, 1)
MEMBER_HOOK(CONTEXT_ENCODE, 0)

/*
 * By value, as the C functions take it. The longest batch seen is 72 bytes; where the callee's is
 * shorter, what follows it is passed on for nothing.
 */
struct batch_value {
	struct batch_head head;
	uint64_t rest[2];
};

typedef int32_t (*batch_fn)(void *context, struct batch_value batch);

static int32_t evaluate_value(enum ggml_symbol_id symbol, const void *caller, const void *frame,
	int may_decode, void *context, const struct batch_value *batch)
{
	batch_fn function = (batch_fn)resolve(symbol, caller);
	struct phase_scope scope;

	if (!function)
		return -1;
	step_begin(&scope, may_decode && batch_is_decode(&batch->head),
		batch->head.n_tokens > 0 ? (uint64_t)batch->head.n_tokens : 0,
		ggml_symbols[symbol].name, (const void *)function, frame);
	int32_t status = function(context, *batch);
	phase_end(&scope);
	return status;
}

#define VALUE_HOOK(id, symbol, may_decode)                                        \
	BRICK_API int32_t symbol(void *context, struct batch_value batch);        \
	int32_t symbol(void *context, struct batch_value batch)                   \
	{                                                                         \
		return evaluate_value(GGML_##id, __builtin_return_address(0),     \
			__builtin_frame_address(0), may_decode, context, &batch); \
	}

VALUE_HOOK(DECODE, llama_decode, 1)
VALUE_HOOK(ENCODE, llama_encode, 0)
