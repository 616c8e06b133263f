/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps (torch_steps.h), and the hook of backward(). An exception of C++ may leave the hook without
 * coming by its end; nodes of autograd end in any case, and none is open then.
 */
#include "attach/torch/torch_steps.h"

#include <errno.h>
#include <stddef.h>
#include "attach/common/notes_once.h"
#include "attach/torch/torch_batch.h"
#include "attach/torch/torch_frames.h"
#include "attach/torch/torch_inputs.h"
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_memory.h"
#include "attach/torch/torch_readings.h"
#include "attach/torch/torch_serve.h"
#include "brick/abi/step_counters.h"
#include "brick/brick.h"

static bool saw_backward, saw_optimizer; /* ever */

uint32_t torch_engine_brick(int *brick, const char *name)
{
	int known = __atomic_load_n(brick, __ATOMIC_RELAXED);

	if (known > 0)
		return (uint32_t)known;
	known = brick_register(name, BRICK_CATEGORY_ENGINE);
	__atomic_store_n(brick, known, __ATOMIC_RELAXED);
	return known > 0 ? (uint32_t)known : BRICK_GRAPH_COMPUTE;
}

bool torch_saw_backward(void)
{
	return __atomic_load_n(&saw_backward, __ATOMIC_RELAXED);
}

static void end_training_step(struct torch_thread *t)
{
	torch_readings_tell(t);
	torch_memory_step_end(t);
	brick_end(t->step);
	t->step = 0;
	torch_inputs_ask(&t->more->asking, t->session, TORCH_NO_STEP);
}

/*
 * A training step is open when an outermost module is called: another forward of the same step
 * (gradients are accumulated, or there are several models), or the next step: of a program that
 * updates its weights without an optimizer, or that has fewer optimizers than in the step before.
 * Models without gradients teach between forward passes, some of them several times. The model that
 * learned last is evaluated if it is not in training mode, and so is a model with more calls in a
 * row.
 */
static bool torch_steps_is_over(struct torch_thread *t, const struct torch_call *call)
{
	enum { LESSONS = 4 };
	bool is_evaluation =
		!call->is_training && call->module == t->more->learner && !call->is_in_training;

	t->more->lessons = call->is_training ? 0 : t->more->lessons + 1;
	if (call->is_training)
		t->more->learner = call->module;
	return t->more->updates || is_evaluation || t->more->lessons > LESSONS ||
	       ((t->saw_backward || !call->is_training) && !call->has_optimizer &&
		       !__atomic_load_n(&saw_optimizer, __ATOMIC_RELAXED));
}

/* Steps of other shapes or models, and now and then one whose shapes grow by a token each time. */
static void ask_for_inputs(struct torch_thread *t, const struct torch_call *call)
{
	enum { EVERY = 16 };
	uint32_t kind = 1 + call->is_training + 2u * call->is_decode;
	uint32_t *module = &t->more->asked_modules[call->number % TORCH_ASKED];
	uint64_t tokens =
		t->more->serve_step ? t->more->serve_tokens : call->tokens + call->guidance;

	t->more->steps++;
	bool wanted = *module != call->number + 1 || t->more->asked.kind != kind ||
		      t->more->asked.tokens != tokens || ++t->more->asked.steps >= EVERY;
	*module = call->number + 1;
	if (wanted)
		t->more->asked = (struct torch_asked){tokens, kind, 0};
	torch_inputs_ask(&t->more->asking, t->session, wanted ? TORCH_TOLD : TORCH_PLAIN);
}

/* Threads of PyTorch's operators, as the program sets them until its first step. */
static void note_threads(void)
{
	static uint32_t noted;
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	int (*threads)(void);

	if (__atomic_exchange_n(&noted, now, __ATOMIC_RELAXED) == now)
		return;
	torch_library_symbol("_ZN2at15get_num_threadsEv", &threads);
	if (threads)
		note_once("torch.threads", "%d", threads());
}

static brick_span torch_steps_begin(const struct torch_call *call)
{
	if (call->is_training || !(call->tokens || call->guidance))
		return brick_step_begin(BRICK_PHASE_OTHER, call->tokens);
	if (call->is_decode)
		return brick_step_begin(BRICK_PHASE_DECODE, call->tokens);
	return brick_step_begin_mixed(
		(uint32_t)(call->tokens - call->outputs), (uint32_t)call->outputs);
}

struct torch_forward torch_forward_begin(struct torch_thread *t, const struct torch_call *call)
{
	static int brick;
	static uint32_t padding, repeated, guidance, added;
	struct torch_forward forward = {0, 0};

	if (!t->node && t->backward) { /* an exception has left it */
		brick_end(t->backward);
		t->backward = 0;
	}
	if (!call->is_training && !torch_serve_says_steps(t))
		step_parts_see(&t->more->parts, call->module, call->tokens + call->guidance);
	if (t->step && torch_steps_is_over(t, call))
		end_training_step(t);
	if (!torch_thread_get()) /* we are leaving, and the step that has ended was the last */
		return forward;
	ask_for_inputs(t, call);
	if (torch_serve_says_steps(t)) {
		if (!t->more->serve_step)
			forward.step = brick_step_begin(BRICK_PHASE_WARM_UP, call->tokens);
	} else if (!t->step) {
		torch_readings_begin(t, call->has_threads);
		note_threads();
		/* step(closure): the closure's step of training holds the optimizer's */
		struct torch_scope *scope = t->scope_count ? &t->scopes[t->scope_count - 1] : NULL;
		bool holds = call->is_training && scope && scope->ends_step;
		if (holds && !scope->is_late) /* operators came first */
			brick_end(scope->span);
		brick_span step = torch_steps_begin(call);
		if (holds) {
			scope->span = brick_begin_layer(scope->site->brick, scope->site->layer);
			scope->is_late = t->is_late = false;
		}
		if (call->is_training) {
			t->step = step;
			t->saw_backward = false;
			t->more->learner = call->module;
			t->more->step_number = call->number;
			t->more->lessons = 0;
			t->more->updates_before = t->more->updates;
			t->more->updates = 0;
		} else {
			forward.step = step;
			if (call->has_requests)
				torch_batch_tell();
		}
	} else if (t->saw_backward && call->is_training && call->number == t->more->step_number) {
		if (call->tokens)
			step_counter_set(&added, BRICK_ADDED_NAME, (double)call->tokens);
		t->saw_backward = false;
	}
	torch_memory_forward_begin(t, call->has_gradients);
	if (call->padding)
		step_counter_set(&padding, BRICK_PADDING_NAME, (double)call->padding);
	if (call->repeated)
		step_counter_set(&repeated, BRICK_REPEATED_NAME, (double)call->repeated);
	if (call->guidance)
		step_counter_set(&guidance, BRICK_GUIDANCE_NAME, (double)call->guidance);
	forward.span = brick_begin(torch_engine_brick(&brick, "Forward"));
	torch_frames_begin(t);
	return forward;
}

void torch_forward_end(struct torch_thread *t, const struct torch_forward *forward)
{
	if (forward->span)
		torch_frames_end(t, -1);
	brick_end(forward->span);
	if (forward->step && !torch_serve_says_steps(t))
		torch_readings_tell(t);
	if (forward->span)
		torch_memory_forward_end(t);
	if (forward->step)
		torch_memory_step_end(t);
	else if (forward->span)
		torch_frames_begin(t);
	brick_end(forward->step);
	if (forward->step)
		torch_inputs_ask(&t->more->asking, t->session, TORCH_NO_STEP);
}

void torch_recomputation_begin(struct torch_thread *t, struct torch_recomputed *outer)
{
	static int brick;

	*outer = (struct torch_recomputed){
		.node = t->node,
		.leaf = t->leaf,
		.leaf_site = t->leaf_site,
		.leaf_span = t->leaf_span,
		.leaf_work = t->more->leaf_work,
		.span = brick_begin(torch_engine_brick(&brick, "Recomputation")),
	};
	t->leaf = 0;
	t->node = 0;
}

void torch_recomputation_end(struct torch_thread *t, const struct torch_recomputed *outer)
{
	if (!outer->span)
		return;
	brick_end(outer->span);
	t->node = outer->node;
	t->leaf = outer->leaf;
	t->leaf_site = outer->leaf_site;
	t->leaf_span = outer->leaf_span;
	t->more->leaf_work = outer->leaf_work;
}

void torch_optimizer_end(struct torch_thread *t)
{
	__atomic_store_n(&saw_optimizer, true, __ATOMIC_RELAXED);
	if (++t->more->updates >= t->more->updates_before && t->step && !t->module_depth)
		end_training_step(t);
}

/*
 * Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs), a member with
 * a hidden pointer to its result in front.
 */
typedef void *(*execute_fn)(void *result, void *engine, const void *roots, const void *inputs,
	_Bool keep, _Bool create, _Bool accumulate, const void *outputs);

#define EXECUTE \
	_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

BRICK_API void *EXECUTE(void *result, void *engine, const void *roots, const void *inputs,
	_Bool keep, _Bool create, _Bool accumulate, const void *outputs);

static execute_fn next_execute(void)
{
	static execute_fn next;
	execute_fn found = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (!found) {
		torch_library_next(NAME_OF(EXECUTE), (const void *)EXECUTE, &found);
		__atomic_store_n(&next, found, __ATOMIC_RELAXED);
	}
	return found;
}

BRICK_API void *EXECUTE(void *result, void *engine, const void *roots, const void *inputs,
	_Bool keep, _Bool create, _Bool accumulate, const void *outputs)
{
	static int brick;
	int saved = errno;
	execute_fn next = next_execute();
	struct torch_thread *t = torch_observed() ? torch_thread_get() : NULL;

	if (!t || (t->node && t->backward)) {
		errno = saved;
		return next(result, engine, roots, inputs, keep, create, accumulate, outputs);
	}
	__atomic_store_n(&saw_backward, true, __ATOMIC_RELAXED);
	t->saw_backward = true;
	torch_frames_end(t, -1);
	if (t->is_late)
		torch_scope_begin_late(t);
	t->backward = brick_begin(torch_engine_brick(&brick, "Backward"));
	errno = saved;
	result = next(result, engine, roots, inputs, keep, create, accumulate, outputs);
	saved = errno;
	brick_end(t->backward);
	t->backward = 0;
	torch_frames_begin(t);
	errno = saved;
	return result;
}
