/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of steps, of their phases, and of changes of a context's sequences. A step is the outermost
 * call of llama_decode(), llama_encode() or the member functions behind them. The member functions
 * are hooked, too, because a program that looks up the C function by itself bypasses that hook.
 * Hooks that only put a phase around a call are made from the rows of
 * src/attach/rules/ggml_symbols.h. If calls with the same phase nest, only the outermost is
 * recorded.
 */
#include <stdbool.h>
#include "attach/ggml/hooks/ggml_hooks.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/site_table.h"
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/contexts.h"
#include "attach/ggml/hooks/ggml_plain_steps.h"
#include "attach/ggml/steps/phases.h"
#include "brick/abi/lane.h"
#include "brick/brick.h"

#define HOOK_TYPED(id, phase)
#define HOOK_WORDS(id, phase)
#define HOOK_HIDDEN PHASE_HOOK
#define HOOK_STACK PHASE_HOOK
#define HOOK_PHASE PHASE_HOOK

/* A backend on the CPU has nothing to wait for, so hook_wait() records no phase for it. */
#define HOOK_WAIT(id, phase)                                                                 \
	word_pair hook_##id(                                                                 \
		word a, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                    \
		(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;                        \
		return hook_wait(GGML_##id, call);                                           \
	}

word_pair hook_phase(enum ggml_symbol_id symbol, enum phase phase, const struct sys_call *call)
{
	const void *function = resolve(symbol, call->caller);
	struct phase_scope scope;

	if (!function)
		return 0;
	if (phase == PHASE_SAMPLING || symbol == GGML_SYNCHRONIZE)
		contexts_results_read();
	phase_begin(&scope, phase, call);
	word_pair result = sys_pass_on(function, call);
	phase_end(&scope);
	return result;
}

static word_pair hook_wait(enum ggml_symbol_id symbol, const struct sys_call *call)
{
	if (!method_cpu_only())
		return hook_phase(symbol, PHASE_SYNCHRONIZE, call);
	const void *function = resolve(symbol, call->caller);
	if (symbol == GGML_SYNCHRONIZE)
		contexts_results_read();
	return function ? sys_pass_on(function, call) : 0;
}

#define HOOK(kind, id, symbol, library, use, need, phase, gives) HOOK_##kind(id, phase)

GGML_SYMBOLS(HOOK)

struct evaluation {
	struct phase_scope scope;
	struct phase_tokens tokens;
	const void *frame;
	struct batch_sequences sequences;
};

static void hooks_step_begin(struct evaluation *v, enum ggml_symbol_id symbol, const void *code,
	bool may_decode, const void *context, const struct batch_head *batch)
{
	struct phase_tokens *t = &v->tokens;

	step_switch(true);
	*t = (struct phase_tokens){.batch = batch, .context = context, .is_encoder = !may_decode};
	contexts_count(t, code, &v->sequences);
	t->warm_up = brick_enabled() && warm_up_is(batch, context, code);
	/* An encoder makes no tokens: all it takes in is a prompt, even if outputs are wanted. */
	if (!may_decode) {
		t->prompt += t->output;
		t->output = t->checked = 0;
	}
	plain_step_before(v->frame);
	step_begin(&v->scope, &v->tokens, ggml_symbols[symbol].name, code, v->frame);
	plain_step_begin(&v->scope, v->frame);
}

static void hooks_step_end(struct evaluation *v, int32_t status)
{
	plain_step_end(v->frame);
	step_end(&v->scope, &v->tokens, status);
	plain_step_after(v->frame);
}

static word_pair evaluate_member(enum ggml_symbol_id symbol, bool may_decode, word context,
	word batch, const struct sys_call *call)
{
	const void *function = resolve(symbol, call->caller);
	struct evaluation v;

	v.frame = call;
	if (!function)
		return (word_pair)(word)-1;
	/* llama_decode() has most often begun it */
	if (phase_in_step(call) || !batch)
		return sys_pass_on(function, call);
	hooks_step_begin(&v, symbol, function, may_decode, (const void *)context,
		(const struct batch_head *)batch);
	word_pair result = sys_pass_on(function, call);
	hooks_step_end(&v, (int32_t)(word)result);
	return result;
}

#define MEMBER_HOOK(id, may_decode)                                                   \
	word_pair hook_##id(word context, word batch, word c, word d, word e, word f, \
		const struct sys_call *call)                                          \
	{                                                                             \
		(void)c, (void)d, (void)e, (void)f;                                   \
		return evaluate_member(GGML_##id, may_decode, context, batch, call);  \
	}

MEMBER_HOOK(CONTEXT_DECODE, 1)
MEMBER_HOOK(CONTEXT_ENCODE, 0)

/* The C functions take their batch by value. */
static word_pair evaluate_by_value(
	enum ggml_symbol_id symbol, bool may_decode, word context, const struct sys_call *call)
{
	const void *function = resolve(symbol, call->caller);
	struct evaluation v;

	v.frame = call;
	if (!function)
		return (word_pair)(word)-1;
	hooks_step_begin(
		&v, symbol, function, may_decode, (const void *)context, sys_second_by_value(call));
	word_pair result = sys_pass_on(function, call);
	hooks_step_end(&v, (int32_t)(word)result);
	return result;
}

#define VALUE_HOOK(id, may_decode)                                                                 \
	word_pair hook_##id(                                                                       \
		word context, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                          \
		(void)b, (void)c, (void)d, (void)e, (void)f;                                       \
		return evaluate_by_value(GGML_##id, may_decode, context, call);                    \
	}

VALUE_HOOK(DECODE, 1)
VALUE_HOOK(ENCODE, 0)

/* As with steps, a caller that looks the C function up reaches only the member's hook. */
#define WARM_UP_HOOK(id)                                                           \
	word_pair hook_##id(word context, word on, word c, word d, word e, word f, \
		const struct sys_call *call)                                       \
	{                                                                          \
		const void *function = resolve(GGML_##id, call->caller);           \
                                                                                   \
		(void)c, (void)d, (void)e, (void)f;                                \
		warm_up_set((const void *)context, (uint8_t)on != 0);              \
		return function ? sys_pass_on(function, call) : 0;                 \
	}

WARM_UP_HOOK(SET_WARMUP)
WARM_UP_HOOK(CONTEXT_WARMUP)

/* What a program does with the memory of a context; versions had several names for each. */
enum memory_call { SEQ_RM, SEQ_CP, SEQ_KEEP, SEQ_ADD, CLEAR };

struct memory_words {
	word of; /* a context's memory, or the context itself */
	word b, c, d, e, f;
};

static void hooks_step_tell(enum memory_call call, const struct memory_words *w)
{
	static const uint8_t events[] = {[SEQ_RM] = BRICK_SEQUENCE_REMOVED,
		[SEQ_CP] = BRICK_SEQUENCE_COPIED,
		[SEQ_KEEP] = BRICK_SEQUENCE_KEPT,
		[SEQ_ADD] = BRICK_SEQUENCE_MOVED,
		[CLEAR] = BRICK_SEQUENCE_REMOVED};
	int32_t sequence = call == CLEAR ? BRICK_SEQUENCE_ALL : (int32_t)w->b;
	struct brick_sequence_record r = {.event = events[call],
		.sequence = sequence < 0 ? BRICK_SEQUENCE_ALL : sequence,
		.position = 0,
		.end = -1};

	if (call == SEQ_CP)
		r.tokens = (uint32_t)w->c;
	if (call == SEQ_ADD)
		r.tokens = (uint32_t)w->e;
	if (call == SEQ_RM || call == SEQ_ADD || call == SEQ_CP) {
		int32_t from = (int32_t)(call == SEQ_CP ? w->d : w->c);
		r.position = from < 0 ? 0 : from;
		r.end = (int32_t)(call == SEQ_CP ? w->e : w->d);
	}
	contexts_sequence((const void *)w->of, &r);
}

/* A program removes refuted drafts, too: after the last step no batch follows that shows it. */
static word_pair call_memory(enum ggml_symbol_id symbol, enum memory_call change,
	const struct memory_words *w, const struct sys_call *call)
{
	const void *function = resolve(symbol, call->caller);
	struct phase_scope scope;

	if (!function)
		return 0;
	phase_begin(&scope, PHASE_KV_PREPARE, call);
	word_pair done = sys_pass_on(function, call);
	phase_end(&scope);
	if (brick_enabled() && (change != SEQ_RM || (uint8_t)done))
		hooks_step_tell(change, w);
	return done;
}

#define MEMORY_HOOK(owner, change)                                                           \
	word_pair hook_##owner##_##change(                                                   \
		word a, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                    \
		return call_memory(GGML_##owner##_##change, change,                          \
			&(struct memory_words){a, b, c, d, e, f}, call);                     \
	}

#define MEMORY_HOOKS(owner)          \
	MEMORY_HOOK(owner, SEQ_RM)   \
	MEMORY_HOOK(owner, SEQ_CP)   \
	MEMORY_HOOK(owner, SEQ_KEEP) \
	MEMORY_HOOK(owner, SEQ_ADD)  \
	MEMORY_HOOK(owner, CLEAR)

MEMORY_HOOKS(MEMORY)
MEMORY_HOOKS(KV_SELF)
MEMORY_HOOKS(KV_CACHE)

/* (sampler, context, index in the last batch): the next token of that index's sequence. */
static word_pair sample(
	enum ggml_symbol_id symbol, word context, word index, const struct sys_call *call)
{
	/* the outermost such call that runs; one that an exception left has a frame below ours */
	static __thread const char *inside __attribute__((tls_model("initial-exec")));
	bool is_outermost = !inside || inside <= (const char *)call;

	if (is_outermost)
		inside = (const char *)call;
	word_pair token = hook_phase(symbol, PHASE_SAMPLING, call);
	if (is_outermost)
		inside = NULL;
	if (is_outermost && brick_enabled())
		contexts_sampled((const void *)context, (int32_t)index);
	return token;
}

#define SAMPLE_HOOK(id)                                                                      \
	word_pair hook_##id(                                                                 \
		word a, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                    \
		(void)a, (void)d, (void)e, (void)f;                                          \
		return sample(GGML_##id, b, c, call);                                        \
	}

SAMPLE_HOOK(SAMPLER_SAMPLE)
SAMPLE_HOOK(COMMON_SAMPLE)

/* A saved state replaces what a sequence, or all of them, had. `mask`: of a result that is not 0
 * where that was done. */
static word_pair load_state(enum ggml_symbol_id symbol, word of, int32_t sequence, word mask,
	const struct sys_call *call)
{
	word_pair done = hook_phase(symbol, PHASE_STATE_LOAD, call);
	struct brick_sequence_record r = {
		.event = BRICK_SEQUENCE_LOADED, .sequence = sequence, .position = -1, .end = -1};

	if (brick_enabled() && ((word)done & mask))
		contexts_sequence((const void *)of, &r);
	return done;
}

#define STATE_HOOK(id, sequence, mask)                                                       \
	word_pair hook_##id(                                                                 \
		word a, word b, word c, word d, word e, word f, const struct sys_call *call) \
	{                                                                                    \
		(void)b, (void)c, (void)d, (void)e, (void)f;                                 \
		return load_state(GGML_##id, a, sequence, mask, call);                       \
	}

#define BYTES UINTPTR_MAX /* a number of bytes */
#define TRUTH UINT8_MAX	  /* a bool */
STATE_HOOK(STATE_SET, BRICK_SEQUENCE_ALL, BYTES)
STATE_HOOK(STATE_LOAD_FILE, BRICK_SEQUENCE_ALL, TRUTH)
STATE_HOOK(STATE_SEQ_SET, (int32_t)d, BYTES)	   /* (context, from, bytes, sequence) */
STATE_HOOK(STATE_SEQ_SET_EXT, (int32_t)d, BYTES)   /* the same, flags */
STATE_HOOK(STATE_SEQ_LOAD_FILE, (int32_t)c, BYTES) /* (context, path, sequence, ...) */

word_pair hook_FREE(
	word context, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_FREE, call->caller);

	(void)b, (void)c, (void)d, (void)e, (void)f;
	contexts_freed((const void *)context);
	return function ? sys_pass_on(function, call) : 0;
}

/* (plan, graph, threads, pool), the first hidden on some machines; says early whether sites need
 * twins. */
word_pair hook_GRAPH_PLAN(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_GRAPH_PLAN, call->caller);
	struct phase_scope scope;

	(void)a, (void)d, (void)e, (void)f;
	if (!function)
		return 0;
	if ((int)(SYS_HIDES_RESULT ? b : c) > 1)
		__atomic_store_n(&site_table_wants_parts, 1, __ATOMIC_RELAXED);
	phase_begin(&scope, PHASE_GRAPH_PLAN, call);
	word_pair result = sys_pass_on(function, call);
	phase_end(&scope);
	return result;
}
