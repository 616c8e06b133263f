/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observers (torch_observers.h). The outermost operator is a brick, and operators inside of it
 * are a part of it, unless `record --inner` shows them. The brick is open meanwhile, because oneDNN
 * records its primitives inside (by ITT). A function of the program's own (torch.autograd.Function)
 * is a container: a brick around the bricks of the operators that it runs.
 *
 * PyTorch's interface is C++: RecordFunctionCallback is passed by value, in memory, as it has more
 * than 16 bytes. A callback at the begin returns a std::unique_ptr, by a hidden pointer to it; NULL
 * in it owns nothing, and no destructor is called.
 */
#include "attach/torch/torch_observers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/torch/torch_compile.h"
#include "attach/torch/torch_frames.h"
#include "attach/torch/torch_inputs.h"
#include "attach/torch/torch_interface.h"
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_memory.h"
#include "attach/torch/torch_modules.h"
#include "attach/torch/torch_steps.h"
#include "attach/torch/torch_thread.h"
#include "attach/torch/torch_work.h"
#include "base/thread.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/sys/environment.h"

static const char *(*observers_name_of)(const void *function);
static uint32_t number_word; /* of a RecordFunction: its number for autograd; 0: not known */

static bool observers_show_inner; /* operators that others call are bricks, too */

static int64_t number_of(const void *function)
{
	return number_word ? ((const int64_t *)function)[number_word] : -1;
}

/*
 * ---- operators ----
 */

static void open_container(struct torch_thread *t, const struct named_site *site)
{
	if (t->container_count < TORCH_CONTAINERS && site)
		t->containers[t->container_count++] = (struct torch_container){
			t->depth, brick_begin_layer(site->brick, site->layer)};
}

/*
 * The operator's work by its inputs if these are told, else that of the same execution a step
 * before. An operator that is new in a step that is told no inputs has the next step told.
 */
static struct torch_work work_here(
	struct torch_thread *t, struct torch_known *known, const void *function)
{
	if (!known->step && !torch_inputs_count(function))
		t->more->asked.kind = 0;
	if (known->step != t->more->steps) {
		known->step = t->more->steps;
		known->executed = 0;
	}
	struct torch_work *kept =
		known->executed < TORCH_WORKS ? &known->works[known->executed++] : NULL;
	if (!torch_inputs_count(function))
		return kept ? *kept : (struct torch_work){0, 0};
	struct torch_work work = torch_work_of(known->work, function);
	if (kept)
		*kept = work;
	return work;
}

/* The type of numbers that the operator is told; later executions have it, too. */
static void see_type(struct torch_known *known, const void *function)
{
	struct torch_tensor tensor;

	if (torch_inputs_tensor(function, 0, &tensor) && tensor.type != known->type &&
		(known->type || *tensor.type))
		torch_know_type(known, tensor.type);
}

/* It has the outer one's layer. The outer one's work is not known then: its time is the rest's. */
static void inner_start(struct torch_thread *t, const void *function)
{
	const struct named_site *site =
		torch_know(t, &torch_inner_module, observers_name_of(function))->site;

	t->more->leaf_work = (struct torch_work){0, 0};
	if (t->container_count < TORCH_CONTAINERS && site)
		t->containers[t->container_count++] = (struct torch_container){
			t->depth, brick_begin_layer(site->brick, t->leaf_site->layer)};
}

/*
 * ---- TorchScript ----
 * Its functions run operators. The outermost one is a step where no module of Python is. Compiling
 * a function calls another one, of this name, for the values of its defaults, which runs none: such
 * a step begins with its first operator.
 */

static __thread struct {
	uint32_t depth, session;
	bool is_late;
	struct torch_forward forward;
} script __attribute__((tls_model("initial-exec")));

static void script_begin_late(struct torch_thread *t)
{
	script.is_late = false;
	if (script.session == t->session && script.depth)
		script.forward = torch_forward_begin(t, &(struct torch_call){0});
}

static void **operator_start(void **result, const void *function)
{
	struct torch_thread *t = torch_thread_get();

	*result = NULL;
	if (!t)
		return result;
	t->depth++;
	if (BRICK_UNLIKELY(t->leaf && observers_show_inner))
		inner_start(t, function);
	if (t->leaf || torch_compiles(t))
		return result;
	torch_modules_ready();
	if (BRICK_UNLIKELY(script.is_late))
		script_begin_late(t);
	struct torch_known *known = torch_know(t, t->module, observers_name_of(function));
	if (known->kind == TORCH_TRANSPARENT) {
		t->node = t->node ? t->node : t->depth;
	} else if (known->kind == TORCH_CONTAINER) {
		torch_compile_see(known->name);
		torch_frames_end(t, -1);
		open_container(t, known->site);
		torch_frames_begin(t);
	} else if (known->kind == TORCH_LEAF && known->site) {
		int64_t number = t->node ? -1 : number_of(function);
		if (number >= 0)
			torch_forward_number(t, number);
		if (torch_inputs_count(function))
			see_type(known, function);
		t->leaf = t->depth;
		t->leaf_site = known->site;
		torch_memory_operator_begin(t);
		torch_frames_end(t, known->site->layer);
		if (BRICK_UNLIKELY(t->is_late))
			torch_scope_begin_late(t);
		t->more->leaf_work =
			known->work ? work_here(t, known, function) : (struct torch_work){0, 0};
		t->leaf_span = brick_begin_from(
			known->site->brick, known->site->layer, BRICK_SOURCE_CALLBACK);
	}
	return result;
}

/* A node of autograd is in the module of its forward operator, if that ran on this thread. */
static void **node_start(void **result, const void *function)
{
	struct torch_thread *t = torch_thread_get();
	int64_t number = t && t->backward && !t->leaf ? number_of(function) : -1;
	const struct torch_module *made = number >= 0 ? torch_module_of_number(t, number) : NULL;
	const struct torch_module *outer = made ? t->module : NULL;

	if (t && !t->node)
		t->node = t->depth + 1;
	if (made)
		t->module = made;
	operator_start(result, function);
	if (made)
		t->module = outer;
	return result;
}

static void operator_end(const void *function, void *context)
{
	struct torch_thread *t = torch_thread_get_to_end();

	(void)function, (void)context;
	if (!t || !t->depth)
		return;
	if (t->leaf == t->depth) {
		if (t->leaf_site->site)
			brick_end_site_work(t->leaf_span, t->leaf_site->site,
				t->more->leaf_work.bytes, t->more->leaf_work.flops);
		else
			brick_end(t->leaf_span);
		torch_memory_operator_end(t);
		t->leaf = 0;
		torch_frames_begin(t);
	} else if (t->container_count && t->containers[t->container_count - 1].depth == t->depth) {
		if (!t->leaf)
			torch_frames_end(t, -1);
		brick_end(t->containers[--t->container_count].span);
		if (!t->leaf)
			torch_frames_begin(t);
	}
	if (t->node == t->depth)
		t->node = 0;
	t->depth--;
}

/*
 * ---- scopes that the program or PyTorch's Python opens: record_function() ----
 * One may end on another thread, where it is not found.
 */

static void **scope_start(void **result, const void *function)
{
	struct torch_thread *t = torch_thread_get();

	*result = NULL;
	if (!t || t->leaf || t->scope_count == TORCH_SCOPES)
		return result;
	const char *name = observers_name_of(function);
	if (torch_compiles(t))
		return result;
	const struct named_site *site = torch_know(t, t->module, name)->site;
	torch_frames_end(t, -1);
	if (site) {
		bool ends_step = !strncmp(name, "Optimizer.step#", 15);
		struct torch_scope scope = {.function = function,
			.site = site,
			.ends_step = ends_step,
			.loads = !strncmp(name, "enumerate(DataLoader)", 21),
			.is_late = ends_step && !t->step && !t->module_depth};
		if (scope.is_late)
			scope.open = torch_open_bricks();
		else
			scope.span = brick_begin_layer(site->brick, site->layer);
		t->scopes[t->scope_count++] = scope;
		t->is_late = scope.is_late;
	}
	torch_frames_begin(t);
	return result;
}

static void scope_end(const void *function, void *context)
{
	struct torch_thread *t = torch_thread_get_to_end();

	(void)context;
	if (!t)
		return;
	for (uint32_t i = t->scope_count; i-- > 0;) {
		if (t->scopes[i].function != function)
			continue;
		torch_frames_end(t, -1);
		if (t->scopes[i].is_late) /* it ran no operator */
			t->scopes[i].span = brick_begin_layer(
				t->scopes[i].site->brick, t->scopes[i].site->layer);
		brick_end(t->scopes[i].span);
		t->scope_count = i;
		t->is_late = i && t->scopes[i - 1].is_late;
		if (t->scopes[i].ends_step)
			torch_optimizer_end(t);
		torch_frames_begin(t);
		return;
	}
}

static void **script_start(void **result, const void *function)
{
	struct torch_thread *t = torch_thread_get();

	*result = NULL;
	if (!t)
		return result;
	if (script.session != t->session)
		script.depth = 0;
	script.session = t->session;
	if (script.depth++ || t->module_depth || t->leaf)
		return result;
	script.is_late = !strcmp(observers_name_of(function), "defaults");
	if (!script.is_late)
		script.forward = torch_forward_begin(t, &(struct torch_call){0});
	return result;
}

static void script_end(const void *function, void *context)
{
	struct torch_thread *t = torch_thread_get_to_end();

	(void)function, (void)context;
	if (!t || script.session != t->session || !script.depth || --script.depth)
		return;
	torch_forward_end(t, &script.forward);
	script.forward = (struct torch_forward){0, 0};
	script.is_late = false;
}

/*
 * ---- the proof ----
 * A callback is registered for our own thread only, and functions are recorded there that nobody
 * else sees. It must be called for its own scope, with the function's address, and name() must say
 * what we called it. Versions are told apart by nothing else.
 */

/* std::variant<std::string_view, std::reference_wrapper<...>>, holding the first. */
struct function_name {
	size_t length;
	const char *letters;
	uint8_t index;
};

struct proof {
	struct torch_interface is;
	/* PyTorch up to 2.6 has this function, newer versions the other */
	void (*before_letters)(void *function, const char *name, int64_t number);
	void (*before_name)(void *function, struct function_name name, int64_t number);
	const char *failed;   /* NULL: it holds */
	const char *unworked; /* why inputs cannot be read; NULL: they can */
};

static struct { /* of the thread that proves, whose own callbacks alone write it */
	const void *expected;
	uint32_t starts, ends;
	bool is_elsewhere, is_misnamed, is_owning;
} observers_seen;

static const char proof_name[] = "brick";
enum { PROOF_NUMBER = 0x6272696b, FUNCTION_WORDS = 64 };

/* Where the number stands that we have given; 0: nowhere, or at several places. */
static uint32_t find_number(const int64_t *function)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < FUNCTION_WORDS; i++)
		if (function[i] == PROOF_NUMBER) {
			if (found)
				return 0;
			found = i;
		}
	return found;
}

static void **proof_start(void **result, const void *function)
{
	*result = NULL;
	observers_seen.starts++;
	if (function != observers_seen.expected)
		observers_seen.is_elsewhere = true;
	else if (strcmp(observers_name_of(function), proof_name) != 0)
		observers_seen.is_misnamed = true;
	else
		number_word = find_number(function);
	return result;
}

static void proof_end(const void *function, void *context)
{
	observers_seen.ends++;
	observers_seen.is_elsewhere |= function != observers_seen.expected;
	observers_seen.is_owning |= context != NULL;
}

static const char *proof_fails(const struct proof *p, uint8_t scope, uint8_t observed)
{
	char function[TORCH_FUNCTION_BYTES] __attribute__((aligned(64)));
	struct torch_callback callback = {proof_start, proof_end, 1.0, {0}};

	memset(function, 0, sizeof(function));
	memset(&observers_seen, 0, sizeof(observers_seen));
	observers_seen.expected = function;
	callback.scopes[observed] = true;
	uint64_t handle = p->is.add_here(callback);
	p->is.construct(function, scope);
	if (p->before_letters)
		p->before_letters(function, proof_name, PROOF_NUMBER);
	else
		p->before_name(function,
			(struct function_name){sizeof(proof_name) - 1, proof_name, 0},
			PROOF_NUMBER);
	p->is.destruct(function);
	p->is.remove(handle);
	uint32_t wanted = scope == observed;
	return observers_seen.is_elsewhere ? "an observer is not told the function's address"
	       : observers_seen.is_misnamed
		       ? "an observed function has another name than it was given"
	       : observers_seen.is_owning ? "an observer's context is not handed back"
	       : observers_seen.starts < wanted || observers_seen.ends < wanted
		       ? "an observer is not called for its scope"
	       : observers_seen.starts > wanted || observers_seen.ends > wanted
		       ? "an observer is called for other scopes"
		       : NULL;
}

static void *prove(void *argument)
{
	static const uint8_t used[] = {
		TORCH_SCOPE_FUNCTION, TORCH_SCOPE_BACKWARD, TORCH_SCOPE_SCRIPT, TORCH_SCOPE_USER};
	struct proof *p = argument;

	for (size_t i = 0; i < sizeof(used); i++)
		for (size_t k = 0; k < sizeof(used) && !p->failed; k++)
			p->failed = proof_fails(p, used[i], used[k]);
	if (!p->failed)
		p->unworked = torch_inputs_learn(&p->is);
	return NULL;
}

/* Find a function that is needed; if it is missing, `why` gets its name. */
static bool need(const char *name, void *function, char *why, size_t bytes)
{
	void *found;

	torch_library_symbol(name, &found);
	memcpy(function, &found, sizeof(found));
	if (!found)
		snprintf(why, bytes, "its library has no %s", name);
	return found != NULL;
}

static struct {
	uint64_t (*add)(struct torch_callback callback);
	void (*remove)(uint64_t handle); /* NULL: nothing is proved yet */
	const char *unworked;
	uint64_t handles[8]; /* of what is registered */
	size_t count;
} observers;

static void observers_add(const struct torch_callback *callback)
{
	observers.handles[observers.count++] = observers.add(*callback);
}

int torch_observers_prove(char *why, size_t bytes)
{
	struct proof proof = {0};
	pthread_t thread;

	if (observers.remove)
		return 0;
	if (!need("_ZNK2at14RecordFunction4nameEv", &observers_name_of, why, bytes) ||
		!need("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &observers.add, why,
			bytes) ||
		!need("_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE",
			&proof.is.add_here, why, bytes) ||
		!need("_ZN2at14removeCallbackEm", &proof.is.remove, why, bytes) ||
		!need("_ZN2at14RecordFunctionC1ENS_11RecordScopeE", &proof.is.construct, why,
			bytes) ||
		!need("_ZN2at14RecordFunctionD1Ev", &proof.is.destruct, why, bytes))
		return -ENOSYS;
	torch_library_symbol("_ZN2at14RecordFunction6beforeEPKcl", &proof.before_letters);
	if (!proof.before_letters &&
		!need("_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_"
		      "traitsIcEESt17reference_wrapperIKN3c1014FunctionSchemaEEEEl",
			&proof.before_name, why, bytes))
		return -ENOSYS;
	int error = thread_start(&thread, NULL, 0, prove, &proof);
	if (error) {
		snprintf(why, bytes, "no thread could be started to prove its interface");
		return error;
	}
	pthread_join(thread, NULL);
	if (proof.failed) {
		snprintf(why, bytes, "%s", proof.failed);
		return -EPROTO;
	}
	observers.unworked = proof.unworked;
	observers.remove = proof.is.remove;
	return 0;
}

void torch_observers_start(void)
{
	static const struct {
		enum torch_scope_kind scope;
		torch_start_fn start;
		torch_end_fn end;
	} pairs[] = {
		{TORCH_SCOPE_FUNCTION, operator_start, operator_end},
		{TORCH_SCOPE_BACKWARD, node_start, operator_end},
		{TORCH_SCOPE_SCRIPT, script_start, script_end},
		{TORCH_SCOPE_USER, scope_start, scope_end},
	};

	const char *inner = brick__environment("BRICK_INNER");
	observers_show_inner = inner && *inner;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct torch_callback callback = {pairs[i].start, pairs[i].end, 1.0, {0}};
		callback.scopes[pairs[i].scope] = true;
		observers_add(&callback);
		if (pairs[i].scope == TORCH_SCOPE_FUNCTION && torch_inputs_want(&callback)) {
			observers_add(&callback);
			torch_inputs_start(observers.handles[observers.count - 2],
				observers.handles[observers.count - 1]);
		}
	}
	if (observers.unworked)
		note_once("torch.work", "not known: %s", observers.unworked);
}

void torch_observers_stop(void)
{
	torch_inputs_stop();
	while (observers.count)
		observers.remove(observers.handles[--observers.count]);
}
