/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps (torch_steps.h), and the hook of backward(). An exception of C++ may leave a hook without
 * coming by its end; a frame that lies below a new one's is then known to be gone.
 */
#include "attach/torch/torch_steps.h"

#include <errno.h>
#include <stddef.h>
#include "attach/torch/torch_inputs.h"
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_serve.h"
#include "base/hash.h"
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
	brick_end(t->step);
	t->step = 0;
	torch_inputs_ask(true);
}

/*
 * A training step is open when an outermost module is called: another forward of the same step
 * (gradients are accumulated, or there are several models), or the next step: of a program that
 * updates its weights without an optimizer, or that has fewer optimizers than in the step before.
 */
static bool torch_steps_is_over(const struct torch_thread *t, const struct torch_call *call)
{
	return !call->is_training || t->more->updates ||
	       (t->saw_backward && !call->has_optimizer &&
		       !__atomic_load_n(&saw_optimizer, __ATOMIC_RELAXED));
}

/* Steps of other shapes or models, and now and then one whose shapes grow by a token each time. */
static void ask_for_inputs(struct torch_thread *t, const struct torch_call *call)
{
	enum { EVERY = 16 };
	uint32_t kind = 1 + call->is_training + 2u * call->is_decode;
	uint64_t module = 1ull << ((uintptr_t)call->module / 16 * HASH_GOLDEN >> 58);
	uint64_t tokens = t->more->serve_step ? t->more->serve_tokens : call->tokens;

	t->more->steps++;
	bool wanted = !(t->more->asked_modules & module) || t->more->asked.kind != kind ||
		      t->more->asked.tokens != tokens || ++t->more->asked.steps >= EVERY;
	t->more->asked_modules |= module;
	if (wanted)
		t->more->asked = (struct torch_asked){tokens, kind, 0};
	torch_inputs_ask(wanted);
}

struct torch_forward torch_forward_begin(struct torch_thread *t, const struct torch_call *call)
{
	static int brick, padding;
	struct torch_forward forward = {0, 0};

	ask_for_inputs(t, call);
	if (call->padding)
		brick_counter(
			torch_engine_brick(&padding, "padding tokens"), (double)call->padding);
	if (!call->is_training && !torch_serve_says_steps(t))
		step_parts_see(&t->parts, call->module, call->tokens);
	if (t->step && torch_steps_is_over(t, call))
		end_training_step(t);
	if (torch_serve_says_steps(t)) {
		if (!t->more->serve_step)
			forward.step = brick_step_begin(BRICK_PHASE_WARM_UP, call->tokens);
	} else if (!t->step) {
		brick_span step = brick_step_begin(
			call->is_decode ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, call->tokens);
		if (call->is_training) {
			t->step = step;
			t->saw_backward = false;
			t->more->updates_before = t->more->updates;
			t->more->updates = 0;
		} else {
			forward.step = step;
		}
	}
	forward.span = brick_begin(torch_engine_brick(&brick, "Forward"));
	return forward;
}

void torch_forward_end(const struct torch_forward *forward)
{
	brick_end(forward->span);
	brick_end(forward->step);
	if (forward->step)
		torch_inputs_ask(true);
}

void torch_recomputation_begin(struct torch_thread *t, struct torch_recomputed *outer)
{
	static int brick;

	*outer = (struct torch_recomputed){
		.backward = t->backward,
		.leaf = t->leaf,
		.leaf_site = t->leaf_site,
		.leaf_span = t->leaf_span,
		.leaf_work = t->more->leaf_work,
		.span = brick_begin(torch_engine_brick(&brick, "Recomputation")),
	};
	t->leaf = 0;
	t->backward = NULL;
}

void torch_recomputation_end(struct torch_thread *t, const struct torch_recomputed *outer)
{
	if (!outer->span)
		return;
	brick_end(outer->span);
	t->backward = outer->backward;
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
	const char *frame = __builtin_frame_address(0);
	execute_fn next = next_execute();
	struct torch_thread *t = torch_observed() ? torch_thread_get() : NULL;

	if (!t || (t->backward && t->backward > frame)) {
		errno = saved;
		return next(result, engine, roots, inputs, keep, create, accumulate, outputs);
	}
	__atomic_store_n(&saw_backward, true, __ATOMIC_RELAXED);
	t->backward = frame;
	t->saw_backward = true;
	brick_span span = brick_begin(torch_engine_brick(&brick, "Backward"));
	errno = saved;
	result = next(result, engine, roots, inputs, keep, create, accumulate, outputs);
	saved = errno;
	brick_end(span);
	t->backward = NULL;
	errno = saved;
	return result;
}
