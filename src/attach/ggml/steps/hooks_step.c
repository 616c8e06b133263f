/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file hooks the functions that open a step, and those that are a phase of one. A step opens
 * at the outermost call of llama_decode(), llama_encode() or the member function behind them. A
 * program that looks the C function up by itself gets past its hook, so the member function is
 * hooked as well. The rows of src/attach/rules/ggml_symbols.h make the hooks that only put a phase
 * around a call. If calls with the same phase nest, only the outermost is recorded. The last
 * hooks here are of calls that change what a context holds.
 */
#include <stdbool.h>
#include "attach/ggml/ggml_hooks.h"
#include "attach/ggml/method.h"
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/contexts.h"
#include "attach/ggml/steps/ggml_plain_steps.h"
#include "attach/ggml/steps/phases.h"
#include "brick/brick.h"

#define HOOK_TYPED(id, phase)
#define HOOK_WORDS(id, phase)
#define HOOK_HIDDEN(id, phase)
#define HOOK_STACK(id, phase)

#define HOOK_PHASE SIX_WORDS_HOOK

/* A backend on the CPU has nothing to wait for, so hook_wait() records no phase for it. */
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

/* An encoder makes no tokens: all that it takes in is a prompt, even if outputs are wanted. */
static struct phase_tokens tokens_of(
	const struct batch_head *batch, const void *context, const void *code, bool may_decode)
{
	struct phase_tokens t = {.batch = batch, .context = context};

	contexts_count(&t, code);
	t.warm_up = brick_enabled() && warm_up_is(batch, context, code);
	if (!may_decode) {
		t.prompt += t.output;
		t.output = t.checked = 0;
	}
	return t;
}

struct evaluation {
	struct phase_scope scope;
	struct phase_tokens tokens;
	const void *frame;
};

static void begin(struct evaluation *v, enum ggml_symbol_id symbol, const void *code,
	bool may_decode, const void *context, const struct batch_head *batch)
{
	v->tokens = tokens_of(batch, context, code, may_decode);
	plain_step_before(v->frame);
	step_begin(&v->scope, &v->tokens, ggml_symbols[symbol].name, code, v->frame);
	plain_step_begin(&v->scope, v->frame);
}

static void end(struct evaluation *v, int32_t status)
{
	plain_step_end(v->frame);
	step_end(&v->scope, &v->tokens, status);
	plain_step_after(v->frame);
}

static word_pair evaluate_member(enum ggml_symbol_id symbol, const void *caller, const void *frame,
	bool may_decode, word context, word batch)
{
	words_fn function = (words_fn)resolve(symbol, caller);
	struct evaluation v = {.frame = frame};

	if (!function)
		return (word_pair)(word)-1;
	if (phase_in_step(frame)) /* llama_decode() has most often begun it */
		return function(context, batch, 0, 0, 0, 0);
	begin(&v, symbol, (const void *)function, may_decode, (const void *)context,
		(const struct batch_head *)batch);
	word_pair result = function(context, batch, 0, 0, 0, 0);
	end(&v, (int32_t)(word)result);
	return result;
}

#define MEMBER_HOOK(id, may_decode)                                                   \
	word_pair hook_##id(word context, word batch, word c, word d, word e, word f) \
	{                                                                             \
		(void)c, (void)d, (void)e, (void)f;                                   \
		return evaluate_member(GGML_##id, __builtin_return_address(0),        \
			__builtin_frame_address(0), may_decode, context, batch);      \
	}

MEMBER_HOOK(CONTEXT_DECODE, 1)
MEMBER_HOOK(CONTEXT_ENCODE, 0)

/*
 * The C functions take their batch by value. The longest batch seen has 72 bytes. A
 * callee with a shorter one ignores the bytes behind it.
 */
struct batch_value {
	struct batch_head head;
	uint64_t rest[2];
};

typedef int32_t (*batch_fn)(void *context, struct batch_value batch);

static int32_t evaluate_by_value(enum ggml_symbol_id symbol, const void *caller, const void *frame,
	bool may_decode, void *context, const struct batch_value *batch)
{
	batch_fn function = (batch_fn)resolve(symbol, caller);
	struct evaluation v = {.frame = frame};

	if (!function)
		return -1;
	begin(&v, symbol, (const void *)function, may_decode, context, &batch->head);
	int32_t status = function(context, *batch);
	end(&v, status);
	return status;
}

#define VALUE_HOOK(id, symbol, may_decode)                                            \
	BRICK_API int32_t hook_##id(void *context, struct batch_value batch) __asm__( \
		SYS_HOOK(symbol));                                                    \
	int32_t hook_##id(void *context, struct batch_value batch)                    \
	{                                                                             \
		return evaluate_by_value(GGML_##id, __builtin_return_address(0),      \
			__builtin_frame_address(0), may_decode, context, &batch);     \
	}

VALUE_HOOK(DECODE, "llama_decode", 1)
VALUE_HOOK(ENCODE, "llama_encode", 0)

/* As with steps, the member function is what callers reach that look the C function up. */
#define WARM_UP_HOOK(id)                                                                       \
	word_pair hook_##id(word context, word on, word c, word d, word e, word f)             \
	{                                                                                      \
		words_fn function = (words_fn)resolve(GGML_##id, __builtin_return_address(0)); \
                                                                                               \
		warm_up_set((const void *)context, (uint8_t)on != 0);                          \
		return function ? function(context, on, c, d, e, f) : 0;                       \
	}

WARM_UP_HOOK(SET_WARMUP)
WARM_UP_HOOK(CONTEXT_WARMUP)

word_pair hook_MEMORY_SEQ_ADD(word memory, word sequence, word from, word to, word by, word f)
{
	words_fn function = (words_fn)resolve(GGML_MEMORY_SEQ_ADD, __builtin_return_address(0));

	if (brick_enabled())
		contexts_moved((int32_t)sequence, (int32_t)from, (int32_t)by);
	return function ? function(memory, sequence, from, to, by, f) : 0;
}

/* A program removes refuted drafts. After the last step no batch follows that would show it. */
word_pair hook_MEMORY_SEQ_RM(word memory, word sequence, word from, word to, word e, word f)
{
	words_fn function = (words_fn)resolve(GGML_MEMORY_SEQ_RM, __builtin_return_address(0));
	word_pair done = function ? function(memory, sequence, from, to, e, f) : 0;

	if (brick_enabled() && (uint8_t)done)
		contexts_removed(
			(const void *)memory, (int32_t)sequence, (int32_t)from, (int32_t)to);
	return done;
}
