/* SPDX-License-Identifier: Apache-2.0 */
/* Steps (steps.h): begun by the hooks of hooks_step.c and hooks_graph.c. */
#include "attach/ggml/steps/steps.h"

#include <string.h>
#include "attach/ggml/ggml_notes.h"
#include "attach/ggml/nodes/prompt_memory.h"
#include "attach/common/notes_once.h"
#include "brick/abi/step_counters.h"
#include "brick/attach.h"
#include "brick/brick.h"

static uint32_t has_own_steps; /* llama_decode() or its kin has been called */

/* One at a time: programs warm a context up when they have made it. */
static const void *warm_context;

void step_warm_up_set(const void *context, int on)
{
	const void *was = context;

	if (on)
		__atomic_store_n(&warm_context, context, __ATOMIC_RELAXED);
	else
		__atomic_compare_exchange_n(
			&warm_context, &was, NULL, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int step_is_warm_up(const void *context)
{
	return context && __atomic_load_n(&warm_context, __ATOMIC_RELAXED) == context;
}

/* Once per session and method; before the step, not in its time. */
static void note_method(const char *method, const void *code)
{
	static const char *last;
	static uint32_t session;
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (__atomic_load_n(&last, __ATOMIC_RELAXED) == method &&
		__atomic_load_n(&session, __ATOMIC_RELAXED) == now)
		return;
	if (brick_thread_ready())
		return;
	__atomic_store_n(&last, method, __ATOMIC_RELAXED);
	__atomic_store_n(&session, now, __ATOMIC_RELAXED);
	note_once("steps", "%s", method);
	if (code)
		notes_library("llama.library", (uintptr_t)code);
}

/* Within the step, so that it is the step's. *counter: its brick + 1. */
static void count_tokens(uint32_t *counter, const char *name, double tokens)
{
	uint32_t id = __atomic_load_n(counter, __ATOMIC_RELAXED);

	if (!id) {
		int brick = brick_register(name, BRICK_CATEGORY_ENGINE);
		if (brick < 0)
			return;
		id = (uint32_t)brick + 1;
		__atomic_store_n(counter, id, __ATOMIC_RELAXED);
	}
	brick_counter(id - 1, tokens);
}

/* What most programs have none of is not recorded as 0. */
static void count_drafts(const struct phase_tokens *tokens)
{
	static uint32_t counters[2];

	if (tokens->checked)
		count_tokens(&counters[0], BRICK_CHECKED_NAME, tokens->checked);
	if (tokens->checked && tokens->drafter >= 0)
		count_tokens(&counters[1], BRICK_DRAFTER_NAME, tokens->drafter);
	step_refuted(tokens->number, tokens->refuted);
}

void step_refuted(int32_t context, uint32_t drafts)
{
	static uint32_t counters[2];

	if (context)
		count_tokens(&counters[0], BRICK_CONTEXT_NAME, context);
	if (drafts)
		count_tokens(&counters[1], BRICK_REFUTED_NAME, drafts);
}

void step_begin(struct phase_scope *scope, const struct phase_tokens *tokens, const char *method,
	const void *code, const void *frame)
{
	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || phase_in_step(frame))
		return;
	__atomic_store_n(&has_own_steps, 1, __ATOMIC_RELAXED);
	note_method(method, code);
	int32_t repeated =
		tokens->batch ? prompt_memory_repeated(tokens->context, tokens->batch) : -1;
	phase_step_begin(scope, tokens, frame);
	static uint32_t counter;
	if (repeated >= 0 && scope->depth)
		count_tokens(&counter, BRICK_REPEATED_NAME, repeated);
	if (scope->depth)
		count_drafts(tokens);
}

void step_end(struct phase_scope *scope, const struct phase_tokens *tokens, int32_t status)
{
	/* llama_decode(): 1 and -1 before anything was evaluated; 2: aborted; less: failed */
	int began = status == 2 || status < -1;
	static uint32_t counters[2];

	if (status && scope->depth && brick_enabled())
		count_tokens(&counters[began], began ? BRICK_ABORTED_NAME : BRICK_REFUSED_NAME,
			(double)tokens->prompt + tokens->output);
	phase_end(scope);
}

void step_begin_graph(struct phase_scope *scope, const void *frame)
{
	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || __atomic_load_n(&has_own_steps, __ATOMIC_RELAXED) ||
		phase_in_step(frame))
		return;
	note_method("one per graph: this engine has no steps that are known; tokens unknown", NULL);
	/* Just above the phase that the same hook is going to begin. */
	static const struct phase_tokens unknown = {0};
	phase_step_begin(scope, &unknown, (const char *)frame + 1);
}
