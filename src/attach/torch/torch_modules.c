/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules by name (torch_modules.h). Py_AddPendingCall() has Python call us on its main thread
 * between two instructions, so nothing of ours is needed in Python's path or environment. A
 * module's path is found when it is first called inside of another module, and forgotten when the
 * module dies. The tables are used with the GIL held.
 */
#include "attach/torch/torch_modules.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/torch/torch_compile.h"
#include "attach/torch/torch_frames.h"
#include "attach/torch/torch_in_flight.h"
#include "attach/torch/torch_memory.h"
#include "attach/torch/torch_phases.h"
#include "attach/torch/torch_python.h"
#include "attach/torch/torch_steps.h"
#include "attach/torch/torch_thread.h"
#include "attach/torch/torch_tokens.h"
#include "base/array.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/scope.h"
#include "brick/brick.h"

enum { PATH_BYTES = 256, SEARCH_DEPTH = 12 };

int torch_modules_state;
static python_vectorcall next_call;	  /* how Python runs a function */
static python_object *torch_modules_call; /* Module.__call__, a reference; NULL: not ours */

/*
 * ---- places: path and class; they stay ----
 */

static ARRAY(struct torch_module *) torch_modules_places;
static struct hash_index place_index;

static const struct torch_module *torch_modules_place_of(
	const char *path, const char *class, uint32_t number)
{
	enum { MODELS = 8 }; /* a program may make models without end */
	uint32_t model = number % MODELS;
	uint64_t hash = fnv1a_add((fnv1a_text(path) ^ model) * FNV1A_PRIME, class, strlen(class));
	struct hash_probe probe = hash_probe(hash);
	size_t path_bytes = strlen(path) + 1, class_bytes = strlen(class) + 1;

	for (uint32_t i; (i = hash_index_next(&place_index, &probe)) != HASH_INDEX_NONE;)
		if (torch_modules_places.items[i]->model == model &&
			!strcmp(torch_modules_places.items[i]->path, path) &&
			!strcmp(torch_modules_places.items[i]->class, class))
			return torch_modules_places.items[i];
	if (hash_index_reserve(&place_index) || array_reserve(&torch_modules_places, 1))
		return &torch_no_module;
	struct torch_module *place = malloc(sizeof(*place) + path_bytes + class_bytes);
	if (!place)
		return &torch_no_module;
	char *text = (char *)(place + 1);
	place->model = model;
	place->path = memcpy(text, path, path_bytes);
	place->class = memcpy(text + path_bytes, class, class_bytes);
	torch_modules_places.items[torch_modules_places.count++] = place;
	hash_index_add(&place_index, hash, (uint32_t)torch_modules_places.count - 1);
	return place;
}

/*
 * ---- modules: objects that live; a weak reference tells when one dies ----
 */

struct known_module {
	python_object *module;		  /* NULL: free */
	python_object *weak;		  /* NULL: the module died */
	const struct torch_module *place; /* NULL: never called inside of another module */
	uint32_t number;		  /* torch_call.number; 0: never called as the outermost */
	bool is_looked_at, has_weights;	  /* the second: of what is_looked_at */
};

static struct known_module *torch_modules_known;
static uint32_t known_capacity, known_count;

static struct known_module *torch_modules_slot_of(
	struct known_module *slots, uint32_t capacity, const python_object *module)
{
	uint64_t mixed = ((uintptr_t)module >> 4) * HASH_GOLDEN;

	for (uint32_t i = (uint32_t)(mixed >> 32);; i++) {
		struct known_module *slot = &slots[i & (capacity - 1)];
		if (slot->module == module || !slot->module)
			return slot;
	}
}

/* The entry of a module that lives; NULL: it has none. */
static struct known_module *torch_modules_find(const python_object *module)
{
	struct known_module *slot =
		known_capacity ? torch_modules_slot_of(torch_modules_known, known_capacity, module)
			       : NULL;

	return slot && slot->module && slot->weak ? slot : NULL;
}

/* Make room for another module; entries of dead modules are removed. */
static bool reserve_known(void)
{
	uint32_t live = 0;

	if (known_count + known_count / 2 + 1 < known_capacity)
		return true;
	for (uint32_t i = 0; i < known_capacity; i++)
		live += torch_modules_known[i].module && torch_modules_known[i].weak;
	uint32_t capacity = 256;
	while (capacity < 4 * live)
		capacity *= 2;
	struct known_module *slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < known_capacity; i++)
		if (torch_modules_known[i].module && torch_modules_known[i].weak)
			*torch_modules_slot_of(slots, capacity, torch_modules_known[i].module) =
				torch_modules_known[i];
	free(torch_modules_known);
	torch_modules_known = slots;
	known_capacity = capacity;
	known_count = live;
	return true;
}

static python_object *module_dies(python_object *self, python_object *weak, python_object *named)
{
	python_object *module = py.Long_AsVoidPtr(self);
	struct known_module *slot = torch_modules_find(module);

	(void)weak, (void)named;
	if (slot) {
		python_drop(slot->weak);
		*slot = (struct known_module){.module = module};
	}
	py._IncRef(py.none);
	return py.none;
}

/* The entry of a module that lives, a new entry if need be; NULL: it cannot be watched. */
static struct known_module *torch_modules_remember(python_object *module)
{
	static struct python_method dies = {"module_dies", module_dies, PYTHON_VARARGS, NULL};
	struct known_module *slot = torch_modules_find(module);

	if (slot)
		return slot;
	python_object *number = py.Long_FromVoidPtr(module);
	python_object *callback = number ? py.CFunction_NewEx(&dies, number, NULL) : NULL;
	python_object *weak = callback ? py.Weakref_NewRef(module, callback) : NULL;

	python_drop(number);
	python_drop(callback);
	if (!weak || !reserve_known()) {
		py.Err_Clear();
		python_drop(weak);
		return NULL;
	}
	slot = torch_modules_slot_of(torch_modules_known, known_capacity, module);
	known_count += !slot->module;
	*slot = (struct known_module){.module = module, .weak = weak};
	return slot;
}

/* The dictionary of a module's children, a new reference; NULL: it has none that we can read. */
static python_object *children_of(python_object *module)
{
	python_object *children = python_attribute(module, "_modules");

	if (children && py.Object_IsInstance(children, py.dict_type) == 1)
		return children;
	python_drop(children);
	return NULL;
}

/* Appends ".3.attn" to path when `wanted` lies below `module`. Everything is held by its parent. */
static bool torch_modules_search(python_object *module, const python_object *wanted, char *path,
	size_t length, uint32_t depth)
{
	python_object *children = depth < SEARCH_DEPTH ? children_of(module) : NULL;
	python_object *name, *child;
	ptrdiff_t at = 0;
	bool is_found = false;

	while (children && !is_found && py.Dict_Next(children, &at, &name, &child)) {
		const char *letters = py.Unicode_AsUTF8(name);
		if (!letters) {
			py.Err_Clear();
			continue;
		}
		int n = snprintf(
			path + length, PATH_BYTES - length, "%s%s", length ? "." : "", letters);
		if (n > 0 && (size_t)n < PATH_BYTES - length && child != py.none)
			is_found = child == wanted || torch_modules_search(child, wanted, path,
							      length + (size_t)n, depth + 1);
	}
	python_drop(children);
	if (!is_found)
		path[length] = '\0';
	return is_found;
}

/*
 * ---- calls ----
 */

/* The place of a new module: below the module that calls it, or below the outermost module. */
static const struct torch_module *torch_modules_find_place(
	struct torch_thread *t, python_object *module)
{
	char path[PATH_BYTES] = "", class[64];
	bool is_known = true;

	python_class(module, class, sizeof(class));
	if (t->module_depth) {
		uint32_t inner =
			t->module_depth <= TORCH_NESTING ? t->module_depth - 1 : TORCH_NESTING - 1;
		snprintf(path, sizeof(path), "%s", t->module->path);
		is_known = torch_modules_search(t->calling[inner], module, path, strlen(path), 0);
		if (!is_known) {
			path[0] = '\0';
			is_known = torch_modules_search(t->calling[0], module, path, 0, 0);
		}
		/* made on the fly, to be called once: it is in its caller's place */
		if (!is_known)
			snprintf(path, sizeof(path), "%s", t->module->path);
	}
	const struct known_module *outermost =
		torch_modules_find(t->module_depth ? t->calling[0] : module);
	const struct torch_module *place =
		torch_modules_place_of(path, class, outermost ? outermost->number : 0);
	struct known_module *slot =
		is_known && t->module_depth ? torch_modules_remember(module) : NULL;
	if (slot)
		slot->place = place;
	return place;
}

static const struct torch_module *place_of_call(struct torch_thread *t, python_object *module)
{
	const struct known_module *slot = torch_modules_find(module);

	if ((t->module_depth || t->node) && slot && slot->place)
		return slot->place;
	return torch_modules_find_place(t, module);
}

/* An optimizer marks the step() of its class when it is made. AdamW is a class below Adam. */
static bool is_optimizer_made(python_object *class, uint32_t depth)
{
	python_object *step = python_attribute(class, "step");
	python_object *list = depth < SEARCH_DEPTH ? python_ask(class, "__subclasses__") : NULL;
	bool is_made = step && python_true(python_attribute(step, "hooked"));

	for (ptrdiff_t i = 0; list && !is_made && i < py.List_Size(list); i++)
		is_made = is_optimizer_made(py.List_GetItem(list, i), depth + 1);
	python_drop(list);
	python_drop(step);
	return is_made;
}

static bool has_optimizer(void)
{
	static bool seen;
	python_object *module = seen ? NULL : python_imported("torch.optim.optimizer");
	python_object *class = module ? python_attribute(module, "Optimizer") : NULL;

	seen = seen || (class && is_optimizer_made(class, 0));
	python_drop(class);
	return seen;
}

static uint32_t torch_modules_number(struct known_module *slot)
{
	static uint32_t last;

	if (slot && !slot->number)
		slot->number = ++last;
	return slot ? slot->number : 0;
}

/* Does the module's method give an iterator that has something? */
static bool torch_modules_gives(python_object *module, const char *method)
{
	python_object *walk = python_ask(module, method);
	python_object *first = walk ? py.Iter_Next(walk) : NULL;
	bool has_some = first != NULL;

	py.Err_Clear();
	python_drop(first);
	python_drop(walk);
	return has_some;
}

/* Weights may be packed: only its state has them then. A module with none gathers none for it. */
static bool torch_modules_has_weights(python_object *module)
{
	if (torch_modules_gives(module, "parameters") || torch_modules_gives(module, "buffers"))
		return true;
	python_object *state = python_ask(module, "state_dict");
	bool has_some = state && py.Object_Size(state) > 0;

	py.Err_Clear();
	python_drop(state);
	return has_some;
}

/* A loss of torch.nn has a model's answer, and is no model. */
static bool torch_modules_is_loss(python_object *module)
{
	python_object *losses = python_imported("torch.nn.modules.loss");
	python_object *class = losses ? python_attribute(losses, "_Loss") : NULL;
	bool is_loss = class && py.Object_IsInstance(module, class) == 1;

	python_drop(class);
	return is_loss;
}

/*
 * Nor is a module without weights (a transformation of images, a loss of the program's own) where a
 * model with weights has been called, or this is its first call.
 */
static bool torch_modules_is_model(struct known_module *slot, python_object *module)
{
	static bool seen; /* a module with weights */
	bool is_first = slot && !slot->is_looked_at;

	if (!slot)
		return true;
	if (is_first)
		slot->has_weights = torch_modules_has_weights(module);
	slot->is_looked_at = true;
	seen |= slot->has_weights;
	return slot->has_weights || !(seen || is_first);
}

/* Datasets call modules, too: transformations, with weights or without. Here, or in a worker. */
static bool torch_modules_loads(const struct torch_thread *t)
{
	for (uint32_t i = 0; i < t->scope_count; i++)
		if (t->scopes[i].loads)
			return true;
	python_object *workers = python_imported("torch.utils.data._utils.worker");
	python_object *worker = workers ? python_attribute(workers, "_worker_info") : NULL;
	bool is_worker = worker && worker != py.none;
	python_drop(worker);
	return is_worker;
}

static struct torch_forward begin_outermost(
	struct torch_thread *t, python_object *module, const struct torch_arguments *arguments)
{
	struct known_module *slot = torch_modules_remember(module);
	struct torch_call call = {.module = module, .number = torch_modules_number(slot)};

	torch_compile_look();
	if (torch_frames_unproved)
		torch_frames_prove();
	call.is_in_training = python_true(python_attribute(module, "training"));
	call.has_optimizer = (call.is_in_training || t->step) && has_optimizer();
	call.has_gradients = python_true(python_ask(python_imported("torch"), "is_grad_enabled"));
	call.is_training = call.is_in_training && (torch_saw_backward() || call.has_optimizer) &&
			   call.has_gradients;
	if (torch_modules_loads(t) || !torch_modules_is_model(slot, module) ||
		((!call.is_training || t->step) && torch_modules_is_loss(module)))
		return (struct torch_forward){0, 0};
	torch_memory_see_weights(module);
	if (call.is_training)
		torch_phases_look(next_call);
	call.has_threads = python_has_threads();
	torch_tokens_count(t, arguments, &call);
	return torch_forward_begin(t, &call);
}

/* A thread that is recorded from now on may be in the middle of a model: that call has no begin. */
static bool torch_modules_is_whole(struct torch_thread *t)
{
	enum { ALL = 10000 };

	if (!t->more->is_whole && !t->module_depth)
		t->more->is_whole = !python_is_called_by("_call_impl", true, ALL);
	return t->more->is_whole || t->module_depth;
}

/* What is switched on meanwhile waits for the end of this call. */
static python_object *call_unseen(python_object *function, python_object *const *arguments,
	size_t count, python_object *names)
{
	torch_thread.unseen++;
	python_object *result = next_call(function, arguments, count, names);
	if (torch_thread.unseen) /* the child of a fork has begun anew */
		torch_thread
			.unseen--; /* greenlets' calls do not end in the order of their begins */
	return result;
}

static python_object *call_module(python_object *function, python_object *const *arguments,
	size_t count, python_object *names)
{
	struct torch_thread *t = torch_in_flight_goes_on() ? NULL : torch_thread_get();
	size_t given = count & (SIZE_MAX >> 1);

	if (!t || !given || !torch_modules_is_whole(t))
		return call_unseen(function, arguments, count, names);
	python_object *module = arguments[0];
	const struct torch_module *outer = t->module;
	uint32_t depth = t->module_depth;
	struct torch_forward forward = {0, 0};
	t->module = place_of_call(t, module);
	if (depth < TORCH_NESTING)
		t->calling[depth] = module;
	struct torch_recomputed recomputed = {0};
	if (!depth && t->node)
		torch_recomputation_begin(t, &recomputed);
	else if (!depth && !t->leaf && !torch_compiles(t))
		forward = begin_outermost(
			t, module, &(struct torch_arguments){arguments + 1, given - 1, names});
	if (!depth &&
		!brick_enabled()) { /* recording was switched off where its step would begin */
		torch_inputs_ask(&t->more->asking, t->session, TORCH_NO_STEP);
		t->module = outer;
		t->session = 0;
		return call_unseen(function, arguments, count, names);
	}
	t->module_depth = depth + 1;
	python_object *result = next_call(function, arguments, count, names);
	t->module_depth = depth;
	t->module = outer;
	torch_recomputation_end(t, &recomputed);
	torch_forward_end(t, &forward);
	return result;
}

/*
 * ---- the way in ----
 * Module.__call__ stays the function that it is, which torch.compile looks into: the interpreter's
 * own way to run it passes by us. Python 3.12 and newer have a function for that; before, it is a
 * member of the function, at the place that its type says.
 */

/* False unless `other`, which nobody has touched, runs in the same way: by a function of a program
 * or library. */
static bool replace_way(python_object *function, python_object *other)
{
	python_vectorcall *way = python_way(function), *plain = python_way(other);
	Dl_info info;

	if (!way || !plain || *way != *plain || !dladdr(*(void **)way, &info))
		return false;
	next_call = *way;
	return python_lead(function, next_call, call_module);
}

/* Python's main thread, the GIL held. torch.nn may be on its way in: then we are asked again. */
static int at_safe_point(void *unused)
{
	int state = TORCH_MODULES_UNSEEN;

	(void)unused;
	/* it was done meanwhile, by a thread of ours, which may have left again */
	if (__atomic_load_n(&torch_modules_state, __ATOMIC_ACQUIRE) != TORCH_MODULES_ASKED)
		return 0;
	python_object *module = python_imported("torch.nn.modules.module");
	python_object *class = module ? python_attribute(module, "Module") : NULL;
	python_object *call = class ? python_attribute(class, "__call__") : NULL;
	if (call) {
		python_object *other = python_attribute(class, "__init__");
		torch_in_flight_look();
		state = TORCH_MODULES_SETTLED;
		torch_frames_prove();
		if (!replace_way(call, other))
			note_once("torch.modules",
				"not seen: this Python runs functions in another way");
		else if (!torch_modules_call)
			torch_modules_call = call;
		python_drop(other);
	}
	if (call != torch_modules_call)
		python_drop(call);
	python_drop(class);
	__atomic_store_n(&torch_modules_state, state, __ATOMIC_RELEASE);
	return 0;
}

void torch_modules_place(void)
{
	__atomic_store_n(&torch_modules_state, TORCH_MODULES_ASKED, __ATOMIC_RELEASE);
	at_safe_point(NULL);
}

void torch_modules_take_away(void)
{
	/* operators may still be observed, and nobody is to ask for it again */
	__atomic_store_n(&torch_modules_state, TORCH_MODULES_SETTLED, __ATOMIC_RELEASE);
	if (torch_modules_call)
		python_lead(torch_modules_call, call_module, next_call);
	python_drop(torch_modules_call);
	torch_modules_call = NULL;
	for (uint32_t i = 0; i < known_capacity; i++)
		python_drop(torch_modules_known[i].weak);
	free(torch_modules_known);
	torch_modules_known = NULL;
	known_capacity = known_count = 0;
	torch_compile_take_away();
	torch_phases_take_away();
}

void torch_modules_ask(void)
{
	int unseen = TORCH_MODULES_UNSEEN;
	KEEP_ERRNO();

	if (!__atomic_compare_exchange_n(&torch_modules_state, &unseen, TORCH_MODULES_ASKED, false,
		    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	bool has_python = python_find();
	int state = has_python ? TORCH_MODULES_UNSEEN : TORCH_MODULES_SETTLED;
	if (!has_python || !py._IsInitialized() || py._AddPendingCall(at_safe_point, NULL))
		__atomic_store_n(&torch_modules_state, state, __ATOMIC_RELEASE);
}
